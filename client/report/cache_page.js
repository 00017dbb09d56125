// The page of what a daemon's store holds.

function recordColumns() {
  return [
    { head: "expression", key: (r) => r.expression, cell: (r) => html("span", { title: r.name }, r.expression), wrap: true },
    { head: "sizes", key: (r) => r.points, cell: (r) => r.sizes, wrap: true },
    { head: "device", key: (r) => r.device, cell: (r) => r.device, wrap: true },
    { head: "time", number: true, key: (r) => r.time_ns, cell: (r) => timeText(r.time_ns) },
    { head: "of the bound", number: true, key: (r) => r.share, cell: (r) => (r.share > 0 ? percentText(r.share) : "–") },
    { head: "× rules", number: true, key: (r) => r.than_rules, cell: (r) => (r.than_rules > 0 ? digits(r.than_rules) : "–") },
    { head: "× loop nest", number: true, key: (r) => r.than_loop_nest, cell: (r) => (r.than_loop_nest > 0 ? digits(r.than_loop_nest) : "–") },
    { head: "trials", number: true, key: (r) => r.trials, cell: (r) => countText(r.trials) },
    { head: "made", key: (r) => r.created, nowrap: true, cell: (r) => instantText(r.created).slice(0, 10) },
    { head: "state", key: (r) => r.state, cell: (r) => r.state }];
}

function recordTable(records) {
  const columns = recordColumns(), most = 1000;
  let sorted = columns[0], descending = false, wanted = "";
  const body = html("tbody", {}), count = html("p", { class: "note" });
  const heads = columns.map((column) => {
    const button = html("button", { type: "button" }, column.head);
    const head = html("th", { scope: "col", class: column.number ? "number" : null }, button);
    button.addEventListener("click", () => { descending = sorted === column ? !descending : false; sorted = column; draw(); });
    return head;
  });
  function draw() {
    heads.forEach((head, n) => (columns[n] === sorted ? head.setAttribute("aria-sort", descending ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
    const found = records.filter((r) => `${r.expression} ${r.device} ${r.sizes} ${r.state} ${r.name}`.toLowerCase().includes(wanted));
    found.sort((a, b) => { const p = sorted.key(a), q = sorted.key(b); return (p < q ? -1 : p > q ? 1 : 0) * (descending ? -1 : 1); });
    body.replaceChildren(...found.slice(0, most).map((r) => html("tr", {}, ...columns.map((c) => html("td", { class: c.number ? "number" : c.wrap ? "wrap" : c.nowrap ? "nowrap" : null }, c.cell(r))))));
    count.textContent = `${countText(found.length)} of ${countText(records.length)} records` + (found.length > most ? `; the first ${countText(most)} are shown` : "");
  }
  const search = html("input", { type: "search", placeholder: "find: expression, device, state, …", "aria-label": "find records" });
  search.addEventListener("input", () => { wanted = search.value.toLowerCase(); draw(); });
  draw();
  return html("div", {}, search, count, html("div", { class: "scroll", tabindex: "0" }, html("table", {}, html("thead", {}, html("tr", {}, ...heads)), body)));
}

function qualitySection(records) {
  const known = records.filter((r) => r.share > 0);
  if (known.length === 0) return section("How good the records are", html("p", { class: "soft" }, "No record has a known bound."));
  const columns = Array.from({ length: 11 }, (_, n) => ({ text: n === 10 ? "> 100" : `${n * 10}–${n * 10 + 10}`, title: n === 10 ? "more than 100 %" : `${n * 10} to ${n * 10 + 10} %`, count: 0 }));
  for (const r of known) ++columns[Math.min(10, Math.floor(r.share * 10))].count;
  return section("How good the records are", html("p", { class: "note" }, "The bound is the longer of operations over the measured peak and, for data larger than the caches, bytes over the measured bandwidth."),
    histogram(columns, "share of the bound reached, %", "records"));
}

function lookupSection(data) {
  const { outcomes, latencies } = data.lookups, all = outcomes.reduce((sum, o) => sum + o.count, 0);
  const used = latencies.filter((l) => l.calls > 0);
  if (all === 0 || used.length === 0) return section("Lookups since the start", html("p", { class: "soft" }, "There were none."));
  const first = latencies.indexOf(used[0]), last = latencies.indexOf(used[used.length - 1]);
  const fewest = 10;
  if (all < fewest) {
    const at_most = used[used.length - 1].at_most_ns;
    return section("Lookups since the start", html("p", {}, outcomes.filter((o) => o.count > 0).map((o) => `${countText(o.count)} ${o.name}`).join(", ") +
      (at_most > 0 ? `; replies were ready within ${timeText(at_most)}.` : ".")));
  }
  const columns = latencies.slice(first, last + 1).map((l) => ({ text: l.at_most_ns > 0 ? timeText(l.at_most_ns) : "longer", title: l.at_most_ns > 0 ? `at most ${timeText(l.at_most_ns)}` : "longer", count: l.calls }));
  return section("Lookups since the start", html("p", { class: "note" }, outcomes.filter((o) => o.count > 0).map((o) => `${countText(o.count)} ${o.name}`).join(", ")),
    histogram(columns, "time until the reply was ready, at most", "calls"));
}

function drawCachePage(data) {
  const s = data.statistics, page = document.getElementById("page");
  page.replaceChildren(html("h1", {}, data.title), html("p", { class: "soft lead" }, `${data.server}, as of ${instantText(data.made)}`),
    s.storage_problem ? html("section", { class: "failure" }, html("h2", {}, "The store has a problem"), html("p", {}, s.storage_problem)) : "",
    html("div", { class: "figures" }, figure(countText(data.records.length), "records"), figure(countText(s.pinned), "pinned"), figure(countText(s.quarantined), "set aside, damaged"),
      figure(countText(s.jobs), "jobs"), figure(countText(s.trials), "trials"), figure(bytesText(s.bytes), "database")),
    html("div", { class: "pair" }, qualitySection(data.records), lookupSection(data)),
    section("Records", data.records.length > 0 ? recordTable(data.records) : html("p", { class: "soft" }, "There is none yet.")));
}
