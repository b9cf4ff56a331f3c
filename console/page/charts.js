// Small charts as SVG: points in a plane, parallel coordinates, bars and a histogram; each part can be picked.
import { digits, element } from "./dom.js";

const SPACE = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const extent = (values) => {
  const finite = values.filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite);
  if (!finite.length) return [0, 1];
  return high > low ? [low, high] : [low - 0.5 * Math.abs(low) - 1e-9, high + 0.5 * Math.abs(high) + 1e-9];
};
const mapped = ([low, high], from, to, isLog = false) => {
  const f = isLog ? Math.log : Number;
  return (value) => from + ((f(value) - f(low)) / (f(high) - f(low))) * (to - from);
};

// A mark that the mouse or the keyboard can pick; its title is shown beside the pointer.
function pickable(mark, title, pick) {
  mark.append(svg("title", {}, title));
  if (pick) {
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", title);
    mark.addEventListener("click", pick);
    mark.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(); } });
  }
  return mark;
}

function axes(frame, [x0, y0, x1, y1], xExtent, yExtent, xLabel, yLabel) {
  const text = (x, y, content, anchor) => svg("text", { x, y, "text-anchor": anchor, class: "axis" }, content);
  frame.append(svg("path", { d: `M${x0},${y0} V${y1} H${x1}`, class: "axis-line" }),
    text(x0, y1 + 15, digits(xExtent[0], 3), "start"), text(x1, y1 + 15, digits(xExtent[1], 3), "end"), text((x0 + x1) / 2, y1 + 28, xLabel, "middle"),
    text(x0 - 5, y1, digits(yExtent[0], 3), "end"), text(x0 - 5, y0 + 9, digits(yExtent[1], 3), "end"), text(x0, y0 - 6, yLabel, "start"));
}

// Points {x, y, title, kind}: kinds are front, best, plain, infeasible.
export function scatter(points, xLabel, yLabel, pick, chosen) {
  const [w, h] = [400, 270], box = [64, 24, w - 14, h - 36], frame = svg("svg", { viewBox: `0 0 ${w} ${h}`, class: "chart scatter", role: "group", "aria-label": `${yLabel} over ${xLabel}` });
  // The worst trials would press the others together: the axes end at the 90 % value, others stand at the edge.
  const part = (values) => { const sorted = values.filter(Number.isFinite).sort((a, b) => a - b); return extent([sorted[0], sorted[Math.floor(0.9 * (sorted.length - 1))]]); };
  const [xs, ys] = [part(points.map(({ x }) => x)), part(points.map(({ y }) => y))], [toX, toY] = [mapped(xs, box[0] + 8, box[2] - 8), mapped(ys, box[3] - 8, box[1] + 8)];
  const inside = (value, a, b) => Math.min(Math.max(value, a), b);
  axes(frame, box, xs, ys, xLabel, yLabel);
  const front = points.filter(({ kind }) => kind === "front" || kind === "best").sort((a, b) => a.x - b.x);
  if (front.length > 1) frame.append(svg("polyline", { points: front.map(({ x, y }) => `${inside(toX(x), box[0], box[2])},${inside(toY(y), box[1], box[3])}`).join(" "), class: "front-line" }));
  for (const point of [...points].sort((a, b) => order(a) - order(b))) {
    const mark = svg("circle", { cx: inside(toX(point.x), box[0], box[2]), cy: inside(toY(point.y), box[1], box[3]), r: point.kind === "best" ? 7 : point.kind === "front" ? 5.5 : 4, class: `point ${point.kind} ${point.id === chosen ? "chosen" : ""}`, "data-id": point.id });
    frame.append(pickable(mark, point.title, () => pick(point.id)));
  }
  return frame;
}

const order = ({ kind }) => ["infeasible", "plain", "front", "best"].indexOf(kind);

// One axis for each entry {label, low, high, log}; lines {id, values, kind}.
export function parallel(columns, lines, pick, chosen) {
  const [w, h, top, bottom] = [Math.max(520, 96 * columns.length), 300, 46, 250], frame = svg("svg", { viewBox: `0 0 ${w} ${h}`, class: "chart parallel", role: "group", "aria-label": "parallel coordinates" });
  const at = (i) => 40 + (i * (w - 80)) / Math.max(1, columns.length - 1), scales = columns.map(({ low, high, log }) => mapped(high > low ? [low, high] : [low - 1, low + 1], bottom, top, log));
  for (const { id, values, kind, title } of [...lines].sort((a, b) => order(a) - order(b) || (a.id === chosen) - (b.id === chosen))) {
    const points = values.map((value, i) => [at(i), Math.min(Math.max(scales[i](value), top), bottom)]).filter(([, y]) => Number.isFinite(y));
    frame.append(pickable(svg("polyline", { points: points.join(" "), class: `line ${kind} ${id === chosen ? "chosen" : ""}`, "data-id": id }), title, () => pick(id)));
  }
  columns.forEach(({ label, low, high }, i) => {
    const x = at(i), short = label.split(".").slice(-2).join("."), anchor = i === 0 ? "start" : i === columns.length - 1 ? "end" : "middle";
    const name = svg("text", { x: x + { start: -30, middle: 0, end: 30 }[anchor], y: bottom + 32, "text-anchor": anchor, class: "axis" }, short);
    name.append(svg("title", {}, label));
    frame.append(svg("path", { d: `M${x},${top} V${bottom}`, class: "axis-line" }), name, svg("text", { x, y: top - 8, "text-anchor": "middle", class: "axis" }, digits(high, 3)), svg("text", { x, y: bottom + 16, "text-anchor": "middle", class: "axis" }, digits(low, 3)));
  });
  return frame;
}

// Entries [name, part of 1].
export function bars(entries) {
  return element("div", { class: "bars" }, ...entries.flatMap(([name, part]) => {
    const bar = element("span", { class: "bar-part" });
    bar.style.width = `${(100 * part).toFixed(1)}%`;
    return [element("span", { class: "cut", title: name }, name.split(".").slice(-2).join(".")), element("span", { class: "bar-room" }, bar), element("b", { class: "right" }, `${(100 * part).toFixed(0)} %`)];
  }));
}

// Values {value, id} in bins; a bin is picked by its worst one.
export function histogram(values, label, isWorse, pick) {
  const [w, h] = [380, 190], box = [54, 24, w - 14, h - 36], frame = svg("svg", { viewBox: `0 0 ${w} ${h}`, class: "chart", role: "group", "aria-label": `distribution of ${label}` });
  const finite = values.filter(({ value }) => Number.isFinite(value)), range = extent(finite.map(({ value }) => value)), n = Math.min(40, Math.max(5, Math.round(2 * Math.sqrt(finite.length))));
  const bins = Array.from({ length: n }, () => []), width = (range[1] - range[0]) / n;
  for (const entry of finite) bins[Math.min(n - 1, Math.floor((entry.value - range[0]) / width))].push(entry);
  const most = Math.max(1, ...bins.map((bin) => bin.length)), toX = mapped(range, box[0], box[2]), toY = mapped([0, most], box[3], box[1]);
  axes(frame, box, range, [0, most], label, "runs");
  const worst = finite.reduce((a, b) => (a === null || isWorse(b.value, a.value) ? b : a), null);
  bins.forEach((bin, i) => {
    if (!bin.length) return;
    const own = bin.reduce((a, b) => (isWorse(b.value, a.value) ? b : a)), x = toX(range[0] + i * width);
    const mark = svg("rect", { x: x + 1, y: toY(bin.length), width: Math.max(1, toX(range[0] + (i + 1) * width) - x - 2), height: box[3] - toY(bin.length), class: `bin ${own === worst ? "worst" : ""}`, "data-id": own.id });
    frame.append(pickable(mark, `${bin.length} runs from ${digits(range[0] + i * width)}; worst ${digits(own.value)}`, () => pick(own.id)));
  });
  return frame;
}
