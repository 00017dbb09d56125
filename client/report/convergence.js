// The best time so far, over trials and over time.

// Per run: [[position, best], ...] at each improvement, and the last position.
function bestSoFar(run, positionOf) {
  const steps = [];
  let best = Infinity, last = 0;
  for (let n = 0; n < run.time_ns.length; ++n) {
    last = positionOf(run, n);
    if (run.time_ns[n] > 0 && run.time_ns[n] < best) {
      best = run.time_ns[n];
      steps.push([last, best]);
    }
  }
  return { steps, last };
}
const valueAt = (curve, position) => {
  let value = null;
  for (const [at, best] of curve.steps) { if (at > position) break; value = best; }
  return value;
};
function quantile(sorted, share) {
  const place = (sorted.length - 1) * share, below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
function stepPath(steps, last, x, y) {
  if (steps.length === 0) return "";
  let d = `M${x(steps[0][0]).toFixed(1)} ${y(steps[0][1]).toFixed(1)}`;
  for (const [at, best] of steps.slice(1)) d += `H${x(at).toFixed(1)}V${y(best).toFixed(1)}`;
  return d + `H${x(last).toFixed(1)}`;
}

// Median and quartiles of several runs; a run that has ended keeps its best.
function drawQuartiles(plot, curves, last) {
  const columns = 160, rows = [];
  for (let n = 0; n <= columns; ++n) {
    const at = last * n / columns;
    const values = curves.map((c) => valueAt(c, at)).filter((v) => v !== null).sort((a, b) => a - b);
    if (values.length === curves.length) rows.push([at, quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)]);
  }
  if (rows.length === 0) return;
  const point = (row, k) => `${plot.x(row[0]).toFixed(1)} ${plot.y(row[k]).toFixed(1)}`;
  const upper = rows.map((row) => point(row, 3)), lower = rows.map((row) => point(row, 1)).reverse();
  plot.root.append(svg("path", { class: "band", d: "M" + upper.concat(lower).join("L") + "Z" }, title("between the quartiles of the runs")));
  for (const curve of curves) plot.root.append(svg("path", { class: "run", d: stepPath(curve.steps, curve.last, plot.x, plot.y) }));
  plot.root.append(svg("path", { class: "best", d: "M" + rows.map((row) => point(row, 2)).join("L") }, title("median of the runs")));
}

// Every line has its label: above it, or as near as those of its neighbours and the axis let it be.
function drawReferences(plot, data, low, high) {
  const apart = 14;
  const lines = referencesOf(data).filter(([, ns]) => ns > 0 && ns >= low && ns <= high).sort((a, b) => b[1] - a[1]);
  const heights = lines.map(([, ns]) => plot.y(ns) - 4);
  for (let n = 1; n < heights.length; ++n) heights[n] = Math.max(heights[n], heights[n - 1] + apart);
  let lowest = plot.bottom - 4;
  for (let n = heights.length - 1; n >= 0; --n, lowest -= apart) heights[n] = Math.min(heights[n], lowest);
  for (const [, ns] of lines) plot.root.append(svg("path", { class: "reference", d: `M${plot.left} ${plot.y(ns)}H${plot.right}` }));
  lines.forEach(([name, ns], n) => plot.root.append(svg("text", { x: plot.right - 2, y: heights[n], "text-anchor": "end", class: "soft halo" },
    `${name}: ${timeText(ns)}`)));
}

function referencesOf(data) {
  const { result } = data;
  const best = Math.min(...data.runs.flatMap((run) => run.time_ns.filter((t) => t > 0)));
  const lines = [["from rules", result.default_time_ns], ["loop nest, one thread", result.loop_nest_time_ns],
    ["bound of the device", result.bound_ns]];
  // Where the curve ends at another time than the page's head says.
  if (Math.abs(result.time_ns / best - 1) > 0.02) lines.push(["result, measured again", result.time_ns]);
  return lines;
}

function convergenceChart(data, axis, positionOf) {
  return chart((width) => {
    const runs = data.runs, times = runs.flatMap((run) => run.time_ns.filter((t) => t > 0));
    if (times.length === 0) return html("p", { class: "soft" }, "There is no valid trial yet.");
    let low = Infinity, high = 0;
    for (const t of times) { low = Math.min(low, t); high = Math.max(high, t); }
    const sorted = times.slice().sort((a, b) => a - b);
    high = Math.min(high, Math.max(quantile(sorted, 0.85) * 1.2, low * 3));
    for (const ns of [data.result.default_time_ns, data.result.bound_ns, data.result.time_ns]) {
      if (ns > 0 && ns > low / 4 && ns < high * 4) { low = Math.min(low, ns); high = Math.max(high, ns); }
    }
    low /= 1.12; high *= 1.12;
    const curves = runs.map((run) => bestSoFar(run, positionOf));
    const last = Math.max(1e-9, ...curves.map((c) => c.last));
    const plot = axes({ width, height: 300, label: axis.label + ": best time so far",
      x: { first: 0, last, label: axis.label, text: axis.text },
      y: { log: true, first: low, last: high, label: "time of one execution", text: timeText } });
    const y = plot.y;
    plot.y = (ns) => y(Math.min(ns, high));  // nothing leaves the chart
    const points = [];
    runs.forEach((run, r) => run.time_ns.forEach((t, n) => {
      if (t > 0) points.push([plot.x(positionOf(run, n)), plot.y(t), [r, n]]);
    }));
    scatter(plot, points, ([r, n]) => trialText(data, r, n));
    drawReferences(plot, data, low, high);
    if (runs.length > 1) drawQuartiles(plot, curves, last);
    else plot.root.append(svg("path", { class: "best", d: stepPath(curves[0].steps, curves[0].last, plot.x, plot.y) }, title("best so far")));
    return plot.root;
  });
}

function convergenceSection(data) {
  const several = data.runs.length > 1;
  const note = several
    ? `Dots: valid trials of ${data.runs.length} runs. Line: median over the runs of the best so far; band: between their quartiles; a run that has ended keeps its best.`
    : "Dots: valid trials, also those that are slower than the axis reaches, at its upper end. Line: the best so far.";
  const end = data.result.is_measured_again
    ? " A trial counts with its fastest call; the time at the head of the page is the median of the comparison at the end, in turns with the other finalists."
    : "";
  return section("Convergence", html("p", { class: "note" }, note + end), html("div", { class: "pair" },
    convergenceChart(data, { label: "trials", text: countText }, (run, n) => n + 1),
    convergenceChart(data, { label: "time since the start of the search", text: (s) => digits(s) + " s" }, (run, n) => run.elapsed_us[n] / 1e6)));
}
