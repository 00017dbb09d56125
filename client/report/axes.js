// Scales and axes.

function linearScale(first, last, from, to) {
  const scale = (value) => from + (value - first) / ((last - first) || 1) * (to - from);
  scale.ticks = (count) => {
    const raw = (last - first) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(raw || 1));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) || power;
    const ticks = [];
    for (let tick = Math.ceil(first / step) * step; tick <= last * (1 + 1e-9); tick += step) ticks.push(tick);
    return ticks;
  };
  return scale;
}

function logScale(first, last, from, to) {
  const low = Math.log10(first), high = Math.log10(last);
  const scale = (value) => from + (Math.log10(value) - low) / ((high - low) || 1) * (to - from);
  scale.ticks = (count) => {
    const decades = high - low;
    const marks = decades > count ? [1] : decades > count / 3 ? [1, 3] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
    const ticks = [];
    const every = Math.max(1, Math.ceil(decades / count));
    for (let power = Math.floor(low); power <= Math.ceil(high); power += every) {
      for (const mark of marks) {
        const tick = mark * 10 ** power;
        if (tick >= first * 0.999 && tick <= last * 1.001) ticks.push(tick);
      }
    }
    return ticks;
  };
  return scale;
}

// An empty chart: {root, plot, x, y, left, right, top, bottom}. `frame`: width, height, x and y as
// {scale, first, last, label, text, ticks}.
function axes(frame) {
  const right = frame.width - 12, top = 24, bottom = frame.height - 44;
  const make = (axis, from, to) => (axis.log ? logScale : linearScale)(axis.first, axis.last, from, to);
  const y = make(frame.y, bottom, top);
  const left = 14 + 6.8 * Math.max(3, ...y.ticks(frame.y.ticks || 6).map((tick) => frame.y.text(tick).length));
  const x = make(frame.x, left, right);
  const root = svg("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": frame.label });
  for (const tick of y.ticks(frame.y.ticks || 6)) {
    root.append(svg("path", { class: "grid", d: `M${left} ${y(tick)}H${right}` }),
      svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end", class: "soft" }, frame.y.text(tick)));
  }
  let free = -Infinity;  // labels of the x axis must not touch
  for (const tick of x.ticks(frame.x.ticks || Math.max(3, Math.floor(frame.width / 95)))) {
    const text = frame.x.text(tick), half = text.length * 3.6;
    root.append(svg("path", { class: "grid", d: `M${x(tick)} ${top}V${bottom}` }));
    if (x(tick) - half < free || x(tick) + half > frame.width) continue;
    free = x(tick) + half + 6;
    root.append(svg("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle", class: "soft" }, text));
  }
  root.append(svg("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }),
    svg("text", { x: (left + right) / 2, y: frame.height - 8, "text-anchor": "middle" }, frame.x.label),
    svg("text", { x: 4, y: 12 }, frame.y.label));
  return { root, x, y, left, right, top, bottom };
}

// Where a label stands: the first of `places`, {x, y, anchor, angle}, at which its box of `size` meets none of
// the points and boxes in `taken`; else the one that meets fewest. `taken` gets its box.
function placeLabel(plot, text, places, taken, cls) {
  const width = text.length * 6.6, height = 13;
  const boxOf = ({ x, y, anchor, angle }) => {
    const middle = anchor === "end" ? x - width / 2 : anchor === "start" ? x + width / 2 : x;
    const sine = Math.abs(Math.sin((angle || 0) * Math.PI / 180)), cosine = Math.abs(Math.cos((angle || 0) * Math.PI / 180));
    const across = (width * cosine + height * sine) / 2, down = (width * sine + height * cosine) / 2;
    return [middle - across, y - 4 - down, middle + across, y - 4 + down];
  };
  const meets = (box) => taken.reduce((count, [left, top, right, bottom]) =>
    count + (left < box[2] + 3 && right > box[0] - 3 && top < box[3] + 3 && bottom > box[1] - 3 ? 1 : 0), 0) +
    (box[0] < 0 || box[2] > plot.right + 12 || box[1] < 0 ? 1e6 : 0);
  let best = null, least = Infinity;
  for (const place of places) {
    const count = meets(boxOf(place));
    if (count < least) { least = count; best = place; }
  }
  taken.push(boxOf(best));
  plot.root.append(svg("text", { transform: `translate(${best.x} ${best.y})` + (best.angle ? ` rotate(${best.angle})` : ""),
    "text-anchor": best.anchor, class: "halo" + (cls ? " " + cls : "") }, text));
}

// All points as one path, and a text for the one next to the pointer. `points`: [[x, y, payload], ...]
// in pixels.
function scatter(plot, points, describe) {
  const d = points.map(([px, py]) => `M${px.toFixed(1)} ${py.toFixed(1)}h0`).join("");
  plot.root.append(svg("path", { class: "points" + (points.length < 500 ? " few" : points.length > 3000 ? " many" : ""), d }));
  plot.root.addEventListener("pointermove", (event) => {
    const box = plot.root.getBoundingClientRect();
    const unit = plot.root.viewBox.baseVal.width / box.width;
    const px = (event.clientX - box.left) * unit, py = (event.clientY - box.top) * unit;
    let nearest = null, least = 14 * 14;
    for (const point of points) {
      const distance = (point[0] - px) ** 2 + (point[1] - py) ** 2;
      if (distance < least) { least = distance; nearest = point; }
    }
    if (nearest) showTip(event, describe(nearest[2])); else hideTip();
  });
  plot.root.addEventListener("pointerleave", hideTip);
}

// Columns: {text, count}; a histogram with counts above.
function histogram(columns, label, what) {
  return chart((width) => {
    const height = 200, left = 4, top = 22, bottom = height - 44, most = Math.max(1, ...columns.map((c) => c.count));
    const step = (width - 2 * left) / columns.length;
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    const every = Math.ceil(48 / step);
    columns.forEach((column, n) => {
      const size = column.count / most * (bottom - top), x = left + n * step;
      root.append(svg("rect", { class: "bar", x: x + 1, y: bottom - size, width: Math.max(1, step - 2), height: size, rx: 1 }, title(`${column.title}: ${countText(column.count)} ${what}`)));
      if (column.count > 0 && step > 26) root.append(svg("text", { x: x + step / 2, y: bottom - size - 5, "text-anchor": "middle", class: "soft" }, countText(column.count)));
      if (n % every === 0) root.append(svg("text", { x: x + step / 2, y: bottom + 16, "text-anchor": "middle", class: "soft" }, column.text));
    });
    root.append(svg("path", { class: "axis", d: `M${left} ${bottom}H${width - left}` }), svg("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, label));
    return root;
  });
}
