// The page of a study.

// Costs are what the program says, or times in nanoseconds: the page cannot tell.
const costText = (cost) => Number(cost.toPrecision(4)).toString();

function costChart(data) {
  return chart((width) => {
    const costs = data.costs.filter((c) => c !== null);
    if (costs.length === 0) return html("p", { class: "soft" }, "There is no valid trial yet.");
    const sorted = costs.slice().sort((a, b) => a - b), low = sorted[0];
    const high = Math.max(quantile(sorted, 0.95), low + (Math.abs(low) || 1) * 0.01);
    const log = low > 0 && high / low > 3;
    const last = data.numbers[data.numbers.length - 1];
    const plot = axes({ width, height: 300, label: "trials: lowest cost so far", x: { first: 0, last, label: "trials", text: countText },
      y: { log, first: log ? low / 1.05 : low - (high - low) * 0.05, last: log ? high * 1.05 : high + (high - low) * 0.05, label: "cost", text: costText } });
    const points = [], steps = [];
    data.costs.forEach((cost, n) => {
      if (cost === null) return;
      const number = data.numbers[n];
      points.push([plot.x(number), plot.y(Math.min(cost, high)), `trial ${number}: cost ${costText(cost)}`]);
      if (steps.length === 0 || cost < steps[steps.length - 1][1]) steps.push([number, cost]);
    });
    scatter(plot, points, (text) => text);
    plot.root.append(svg("path", { class: "best", d: stepPath(steps.map(([at, cost]) => [at, Math.min(cost, high)]), last, plot.x, plot.y) }, title("lowest so far")));
    return plot.root;
  });
}

function studyTable(data) {
  const rows = [["study", data.name], ["state", data.state + (data.state_reason ? ", " + data.state_reason : "")],
    ["space", (data.space_count ? data.space_count + " configurations" : "more configurations than can be counted") + ` of ${data.parameters} parameters`],
    ["search", `${data.technique}, seed ${data.seed}`], ["ends", data.abort || "when the space is used up"], ["created", instantText(data.created)]];
  return table([{ head: "", cell: (row) => row[0] }, { head: "", wrap: true, cell: (row) => row[1] }], rows);
}

function drawStudyPage(data) {
  const figures = [figure(countText(data.evaluations), `trials, ${countText(data.evaluations - data.valid_evaluations)} of them failed`), figure(durationText(data.active_ns), "search")];
  if (data.best_cost !== null) figures.unshift(figure(costText(data.best_cost), `lowest cost, of trial ${data.best_trial}`));
  document.getElementById("page").replaceChildren(html("h1", {}, data.title), html("p", { class: "soft lead" }, data.name),
    html("div", { class: "figures" }, ...figures),
    section("Convergence", html("p", { class: "note" }, "Dots: valid trials, also those whose cost the axis does not reach, at its upper end. Line: the lowest cost so far. Costs of programs without a cost_pattern are nanoseconds."), costChart(data)),
    html("div", { class: "pair" },
      section("Best configuration", data.best.length === 0 ? html("p", { class: "soft" }, "No trial was valid.")
        : table([{ head: "parameter", cell: (p) => p.name }, { head: "value", wrap: true, cell: (p) => p.value }], data.best)),
      section("Study", studyTable(data))),
    outcomesSection(data));
}
