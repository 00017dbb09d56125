// The de- and re-composition as nested tiles: as in the paper's figures, data is de-composed from top to
// bottom at the right, f is applied at the bottom, and results are re-composed from bottom to top at the left.
// The colour of a tile is the memory region that it lies in.

const regionColour = (region) => `var(--region-${Math.min(region, 5)})`;
const MOST_LINES = 12;

// The two dimensions of a buffer that are drawn: those that are cut most, in their order.
function drawnDimensions(buffer, rows) {
  const cuts = buffer.extents.map((extent, x) => [rows.reduce((product, row) => product * partsOf(buffer, row, x), 1), extent, x]);
  cuts.sort((a, b) => b[0] - a[0] || b[1] - a[1] || a[2] - b[2]);
  return cuts.slice(0, 2).map((cut) => cut[2]).sort((a, b) => a - b);
}
const partsOf = (buffer, row, x) => buffer.uses[x].reduce((product, d) => product * row.parts[d], 1);

// Width and height of a tile's picture; logarithms keep long tiles within sight.
function pictureSize(extents, drawn, most) {
  const elements = drawn.reduce((product, x) => product * extents[x], 1);
  if (elements === 1) return [18, 18];
  const size = Math.min(1, 0.4 + Math.log2(elements) / 20);
  if (drawn.length === 1) return [most * size, 22];
  const ratio = Math.log2(extents[drawn[1]] + 1) / Math.log2(extents[drawn[0]] + 1);
  const width = ratio >= 1 ? most : Math.max(26, most * ratio), height = ratio >= 1 ? Math.max(18, 66 / ratio) : 66;
  return [width * size, height * size];
}

// Where lines between `parts` parts go, as shares; of many parts the first ones and the last one.
function cutShares(parts) {
  if (parts <= MOST_LINES) return Array.from({ length: parts - 1 }, (_, n) => (n + 1) / parts);
  return [1, 2, 3, 4, MOST_LINES - 1].map((n) => n / MOST_LINES);
}

// One tile, cut as `row` cuts it; gives the corners of its first part.
function drawTile(root, at, tile, region, row, drawn, next, most) {
  const [width, height] = pictureSize(tile.extents, drawn, most);
  const left = at.x - width / 2, top = at.y;
  const box = svg("rect", { x: left, y: top, width, height, class: "tile-edge" }, title(at.title));
  box.style.fill = regionColour(region);
  root.append(box);
  const along = (k) => (row === null || drawn.length <= k ? 1 : partsOf(at.buffer, row, drawn[k]));
  const [down, across] = drawn.length === 2 ? [along(0), along(1)] : [1, along(0)];
  let lines = "";
  for (const share of cutShares(across)) lines += `M${left + share * width} ${top}v${height}`;
  for (const share of cutShares(down)) lines += `M${left} ${top + share * height}h${width}`;
  root.append(svg("path", { class: "tile-line", d: lines || "M0 0" }));
  const dots = (x, y) => root.append(svg("text", { x, y, "text-anchor": "middle", class: "on-region", "font-size": 13 }, "⋯"));
  if (across > MOST_LINES) dots(left + width * 0.64, top + height / 2 + 4);
  if (down > MOST_LINES && across <= MOST_LINES) dots(left + width / 2, top + height * 0.66);
  const first = { left, top, width: width / Math.min(across, MOST_LINES), height: height / Math.min(down, MOST_LINES) };
  if (across * down > 1) {
    const mark = svg("rect", { x: left, y: top, width: first.width, height: first.height, class: "tile-first" });
    mark.style.fill = next === null ? "#ffffff66" : regionColour(next);
    root.append(mark);
  }
  return { first, box: { left, top, width, height } };
}

// A line from a part to the tile that it becomes, which leaves out the labels below the tile that the part is in.
const LABELS = 32;
function funnel([x, y], [toX, toY], below) {
  const at = (height) => `${x + (toX - x) * (height - y) / ((toY - y) || 1)} ${height}`;
  const inside = y < below ? `M${x} ${y}L${at(below)}` : "";
  return toY > below + LABELS ? `${inside}M${at(Math.max(y, below + LABELS))}L${toX} ${toY}` : inside;
}

const extentsText = (extents) => (extents.length === 0 ? "scalar" : extents.join(" × "));

// One buffer's column, from the whole buffer to one element.
function drawBuffer(root, decomposition, rows, buffer, x, rowHeight, top, most) {
  const drawn = drawnDimensions(buffer, rows);
  let tile = { extents: buffer.extents, bytes: buffer.bytes }, region = 0, before = null;
  const steps = rows.concat([null]), labels = [];  // above the lines of the next tile
  steps.forEach((row, n) => {
    const last = row === null, next = last ? null : buffer.tiles[row.index];
    if (last) region = buffer.scalar_region;
    const label = last ? "one element" : extentsText(tile.extents);
    const memory = `${decomposition.regions[region]}, ${last ? bytesText(buffer.element_bytes) : bytesText(tile.bytes)}`;
    const y = top + n * rowHeight;
    const drawnTile = drawTile(root, { x, y, buffer, title: `${buffer.name}: ${label} in ${memory}` },
      last ? { extents: [] } : tile, region, row, last ? [] : drawn, next && next.region, most);
    if (before !== null) {
      const { first } = before, { box } = drawnTile;
      root.append(svg("path", { class: "zoom", d: funnel([first.left, first.top + first.height], [box.left, box.top], before.below) +
        funnel([first.left + first.width, first.top + first.height], [box.left + box.width, box.top], before.below) }));
    }
    const below = y + drawnTile.box.height;
    labels.push(svg("text", { x, y: below + 14, "text-anchor": "middle", "font-size": 11, class: "halo" }, label),
      svg("text", { x, y: below + 27, "text-anchor": "middle", "font-size": 11, class: "soft halo" }, memory));
    before = { ...drawnTile, below };
    if (!last) { tile = next; region = next.region; }
  });
  root.append(...labels);
}

// What a layer does: its name and the parts of every dimension that it cuts.
function drawLayer(root, decomposition, row, x, y, half) {
  const layer = decomposition.layers[row.layer];
  const cut = row.order.filter((d) => row.parts[d] > 1);
  const height = 24 + 14 * Math.max(1, cut.length);
  root.append(svg("rect", { x: x - half, y, width: 2 * half, height, rx: 6, fill: layer.is_parallel ? "var(--core)" : "var(--code)", stroke: "var(--line)" },
    title(`${layer.name}: ${layer.is_parallel ? "parts run at the same time" : "parts run one after another"}`)),
  svg("text", { x, y: y + 15, "text-anchor": "middle", "font-weight": 600, class: layer.is_parallel ? "on-region" : null }, `${layer.name}, ${layer.what}`));
  if (cut.length === 0) root.append(svg("text", { x, y: y + 31, "text-anchor": "middle", "font-size": 11, class: layer.is_parallel ? "on-region" : null }, "one part, other memory"));
  cut.forEach((d, n) => {
    const dimension = decomposition.dimensions[d];
    const operator = dimension.operator.length > 8 ? dimension.operator.slice(0, 7) + "…" : dimension.operator;
    root.append(svg("text", { x, y: y + 31 + 14 * n, "text-anchor": "middle", "font-size": 11, class: layer.is_parallel ? "on-region" : null },
      `${dimension.name}: ${countText(row.parts[d])} × ${countText(row.tile[d])}   ${operator}`, title(`dimension ${dimension.name} is cut into ${row.parts[d]} parts of ${row.tile[d]} points, which ${dimension.operator} combines; ${row.assigned[d]}`)));
  });
}

function decompositionPicture(data) {
  const d = data.decomposition;
  const rows = drawnRows(d);
  const outputs = d.buffers.filter((b) => b.is_output), inputs = d.buffers.filter((b) => !b.is_output);
  const picture = chart((available) => {
    const columns = outputs.length + inputs.length, middle = 186;
    const width = Math.max(available, columns * 128 + middle), column = Math.min(210, (width - middle) / columns);
    const rowHeight = 116, top = 66, height = top + rows.length * rowHeight + 82, most = Math.min(130, column - 22);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "de- and re-composition as nested tiles" });
    root.style.width = width + "px";
    const start = (width - column * columns - middle) / 2, centre = start + column * outputs.length + middle / 2;
    const right = centre + middle / 2;
    const head = (x, text, soft) => svg("text", { x, y: soft ? 50 : 36, "text-anchor": "middle", "font-size": soft ? 11 : 13, "font-weight": soft ? 400 : 600, class: soft ? "soft" : null }, text);
    root.append(svg("text", { x: (start + centre - middle / 2) / 2, y: 14, "text-anchor": "middle", class: "soft" }, "↑ re-composition"),
      svg("text", { x: (right + right + column * inputs.length) / 2, y: 14, "text-anchor": "middle", class: "soft" }, "↓ de-composition"));
    outputs.forEach((b, n) => {
      const x = start + column * (n + 0.5);
      root.append(head(x, b.name), head(x, b.access, true));
      drawBuffer(root, d, rows, b, x, rowHeight, top, most);
    });
    inputs.forEach((b, n) => {
      const x = right + column * (n + 0.5);
      root.append(head(x, b.name), head(x, b.access, true));
      drawBuffer(root, d, rows, b, x, rowHeight, top, most);
    });
    rows.forEach((row, n) => drawLayer(root, d, row, centre, top + n * rowHeight, middle / 2 - 10));
    const y = top + rows.length * rowHeight;
    root.append(svg("circle", { cx: centre, cy: y + 12, r: 16, fill: "var(--core)", stroke: "var(--line)" }), svg("text", { x: centre, y: y + 17, "text-anchor": "middle", class: "on-region", "font-style": "italic" }, "f"),
      svg("text", { x: centre, y: y + 46, "text-anchor": "middle", class: "soft", "font-size": 11 }, "scalar phase"),
      svg("path", { class: "flow", d: `M${right - 6} ${y + 12}H${centre + 22}m7 -4l-7 4l7 4M${centre - 22} ${y + 12}H${centre - middle / 2 + 6}m7 -4l-7 4l7 4` }));
    return root;
  });
  return html("div", { class: "scroll", tabindex: "0" }, picture);
}

// Bytes of a tile of each buffer, per layer.
function memoryTable(d) {
  const cell = (tile) => {
    const entry = html("span", {}, `${bytesText(tile.bytes)} in ${d.regions[tile.region]}`);
    entry.className = "region";
    entry.style.background = regionColour(tile.region);
    return entry;
  };
  return table([{ head: "one part of layer", cell: (row) => d.layers[row.layer].name + (d.is_nested ? "" : ", " + row.order.map((x) => d.dimensions[x].name).join(" ")) }].concat(
    d.buffers.map((b) => ({ head: (b.is_output ? "result " : "input ") + b.name, cell: (row) => cell(b.tiles[row.index]) }))), d.rows);
}

// Rows that are drawn: those that cut something or move it.
function drawnRows(d) {
  const moves = (row) => d.buffers.some((b) => b.tiles[row.index].region !== (row.index > 0 ? b.tiles[row.index - 1].region : 0));
  return d.rows.filter((row) => row.parts.some((parts) => parts > 1) || moves(row));
}

// The colours that occur, with the names of what they stand for spelled out.
function legend(d) {
  const rows = drawnRows(d), regions = new Set([0]), parallel = new Set(rows.map((row) => d.layers[row.layer].is_parallel));
  for (const buffer of d.buffers) {
    for (const row of rows) regions.add(buffer.tiles[row.index].region);
    regions.add(buffer.scalar_region);
  }
  const entries = d.regions.map((name, n) => [regionColour(n), d.region_meanings[n] ? `${name}, ${d.region_meanings[n]}` : name]).filter((_, n) => regions.has(n));
  if (parallel.has(true)) entries.push(["var(--core)", "parts run at the same time"]);
  if (parallel.has(false)) entries.push(["var(--code)", "parts run one after another"]);
  return entries;
}

function decompositionSection(data) {
  const d = data.decomposition;
  if (!d) return section("De- and re-composition", html("p", { class: "soft" }, data.decomposition_missing));
  const hidden = d.buffers.some((b) => b.extents.length > 2) ? " Of buffers with more than two dimensions the two that are cut most are drawn." : "";
  const order = d.is_nested ? "" : " Layers interleave here: a row has levels of one layer that follow one another, and the points of a part need not be neighbours.";
  const meaning = d.has_caches ? "The caches of this device copy by themselves: regions below the outermost one say what is packed or kept in registers."
    : "The kernel copies from region to region by itself.";
  return section("De- and re-composition",
    html("p", { class: "note" }, `The best configuration, for the system model ${d.model}. Each row is a layer: the whole tile is cut into its parts, and the marked first part is the tile of the next row. Its colour is the memory region that it lies in. ${meaning}${hidden}${order} Layers that cut nothing and change no memory are left out.`),
    key(legend(d)),
    decompositionPicture(data),
    html("h3", {}, "Memory of one part"), memoryTable(d),
    html("details", {}, html("summary", {}, "As a table: low-level expression, all levels and phases"), html("pre", { tabindex: "0" }, d.table)));
}
