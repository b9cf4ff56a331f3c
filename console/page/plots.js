// Plots of signals over time, one for each unit, with one cursor: uPlot.
import uPlot from "./vendor/uPlot.esm.js";

const INKS = ["#5aa9e6", "#e69f26", "#2fa57a", "#cc79a7", "#d55e00", "#8f7ee7", "#b8a01f", "#56b4e9"];
const DASHES = [[], [7, 4], [2, 3]];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Signals that a person wants to see first: where the robot is and should be, and what its motors do.
export function usualSignals(topics) {
  const own = topics.truth?.some(([key]) => key !== "t_s") ? "truth" : "state", all = topics.reference ?? [];
  const keys = all.filter(([key, unit]) => ["m", "rad"].includes(unit)).map(([key]) => key);
  const where = keys.filter((key) => (topics[own] ?? []).some(([name]) => name === key)).slice(0, 3);
  const motors = (topics.applied ?? []).filter(([, unit]) => unit === "N m").slice(0, 3).map(([key]) => `applied.${key}`);
  return [...where.flatMap((key) => [`${own}.${key}`, `reference.${key}`]), ...motors];
}

export const unitOf = (topics, name) => {
  const [topic, key] = name.split(/\.(.*)/s);
  return (topics[topic] ?? []).find(([each]) => each === key)?.[1];
};

const shown = (unit) => (unit === "1" ? "" : ` [${unit}]`);
// `truth.base_x_m` becomes `truth base x`: the unit stands at the axis.
const shortName = (name, unit) => {
  const end = `_${(unit ?? "").replaceAll("/", "_").replaceAll("^", "").replaceAll(" ", "_").toLowerCase()}`;
  const [own, second] = name.split(/(?= \(second\)$)/);
  return (own.endsWith(end) ? own.slice(0, -end.length) : own).replace(".", " ").replaceAll("_", " ") + (second ?? "");
};

export class Plots {
  // `zoomed(t0, t1)` is called when a time was chosen by dragging; `moved(t)` when the cursor moves.
  constructor(parent, { zoomed = () => {}, moved = () => {} } = {}) {
    Object.assign(this, { parent, zoomed, moved });
    this.groups = []; this.names = [];
    this.sizes = new ResizeObserver(() => this.#resize());
  }

  // Signals by name; `bands`: least and greatest values are given, not values.
  choose(names, topics, bands = false) {
    this.destroy();
    this.names = names; this.bands = bands;
    const units = [...new Set(names.map((name) => unitOf(topics, name)))];
    const sync = uPlot.sync(this.parent.id);
    this.groups = units.map((unit) => {
      const own = names.filter((name) => unitOf(topics, name) === unit);
      const box = document.createElement("div");
      box.className = "plot";
      this.parent.append(box);
      this.sizes.observe(box);
      const series = own.map((name, i) => ({
        label: shortName(name, unit), stroke: INKS[i % INKS.length], width: 1.4, dash: DASHES[Math.floor(i / INKS.length) % 3],
        points: { show: false }, spanGaps: false,
        value: (_, value) => (value == null ? "–" : Math.abs(value) >= 1e-3 || value === 0 ? value.toPrecision(4) : value.toExponential(2)),
      }));
      const more = bands ? own.map((name, i) => ({ label: `${name} least`, stroke: INKS[i % INKS.length], width: 1.4, points: { show: false }, class: "least" })) : [];
      const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, font: "11px system-ui" };
      const options = {
        width: Math.max(120, box.clientWidth), height: Math.max(100, box.clientHeight - 26), scales: { x: { time: false } },
        axes: [{ ...axis, size: 28, values: (_, ticks) => ticks.map((t) => `${t}`) },
          { ...axis, size: 58, label: shown(unit).trim(), labelSize: 14, labelFont: "11px system-ui" }],
        series: [{ label: "t", value: (_, t) => (t == null ? "–" : `${t.toFixed(3)} s`) }, ...series, ...more],
        bands: bands ? own.map((name, i) => ({ series: [i + 1, own.length + i + 1], fill: `${INKS[i % INKS.length]}55` })) : [],
        cursor: { sync: { key: sync.key }, drag: { x: true, y: false, setScale: false }, focus: { prox: 24 } },
        hooks: {
          setSelect: [(plot) => {
            if (plot.select.width < 4) return;
            const at = (px) => plot.posToVal(px, "x");
            this.zoomed(at(plot.select.left), at(plot.select.left + plot.select.width));
            plot.setSelect({ width: 0, height: 0 }, false);
          }],
          draw: [(plot) => {
            if (this.mark == null) return;
            const x = plot.valToPos(this.mark, "x", true), { left, top, width, height } = plot.bbox;
            if (x < left || x > left + width) return;
            plot.ctx.strokeStyle = css("--soft");
            plot.ctx.lineWidth = devicePixelRatio;
            plot.ctx.beginPath(); plot.ctx.moveTo(x, top); plot.ctx.lineTo(x, top + height); plot.ctx.stroke();
          }],
          setCursor: [(plot) => { if (plot.cursor.left >= 0 && plot.cursor.event) this.moved(plot.posToVal(plot.cursor.left, "x")); }],
        },
      };
      const plot = new uPlot(options, [[], ...series.map(() => []), ...more.map(() => [])], box);
      for (const label of box.querySelectorAll(".u-series.least")) label.hidden = true;
      return { own, plot, box };
    });
    this.#resize();
  }

  // Times, and by name either values or [least, greatest]; `range` is the time that is shown.
  show(t, values, range) {
    for (const { own, plot } of this.groups) {
      const upper = own.map((name) => (this.bands ? values[name][1] : values[name]));
      const lower = this.bands ? own.map((name) => values[name][0]) : [];
      plot.batch(() => {
        plot.setData([t, ...upper, ...lower], false);
        plot.setScale("x", { min: range[0], max: range[1] });
      });
      // Without a cursor the legend has the last values.
      if (plot.cursor.left === undefined || plot.cursor.left < 0) plot.setLegend({ idx: lastBefore(t, range[1]) }, false);
    }
  }

  // A line at a time.
  markAt(t) {
    this.mark = t;
    for (const { plot } of this.groups) plot.redraw(false);
  }

  destroy() {
    for (const { plot, box } of this.groups) { this.sizes.unobserve(box); plot.destroy(); box.remove(); }
    this.groups = [];
  }

  #resize() {
    for (const { plot, box } of this.groups) {
      const legend = box.querySelector(".u-legend")?.offsetHeight ?? 24;
      const width = Math.max(120, box.clientWidth), height = Math.max(90, box.clientHeight - legend - 2);
      if (plot.width !== width || plot.height !== height) plot.setSize({ width, height });
    }
  }
}

function lastBefore(t, end) {
  let i = t.length - 1;
  while (i > 0 && t[i] > end) i -= 1;
  return i;
}

// A dialog in which signals are ticked; resolves to the names.
export function chooseSignals(topics, names) {
  const dialog = document.getElementById("chooser"), list = document.getElementById("signals"), search = document.getElementById("search");
  const chosen = new Set(names);
  list.replaceChildren(...Object.entries(topics).map(([topic, values]) => {
    const set = document.createElement("fieldset");
    set.innerHTML = "<legend></legend>";
    set.firstChild.textContent = topic;
    for (const [key, unit] of values) {
      const label = document.createElement("label"), box = document.createElement("input"), name = `${topic}.${key}`;
      box.type = "checkbox"; box.checked = chosen.has(name); box.dataset.name = name;
      box.addEventListener("change", () => (box.checked ? chosen.add(name) : chosen.delete(name)));
      label.append(box, `${key}`);
      label.title = `${name}${shown(unit)}`;
      set.append(label);
    }
    return set;
  }));
  search.value = "";
  search.oninput = () => {
    for (const label of list.querySelectorAll("label")) label.hidden = !label.title.includes(search.value.trim());
    for (const set of list.querySelectorAll("fieldset")) set.hidden = !set.querySelector("label:not([hidden])");
  };
  dialog.showModal();
  return new Promise((resolve) => {
    const done = () => { dialog.removeEventListener("close", done); resolve([...chosen]); };
    dialog.addEventListener("close", done);
    document.getElementById("chosen").onclick = () => dialog.close();
  });
}
