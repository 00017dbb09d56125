// Trials: what one was, and what became of all of them.

function trialText(data, r, n) {
  const run = data.runs[r];
  let text = `trial ${run.number[n]}` + (data.runs.length > 1 ? ` of ${run.name}` : "") +
    `: ${run.time_ns[n] > 0 ? timeText(run.time_ns[n]) : data.outcomes[run.outcome[n]].name}, after ${durationText(run.elapsed_us[n] * 1e3)}`;
  if (r === 0) {
    for (const column of data.parameters) {
      const value = column.cells[n];
      if (value >= 0) text += `\n${column.name}: ${column.values[value]}`;
    }
  }
  return text;
}

const outcomeColour = (index) => `var(--outcome-${Math.min(index, 7)})`;

function outcomesSection(data) {
  const all = data.outcomes.reduce((sum, outcome) => sum + outcome.trials, 0);
  if (all === 0) return section("Trials by outcome", html("p", { class: "soft" }, "No trial has ended yet."));
  const most = Math.max(...data.outcomes.map((outcome) => outcome.trials));
  const bars = chart((width) => {
    const row = 38, left = 0, right = width - 4;
    const root = svg("svg", { viewBox: `0 0 ${width} ${data.outcomes.length * row + 4}`, role: "img", "aria-label": "trials by outcome" });
    data.outcomes.forEach((outcome, n) => {
      const y = n * row, length = Math.max(2, outcome.trials / most * (right - left));
      const bar = svg("rect", { x: left, y: y + 18, width: length, height: 12, rx: 2 }, title(`${outcome.name}: ${countText(outcome.trials)} of ${countText(all)} trials`));
      bar.style.fill = outcomeColour(n);
      root.append(svg("text", { x: left, y: y + 12 }, outcome.name),
        svg("text", { x: right, y: y + 12, "text-anchor": "end", class: "soft" }, `${countText(outcome.trials)}, ${percentText(outcome.trials / all)}`), bar);
    });
    return root;
  });
  const reasons = data.outcomes.flatMap((outcome) => outcome.reasons.map((reason) => ({ outcome: outcome.name, ...reason })));
  return section("Trials by outcome", bars,
    data.not_ended > 0 && html("p", { class: "note" }, `${countText(data.not_ended)} trials were begun and have not ended.`),
    reasons.length > 0 && html("h3", {}, "Most frequent reasons"),
    reasons.length > 0 && table([{ head: "outcome", cell: (r) => r.outcome }, { head: "trials", number: true, cell: (r) => countText(r.trials) },
      { head: "reason", wrap: true, cell: (r) => r.text }], reasons));
}

// How much of the variance of the times one parameter explains.
function importanceSection(data) {
  const ranking = data.importance.slice(0, 6);
  if (ranking.length === 0) {
    return section("Parameters that mattered most", html("p", { class: "soft" }, "There are too few valid trials with different parameters to tell."));
  }
  const bars = chart((width) => {
    const row = 38, right = width - 4;
    const root = svg("svg", { viewBox: `0 0 ${width} ${ranking.length * row + 4}`, role: "img", "aria-label": "variance explained by each parameter" });
    ranking.forEach((entry, n) => {
      const column = data.parameters[entry.column], y = n * row;
      const groups = entry.groups.map((g) => `${g.values}: median ${timeText(g.median_ns)}, ${countText(g.trials)} trials`).join("\n");
      const best = data.best_trial >= 0 && column.cells[data.best_trial] >= 0 ? column.values[column.cells[data.best_trial]] : null;
      root.append(svg("g", {}, svg("text", { x: 0, y: y + 12 }, column.name, best !== null && svg("tspan", { class: "soft", fill: "var(--soft)" }, `   best: ${best.length > 24 ? best.slice(0, 23) + "…" : best}`)),
        svg("text", { x: right, y: y + 12, "text-anchor": "end", class: "soft" }, percentText(entry.share)),
        svg("rect", { x: 0, y: y + 18, width: right, height: 12, rx: 2, fill: "var(--grid)" }),
        svg("rect", { x: 0, y: y + 18, width: Math.max(2, entry.share * right), height: 12, rx: 2, class: "bar" }),
        title(`${column.name}\n${groups}`)));
    });
    return root;
  });
  return section("Parameters that mattered most", html("p", { class: "note" },
    "A bar is the share of the differences between the trials' times that one parameter alone would explain. Parameters that vary " +
    "together explain the same differences, so bars do not add up to 100 %. The " + (ranking.length === 1 ? "one with the" : `${ranking.length} with the`) +
    " largest bars are shown."), bars, html("details", {}, html("summary", {}, "How it is computed"), html("p", { class: "note" },
    "Share of the variance of the logarithm of valid trials' times that each parameter explains by itself: epsilon squared of a one-way " +
    "analysis of variance; numbers of more than eight values are put into eight groups of equally many trials. Effects of several " +
    "parameters together do not show, and trials are chosen by the search, not at random: read it as a hint.")));
}
