// Elements, numbers as text, colours. All texts come in as text nodes: names and errors are the users'.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    node.append(typeof child === "object" ? child : String(child));
  }
  return node;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const title = (text) => svg("title", {}, text);

// Three significant digits without an exponent.
function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || value === Math.round(value) ? 0 : size >= 10 ? 1 : 2);
}
function scaled(value, units, step) {
  let unit = 0;
  while (Math.abs(value) >= step * 0.9995 && unit + 1 < units.length) { value /= step; ++unit; }
  return digits(value) + " " + units[unit];
}
const timeText = (ns) => (ns < 1 && ns > 0 ? digits(ns) + " ns" : scaled(ns, ["ns", "µs", "ms", "s"], 1000));
const flopsText = (value) => scaled(value, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"], 1000);
const rateText = (value) => scaled(value, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], 1000);
const bytesText = (value) => scaled(value, ["bytes", "KiB", "MiB", "GiB", "TiB"], 1024);
const countText = (value) => Math.round(value).toLocaleString("en-GB");
const percentText = (share) => digits(share * 100) + " %";
function durationText(ns) {
  const seconds = ns / 1e9;
  if (seconds < 120) return digits(seconds) + " s";
  if (seconds < 7200) return digits(seconds / 60) + " min";
  return digits(seconds / 3600) + " h";
}
const instantText = (text) => (text || "").replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");

// A section with its heading; `draw(width)` gives what depends on the width and is called again for a
// new one.
function section(heading, ...children) {
  return html("section", {}, html("h2", {}, heading), ...children);
}
function chart(draw) {
  const box = html("div", { class: "chart" });
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.round(box.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}

// Text near the pointer, for points too many to have elements of their own.
const tip = html("div", { id: "tip", hidden: "", role: "status" });
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
  const top = event.clientY + 14 + box.height > innerHeight ? event.clientY - 14 - box.height : event.clientY + 14;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}
const hideTip = () => { tip.hidden = true; };

// A row of colours with their meanings.
function key(entries) {
  return html("ul", { class: "key" }, ...entries.map(([colour, text]) => {
    const swatch = html("i", {});
    swatch.style.background = colour;
    return html("li", {}, swatch, text);
  }));
}

// `columns`: {head, number, wrap, cell(row)}; a cell is text or an element.
function table(columns, rows) {
  const cls = (c) => (c.number ? "number" : c.wrap ? "wrap" : null);
  return html("div", { class: "scroll", tabindex: "0" }, html("table", {},
    html("thead", {}, html("tr", {}, ...columns.map((c) => html("th", { class: cls(c), scope: "col" }, c.head)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...columns.map((c) => html("td", { class: cls(c) }, c.cell(row))))))));
}
