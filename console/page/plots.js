// Plots of signals over time, one for each unit, with one cursor and the values in the legend: uPlot.
import uPlot from "./vendor/uPlot.esm.js";
import { digits, element } from "./dom.js";
import { splitName, unitOf } from "./signal_names.js";

const INKS = ["#3f97de", "#d98a12", "#27996f", "#c0659a", "#d55e00", "#8575e0", "#a08c12", "#4aa9c4"];
const DASHES = { reference: [8, 5], demand: [3, 3], second: [3, 4], third: [12, 4], fourth: [12, 3, 3, 3], difference: [] };
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const FONT = "11px system-ui, sans-serif";

export class Plots {
  // `zoomed(t0, t1)`: a time was chosen by dragging; `whole()`: by a double click, all of it; `clicked(t)`: a time.
  constructor(parent, { zoomed = () => {}, whole = () => {}, clicked = () => {} } = {}) {
    Object.assign(this, { parent, zoomed, whole, clicked, groups: [], names: [], mark: null });
    this.sizes = new ResizeObserver(() => this.#resize());
  }

  // Signals by name; `bands`: least and greatest values are given, not values.
  choose(names, topics, bands = false) {
    this.destroy();
    Object.assign(this, { names, bands });
    const kindOf = (name) => `${isDifference(name) ? "Δ " : ""}${unitOf(topics, name)}`;
    const kinds = [...new Set(names.map(kindOf))];
    this.groups = kinds.map((kind) => this.#group(kind, names.filter((name) => kindOf(name) === kind)));
    if (!kinds.length) this.parent.append(element("p", { class: "soft empty" }, "No signal is chosen."));
    this.#resize();
  }

  // Times, and by name either values or [least, greatest]; `range` is the time that is shown.
  show(t, values, range) {
    const last = lastBefore(t, range[1]);
    for (const group of this.groups) {
      const upper = group.names.map((name) => (this.bands ? values[name]?.[1] : values[name]) ?? []);
      const lower = this.bands ? group.names.map((name) => values[name]?.[0] ?? []) : [];
      group.plot.batch(() => {
        group.plot.setData([t, ...upper, ...lower], false);
        group.plot.setScale("x", { min: range[0], max: range[1] });
      });
      if (!(group.plot.cursor.left >= 0)) this.#tell(group, this.mark === null ? last : lastBefore(t, this.mark));
    }
  }

  // A line at a time.
  markAt(t) {
    this.mark = t;
    for (const group of this.groups) {
      group.plot.redraw(false);
      if (!(group.plot.cursor.left >= 0)) this.#tell(group, lastBefore(group.plot.data[0], t));
    }
  }

  redraw() { for (const { plot } of this.groups) plot.redraw(false); }

  destroy() {
    this.sizes.disconnect();
    for (const { plot } of this.groups) plot.destroy();
    this.parent.replaceChildren();
    this.groups = [];
  }

  #group(unit, names) {
    const box = element("div", { class: "plot" }), legend = element("div", { class: "plot-legend" });
    box.append(legend);
    this.parent.append(box);
    // A signal has the same colour in every run; those of the first run stand in the legend.
    const plain = [...new Set(names.map(plainName))], inkOf = (i) => INKS[plain.indexOf(plainName(names[i])) % INKS.length];
    const values = names.map((name, i) => {
      const swatch = element("i"), value = element("b");
      swatch.style.borderColor = inkOf(i);
      if (dashOf(name).length) swatch.className = "dashed";
      if (name === plainName(name) || isDifference(name)) legend.append(element("span", { title: name }, swatch, `${shortName(plainName(name), unit.replace("Δ ", ""))} `, value));
      return value;
    });
    if (unit !== "1") legend.prepend(element("span", { class: "unit" }, unit));
    const line = (i) => ({ stroke: inkOf(i), width: 1.5, dash: dashOf(names[i]), points: { show: false }, spanGaps: false });
    const lines = names.map((_, i) => line(i));
    const least = this.bands ? names.map((_, i) => line(i)) : [];
    const axis = { stroke: () => css("--soft"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), size: 4 }, font: FONT };
    const group = { names, box, legend, values };
    const options = {
      width: 300, height: 120, legend: { show: false }, scales: { x: { time: false }, y: { range: aroundValues } }, padding: [6, 12, 0, 0],
      axes: [{ ...axis, size: 24, space: 60 }, { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => digits(tick, 5)) }],
      series: [{}, ...lines, ...least],
      bands: least.map((_, i) => ({ series: [i + 1, names.length + i + 1], fill: `${inkOf(i)}55` })),
      cursor: { sync: { key: uPlot.sync(this.parent.id).key }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      hooks: {
        setSelect: [(plot) => this.#select(plot)],
        setCursor: [(plot) => this.#tell(group, plot.cursor.idx ?? lastBefore(plot.data[0], this.mark ?? plot.scales.x.max))],
        draw: [(plot) => this.#drawMark(plot)],
      },
    };
    group.plot = new uPlot(options, [[], ...lines.map(() => []), ...least.map(() => [])], box);
    group.plot.over.addEventListener("dblclick", () => this.whole());
    group.plot.over.addEventListener("click", () => { if (group.plot.cursor.left >= 0) this.clicked(group.plot.posToVal(group.plot.cursor.left, "x")); });
    for (const part of [box, legend]) this.sizes.observe(part); // a legend grows with its values
    return group;
  }

  // The values at a row stand in the legend.
  #tell({ plot, values, names }, row) {
    if (!plot) return;
    values.forEach((box, i) => {
      const high = plot.data[i + 1]?.[row], low = this.bands ? plot.data[names.length + i + 1]?.[row] : high;
      const [least, most] = [digits(low), digits(high)], text = least === most ? most : `${least} … ${most}`;
      if (box.textContent !== text) box.textContent = text;
    });
  }

  #select(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.zoomed(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }

  #drawMark(plot) {
    if (this.mark === null) return;
    const x = plot.valToPos(this.mark, "x", true), { left, top, width, height } = plot.bbox;
    if (x < left || x > left + width) return;
    Object.assign(plot.ctx, { strokeStyle: css("--ink"), lineWidth: devicePixelRatio });
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, top);
    plot.ctx.lineTo(x, top + height);
    plot.ctx.stroke();
  }

  #resize() {
    for (const { plot, box, legend } of this.groups) {
      const width = Math.max(120, box.clientWidth), height = Math.max(80, box.clientHeight - legend.offsetHeight);
      if (plot.width !== width || plot.height !== height) plot.setSize({ width, height });
    }
  }
}

// Also of a value that does not change.
const aroundValues = (_, low, high) => (low === high ? [low - (0.1 * Math.abs(low) || 1), high + (0.1 * Math.abs(high) || 1)] : uPlot.rangeNum(low, high, 0.1, true));
const plainName = (name) => name.replace(/ \(\w+\)$/, "");
const isDifference = (name) => name.endsWith(" (difference)");
const dashOf = (name) => DASHES[/ \((\w+)\)$/.exec(name)?.[1] ?? splitName(name)[0]] ?? [];

// `truth.base_x_m` becomes `truth base x`: the unit stands at the plot.
function shortName(name, unit) {
  const end = `_${(unit ?? "").replaceAll("/", "_").replaceAll("^", "").replaceAll(" ", "_").toLowerCase()}`;
  return (name.endsWith(end) ? name.slice(0, -end.length) : name).replace(".", " ").replaceAll("_", " ");
}

function lastBefore(t, end) {
  let i = t.length - 1;
  while (i > 0 && t[i] > end) i -= 1;
  return i;
}
