// Every valid trial under the roof that the device's measured peaks make; of matrix units, what they
// reached or, where that was not measured, can do by their rate.
const peakOf = (peaks) => peaks.unit ? peaks.unit_flops_per_s : peaks.is_double ? peaks.fp64_flops_per_s : peaks.fp32_flops_per_s;

function rooflineChart(data) {
  const { result, peaks } = data, intensity = result.flops / result.compulsory_bytes;
  const peak = peakOf(peaks);
  const times = data.runs.flatMap((run) => run.time_ns.filter((t) => t > 0));
  return chart((width) => {
    const speeds = times.map((t) => result.flops / t * 1e9);
    let slowest = Infinity, fastest = 0;
    for (const s of speeds) { slowest = Math.min(slowest, s); fastest = Math.max(fastest, s); }
    const ridge = peak / peaks.memory_bytes_per_s;
    const x = { log: true, first: Math.min(intensity, ridge) / 8, last: Math.max(intensity, ridge) * 8,
      label: width < 420 ? "operations per byte, FLOP/byte" : "operations per byte that is touched, FLOP/byte", text: (v) => (v < 0.01 ? v.toExponential(0) : digits(v)) };
    const roofAt = (v) => Math.min(peak, v * peaks.memory_bytes_per_s);
    // Above this speed there is no kernel.
    const limit = data.certificate && data.certificate.bound_ns > 0 ? result.flops / data.certificate.bound_ns * 1e9 : 0;
    const y = { log: true, first: Math.min(slowest, roofAt(x.first) * 1.5, roofAt(intensity) / 10) / 1.5,
      last: Math.max(peak, fastest, limit) * 1.8, label: "speed", text: flopsText };
    const plot = axes({ width, height: 360, label: "roofline", x, y });
    const top = Math.max(x.first, y.first / peaks.memory_bytes_per_s);
    const slope = svg("path", { class: "roof" + (result.fits_in_cache ? " other" : ""),
      d: `M${plot.x(top)} ${plot.y(roofAt(top))}L${plot.x(ridge)} ${plot.y(peak)}` },
    title("memory: " + rateText(peaks.memory_bytes_per_s)));
    const flat = svg("path", { class: "roof", d: `M${plot.x(result.fits_in_cache ? x.first : ridge)} ${plot.y(peak)}H${plot.right}` });
    plot.root.append(slope, flat);
    if (limit > 0) {
      plot.root.append(svg("path", { class: "roof bound", d: `M${plot.x(intensity) - 40} ${plot.y(limit)}h80` },
        title(`no kernel is faster than ${flopsText(limit)}: ${data.certificate.binding_floor}`)));
    }
    // All trials have one intensity; within a strip around it they stand in the order in which they ended.
    const strip = Math.min(46, width / 14), points = [];
    data.runs.forEach((run, r) => run.time_ns.forEach((t, n) => {
      if (t > 0) points.push([plot.x(intensity) + (n / Math.max(1, run.time_ns.length - 1) - 0.5) * strip, plot.y(result.flops / t * 1e9), [r, n]]);
    }));
    scatter(plot, points, ([r, n]) => `${flopsText(result.flops / data.runs[r].time_ns[n] * 1e9)}\n${trialText(data, r, n)}`);
    const taken = points.map(([px, py]) => [px - 3, py - 3, px + 3, py + 3]);
    const sx = plot.x(intensity), sy = plot.y(fastest);
    taken.push([sx - 7, sy - 7, sx + 7, sy + 7]);
    const roof = plot.y(peak), flatStart = plot.x(result.fits_in_cache ? x.first : ridge);
    placeLabel(plot, `${peaks.unit || (peaks.is_double ? "fp64" : "fp32")} peak ${flopsText(peak)}`, [
      { x: plot.right, y: roof - 6, anchor: "end" }, { x: Math.max(flatStart, plot.left) + 4, y: roof - 6, anchor: "start" },
      { x: plot.right, y: roof + 16, anchor: "end" }, { x: plot.left + 4, y: roof - 6, anchor: "start" },
      { x: plot.right, y: roof - 20, anchor: "end" }, { x: plot.left + 4, y: roof - 20, anchor: "start" }], taken);
    // Along the slope, above or below it, clear of the label of the peak and of the points.
    const angle = Math.atan2(plot.y(roofAt(ridge)) - plot.y(roofAt(top)), plot.x(ridge) - plot.x(top)) * 180 / Math.PI;
    const along = (share, off) => {
      const at = top * (ridge / top) ** share, turn = angle * Math.PI / 180;
      return { x: plot.x(at) + off * Math.sin(-turn), y: plot.y(roofAt(at)) + off * Math.cos(turn), anchor: "middle", angle };
    };
    placeLabel(plot, `memory ${rateText(peaks.memory_bytes_per_s)}`,
      [0.5, 0.35, 0.65, 0.25, 0.8].flatMap((share) => [along(share, -7), along(share, 17)]).concat(
        [{ x: plot.right, y: plot.bottom - 8, anchor: "end" }, { x: plot.left + 4, y: plot.bottom - 8, anchor: "start" }]),
      taken, result.fits_in_cache ? "soft" : null);
    plot.root.append(svg("path", { class: "star", d: `M${sx} ${sy - 7}L${sx + 7} ${sy}L${sx} ${sy + 7}L${sx - 7} ${sy}Z` },
      title(`best: ${flopsText(fastest)}, ${percentText(fastest / (result.fits_in_cache ? peak : roofAt(intensity)))} of the roof`)));
    return plot.root;
  });
}

function rooflineSection(data) {
  const { result, peaks } = data;
  const peak = peaks && peakOf(peaks);
  const missing = !peaks || !(peak > 0) || !(peaks.memory_bytes_per_s > 0) ? "The device's peaks are not known, so there is no roof to draw."
    : !(result.flops > 0) ? "The expression has no floating-point operations, so it has no place under a roofline."
    : !data.runs.some((run) => run.time_ns.some((t) => t > 0)) ? "There is no valid trial yet." : null;
  if (missing) return section("Roofline", html("p", { class: "soft" }, missing));
  return section("Roofline", html("p", { class: "note" },
    `The roof is what this device reached in measurements of the daemon${peaks.unit ? `, and what its matrix units can do with ${peaks.unit}` : ""}. The expression computes ${countText(result.flops)} floating-point operations and touches ${bytesText(result.compulsory_bytes)} of its inputs and outputs. ` +
    "So all trials have one intensity; they stand in a strip around it, from left to right as they ended." +
    (result.above_peak ? ` The best is above the roof: ${result.above_peak}.` : "") +
    (result.fits_in_cache ? " What is touched fits in the largest cache, so memory, dotted, is no bound on repeated executions." : "")),
  rooflineChart(data));
}

// How much of its space the search has proven to be slower, without trying it.
function proofText(certificate) {
  const slower = certificate.gap > 0 ? `no faster by more than ${digits(100 * certificate.gap)} %` : "no faster";
  if (certificate.is_whole) return `Every other configuration of the space was tried, or proven to be ${slower}. `;
  const [worse, all] = [Number(certificate.proven_worse_count), Number(certificate.space_count)];
  if (!(worse > 0 && all > 0)) return "";
  return `Of ${digits(all)} configurations at least ${digits(worse)} are proven to be ${slower}. `;
}

// How many configurations of what is searched have bounds of which size, beside the time of the best.
function boundsOfSpace({ bounds }) {
  if (!bounds) return [];
  const low = percentText(bounds.left_share_low), high = percentText(bounds.left_share_high);
  const left = bounds.is_exact || low === high ? low : `${low} to ${high}, with 95 % confidence,`;
  return [html("h3", {}, "Bounds of configurations"),
    html("p", { class: "note" }, `Each configuration has a bound of its own, too. Of ${bounds.is_exact ? "all" : "a sample of"} ${countText(bounds.configurations)} configurations that the job may try, ` +
      `those whose bound is ${timeText(bounds.time_ns)} or more cannot be faster than the best: ${left} may be.`),
    histogram(bounds.classes.map((c) => ({ text: c.name, title: c.name, count: c.configurations })), "bound of a configuration, as a share of the best time", "configurations")];
}

// What each resource takes at least, beside the time of the best.
function boundSection(data) {
  const { certificate, result } = data;
  if (!certificate) return section("Bound", html("p", { class: "soft" }, "Nothing is known of what no kernel can be faster than."), ...boundsOfSpace(data));
  if (certificate.floors.length === 0) return section("Bound", html("p", { class: "soft" }, "No rate of the device is known that bounds the time of a kernel."), ...boundsOfSpace(data));
  const ground = certificate.assumptions.length > 0 ? `it is assumed that ${certificate.assumptions.join("; ")}` : "proven from the specification of the device";
  return section("Bound", html("p", { class: "note" },
    `No kernel of this computation takes less than ${timeText(certificate.bound_ns)} on this device` +
    (result.time_ns > 0 ? `, so the best can become ${digits(result.time_ns / certificate.bound_ns)} times as fast at most` : "") +
    `: ${ground} (class ${certificate.proof_class}, version ${certificate.version}). ${proofText(certificate)}Each resource alone takes at least:`),
  table([{ head: "resource", cell: (f) => f.resource }, { head: "at least", number: true, cell: (f) => timeText(f.time_ns) },
    { head: "of the time", number: true, cell: (f) => (result.time_ns > 0 ? percentText(f.time_ns / result.time_ns) : "–") },
    { head: "because", wrap: true, cell: (f) => f.reason }], certificate.floors), ...boundsOfSpace(data));
}
