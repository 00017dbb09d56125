// The page of a job.

function figure(value, what) {
  return html("div", { class: "figure" }, html("b", {}, value), html("span", {}, what));
}

function figures(data) {
  const { job, result, peaks } = data, entries = [];
  if (result.time_ns > 0) {
    entries.push(figure(timeText(result.time_ns), (result.is_measured_again ? "median time of one execution" : "best time of one execution so far") + (result.is_disturbed ? ", measured while others used the machine" : "")));
    if (result.flops > 0 && !result.bound_is_bandwidth) entries.push(figure(flopsText(result.flops / result.time_ns * 1e9), "speed"));
    else entries.push(figure(rateText(result.compulsory_bytes / result.time_ns * 1e9), result.fits_in_cache ? "speed, of data in caches" : "speed"));
    if (result.bound_ns > 0) entries.push(figure(percentText(result.bound_ns / result.time_ns), (result.bound_is_bandwidth ? "of the measured bandwidth, " + rateText(peaks.memory_bytes_per_s) : "of the measured peak") + (result.above_peak ? ": " + result.above_peak : "")));
    if (result.default_time_ns > 0) entries.push(figure(digits(result.default_time_ns / result.time_ns) + " ×", "as fast as parameters from rules"));
    if (result.unfused_time_ns > 0) entries.push(figure(digits(result.unfused_time_ns / result.time_ns) + " ×", "as fast as the best unfused kernel"));
    if (result.loop_nest_time_ns > 0) entries.push(figure(digits(result.loop_nest_time_ns / result.time_ns) + " ×", "as fast as the loop nest on one thread"));
  }
  entries.push(figure(countText(job.trials), `trials, ${countText(job.failed_trials)} of them failed`), figure(durationText(job.elapsed_ns), "search"));
  return html("div", { class: "figures" }, ...entries);
}

// "unix:" is whoever came through the daemon's socket without a name.
const sourceText = (source) => (source === "" ? "nobody in particular" : source === "unix:" ? "a user of the daemon's machine" : source);

function jobTable(data) {
  const { job } = data, rows = [["job", job.name], ["state", job.state], ["asked for by", sourceText(job.source)], ["devices", job.devices.join(", ")],
    ["device", data.device || "not known"], ["search", `${job.technique}, seed ${job.seed}, budget ${durationText(job.budget_ns)}, numerics ${job.numerics}`],
    ["created", instantText(job.created)], ["ended", job.ended ? instantText(job.ended) : "not yet"], ["taken up again", job.restarts > 0 ? `${job.restarts} times, after the daemon had ended` : "never"], ["record", job.record || "none"]];
  return html("div", {}, table([{ head: "", cell: (row) => row[0] }, { head: "", wrap: true, cell: (row) => row[1] }], rows),
    job.schedule !== "" && html("h3", {}, "Schedule that it keeps to"),
    job.schedule !== "" && html("pre", {}, job.schedule),
    data.runs.length > 1 && html("h3", {}, "Runs"),
    data.runs.length > 1 && table([{ head: "job", cell: (r) => r.name }, { head: "seed", number: true, cell: (r) => r.seed }, { head: "state", cell: (r) => r.state },
      { head: "trials", number: true, cell: (r) => countText(r.number.length) }, { head: "best", number: true, cell: (r) => (r.best_ns > 0 ? timeText(r.best_ns) : "–") }], data.runs));
}

function kernelSection(data) {
  const kernel = data.kernel;
  if (!kernel) return section("Kernel", html("p", { class: "soft" }, "There is no kernel yet."));
  const launches = kernel.launches.length > 0 && table([{ head: "function", cell: (l) => l.function }, { head: "blocks", number: true, cell: (l) => l.grid.join(" × ") },
    { head: "threads of a block", number: true, cell: (l) => l.block.join(" × ") }], kernel.launches);
  return section("Kernel",
    html("p", { class: "note" }, `${kernel.language}, entry ${kernel.entry}` + (kernel.compiler ? `; compiled by ${kernel.compiler} ${kernel.compile_options.join(" ")}` : "")),
    data.index_map.length > 0 && html("h3", {}, "Index map"),
    data.index_map.length > 0 && table([{ head: "buffer", cell: (m) => m.buffer }, { head: "", cell: (m) => m.role }, { head: "reads or writes at a point", wrap: true, cell: (m) => html("code", {}, m.access) },
      { head: "element of memory", wrap: true, cell: (m) => html("code", {}, m.element) }], data.index_map),
    launches,
    html("h3", {}, "Tuning parameters"), html("pre", { class: "wrap" }, data.best_parameters),
    ...(data.schedule ? [html("h3", {}, "As a schedule"), html("pre", {}, data.schedule)] : []),
    html("details", {}, html("summary", {}, `Source, ${countText(kernel.source.split("\n").length)} lines`), html("pre", { class: "source", tabindex: "0" }, kernel.source)));
}

// Of a pipeline: its whole kernels, and the times of their steps, each by itself.
function turnsSection(data) {
  if (data.turns.length === 0) return section("Whole kernels", html("p", { class: "soft" }, "None was measured yet: the jobs of the steps come first."));
  const outcome = (turn) => (turn.time_ns > 0 ? timeText(turn.time_ns) + (turn.is_disturbed ? ", disturbed" : "") : turn.outcome);
  const step = (one) => `${one.name} ${one.time_ns > 0 ? timeText(one.time_ns) : "not measured"}`;
  const best = data.turns[0].time_ns;
  return section("Whole kernels",
    html("p", { class: "note" }, "Measured in turns on one device; the fastest is what lookups give."),
    table([{ head: "fused", wrap: true, cell: (t) => t.partition }, { head: "whole", number: true, cell: outcome },
      { head: "of the fastest", number: true, cell: (t) => (t.time_ns > 0 ? digits(t.time_ns / best) + " ×" : "–") },
      { head: "sum of the steps", number: true, cell: (t) => (t.steps_time_ns > 0 ? timeText(t.steps_time_ns) : "–") },
      { head: "steps by themselves", wrap: true, cell: (t) => t.steps.map(step).join(", ") },
      { head: "", wrap: true, cell: (t) => t.reason }], data.turns));
}

function drawJobPage(data) {
  const page = document.getElementById("page");
  page.replaceChildren(html("h1", {}, data.title),
    html("p", { class: "soft lead" }, [data.sizes, data.device && "on " + data.device].filter(Boolean).join(", ")),
    data.job.error ? html("section", { class: "failure" }, html("h2", {}, "The job failed"), html("p", {}, data.job.error)) : "",
    figures(data),
    ...(data.is_pipeline
      ? [turnsSection(data), html("div", { class: "pair" }, rooflineSection(data), section("Job", jobTable(data))), boundSection(data)]
      : [convergenceSection(data), html("div", { class: "pair" }, rooflineSection(data), importanceSection(data)), boundSection(data), decompositionSection(data),
        html("div", { class: "pair" }, outcomesSection(data), section("Job", jobTable(data)))]),
    section(data.is_pipeline ? "Pipeline" : "Expression", html("pre", { tabindex: "0" }, data.expression)), kernelSection(data));
}
