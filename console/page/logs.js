// Logs over time: slider, playback at 0.1 to 16 times, signals with zoom, and other runs beside the first.
import { $, element, get, words } from "./dom.js";
import { EventList } from "./events.js";
import { LogList } from "./log_list.js";
import { LogTools } from "./log_tools.js";
import { Plots } from "./plots.js";
import { sceneLegend, sceneViews } from "./scene.js";
import { chooseSignals, hasSignal, usualSignals } from "./signal_names.js";

const FRAME_S = 1 / 30; // between two scenes of a playback
const AHEAD = 60; // scenes that are fetched at once
const MOST = 4; // runs side by side
const NAMES = ["", " (second)", " (third)", " (fourth)"], DIFFERENCE = " (difference)";

export class Logs {
  constructor(say) {
    Object.assign(this, { say, open: [], views: [], names: [], t: 0, isPlaying: false, withDifference: false, asked: 0 });
    const failed = (error) => say(error.message);
    this.shelf = new LogList({ open: (path) => this.show(path).catch(failed), add: (path) => this.add(path).catch(failed), say });
    this.tools = new LogTools(() => this.open[0].path);
    this.events = new EventList($("log-events"), $("log-filter"), $("log-levels"), { newestFirst: false, clicked: (t) => this.seek(t) });
    this.plots = new Plots($("log-plots"), {
      zoomed: (t0, t1) => this.range(t0, t1), whole: () => this.range(...this.open[0].t), clicked: (t) => this.seek(t),
    });
    $("log-fit").onclick = () => this.views.forEach((view) => view.fit());
    $("log-whole").onclick = () => { if (this.open.length) this.range(...this.open[0].t); };
    $("log-choose").onclick = async () => { if (this.open.length) this.choose(await chooseSignals(this.open[0].topics, this.names)); };
    $("log-difference").onclick = () => this.showDifference(!this.withDifference);
    $("slider").oninput = () => this.seek(Number($("slider").value));
    $("play").onclick = () => this.play(!this.isPlaying);
    this.#enable(false);
  }

  list() { return this.shelf.load(); }

  #enable(isOn) {
    this.tools.enable(isOn);
    for (const id of ["play", "slider", "log-whole", "log-choose", "log-fit"]) $(id).disabled = !isOn;
  }

  async show(path) {
    this.play(false);
    const log = await this.#head(path), { shapes, sides, t, topics, events } = log;
    this.open = [log];
    this.views = sceneViews($("log-views"), shapes, sides);
    this.views.forEach((view) => view.setPath(log.path_points));
    $("log-legend").replaceChildren(...sceneLegend(shapes, {}));
    $("log-name").textContent = log.name;
    this.events.clear();
    this.events.add(events);
    Object.assign($("slider"), { min: t[0], max: t[1], value: t[0] });
    this.shown = t;
    this.#enable(true);
    $("log-result").replaceChildren();
    $("log-compare").replaceChildren();
    const names = this.names.length && this.names.every((name) => hasSignal(topics, name)) ? this.names : usualSignals(topics);
    await Promise.all([this.choose(names), this.seek(t[0])]);
    this.views.forEach((view) => view.fit());
    this.#facts();
  }

  // Another run beside the first; asked again, without it.
  async add(path) {
    if (!this.open.length || this.open[0].path === path) { await this.show(path); return; }
    const isOpen = this.open.some((log) => log.path === path);
    if (isOpen) this.open = this.open.filter((log) => log.path !== path);
    else this.open = [...this.open.slice(0, MOST - 1), await this.#head(path)];
    await Promise.all([this.choose(this.names), this.seek(this.t)]);
    this.#facts();
    await this.#compare();
  }

  async showDifference(on) {
    this.withDifference = on;
    $("log-difference").setAttribute("aria-pressed", on);
    if (this.open.length) await this.choose(this.names);
  }

  choose(names) {
    this.names = names;
    const topics = Object.fromEntries(Object.entries(this.open[0].topics).map(([topic, keys]) => [topic, [...keys]]));
    this.drawn = this.open.flatMap((log, i) => names.filter((name) => hasSignal(log.topics, name)).map((name) => name + NAMES[i]));
    if (this.#hasDifference) this.drawn.push(...this.#shared().map((name) => name + DIFFERENCE));
    this.plots.choose(this.drawn, topics, true);
    return this.range(...this.shown);
  }

  get #hasDifference() { return this.withDifference && this.open.length > 1; }

  #shared() { return this.names.filter((name) => hasSignal(this.open[1].topics, name)); }

  // The time that the plots show.
  async range(t0, t1) {
    this.shown = [t0, t1];
    const asked = ++this.asked, pixels = Math.max(200, Math.round($("log-plots").clientWidth));
    const parts = this.open.map(async (log, i) => {
      const names = this.names.filter((name) => hasSignal(log.topics, name));
      return columnsOf(await get("/api/log/signals", { path: log.path, names: names.join(), t0, t1, pixels }), names.map((name) => name + NAMES[i]));
    });
    if (this.#hasDifference) {
      const names = this.#shared(), query = { path: this.open[0].path, other: this.open[1].path, names: names.join(), t0, t1, pixels };
      parts.push(get("/api/log/difference", query).then((answer) => columnsOf(answer, names.map((name) => name + DIFFERENCE))));
    }
    const all = await Promise.all(parts);
    if (asked !== this.asked) return; // another time was asked for since
    const { t } = all[0], values = {};
    for (const part of all) for (const [name, bands] of Object.entries(part.values)) values[name] = part === all[0] ? bands : bands.map((band) => onto(t, part.t, band));
    this.signals = { t, values };
    this.plots.show(t, values, [t0, t1]);
  }

  // The scene at a time; while one is under way, only the newest that was asked for follows it.
  async seek(t) {
    if (!this.open.length) return;
    this.#at(t);
    this.wanted = t;
    if (this.isSeeking) return;
    this.isSeeking = true;
    try {
      while (this.wanted !== null) {
        const at = this.wanted;
        this.wanted = null;
        const frames = await Promise.all(this.open.map(async (log) => (await scenesOf(log, at, at, 1))[0]));
        this.frames = frames;
        this.views.forEach((view) => view.show(frames, false));
        this.plots.markAt(at);
      }
    } finally { this.isSeeking = false; }
  }

  #at(t) {
    this.t = t;
    $("slider").value = t;
    $("log-time").textContent = `${t.toFixed(2)} s`;
  }

  async play(on) {
    this.isPlaying = on;
    $("play").textContent = on ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", on ? "pause" : "play");
    if (!on || !this.open.length) return;
    const [begin, end] = this.open[0].t, speed = () => Number($("speed").value);
    let from = this.t >= end - 1e-6 ? begin : this.t, began = performance.now(), pace = speed(), scenes = [], next = null;
    const fetchFrom = (t) => Promise.all(this.open.map((log) => scenesOf(log, t, Math.min(end, t + AHEAD * FRAME_S * pace), FRAME_S * pace)));
    while (this.isPlaying) {
      if (speed() !== pace) { from = this.t; began = performance.now(); pace = speed(); scenes = []; next = null; }
      const t = Math.min(end, from + (pace * (performance.now() - began)) / 1e3), last = scenes[0]?.at(-1).t ?? -Infinity;
      if (t > last) { scenes = await (next ?? fetchFrom(t)); next = null; }
      else if (!next && last < end - 1e-6 && t > last - (AHEAD / 2) * FRAME_S * pace) next = fetchFrom(last);
      if (!this.isPlaying) return;
      this.frames = scenes.map((own) => own.findLast((scene) => scene.t <= t + 1e-9) ?? own[0]);
      this.#at(t);
      this.views.forEach((view) => view.show(this.frames, false));
      this.plots.markAt(t);
      if (t >= end) { this.play(false); return; }
      await new Promise(requestAnimationFrame);
    }
  }

  async #head(path) {
    const name = path.split("/").at(-1);
    this.say(`opening ${name}`);
    const waiting = setInterval(async () => {
      const { part } = await (await get("/api/log/progress")).json();
      if (part !== null) this.say(`reading ${name}: ${Math.round(100 * part)} %`);
    }, 400);
    try {
      const { path: points, ...head } = await (await get("/api/log", { path })).json();
      return { name, path, path_points: points, ...head };
    } finally { clearInterval(waiting); this.say(""); }
  }

  #facts() {
    const [{ bed, ticks, summary, damage }] = this.open;
    const ended = summary ? `${words(summary.ended)}: ${summary.text ?? ""}` : "unfinished";
    $("log-facts").textContent = [bed, `${ticks} ticks`, ended, damage ? `${summary ? "damaged" : "ends with"}: ${damage}` : ""].filter(Boolean).join(" · ");
    $("log-difference").disabled = this.open.length < 2;
    this.shelf.mark(this.open.map((log) => log.path));
  }

  // What granite compare says of the open logs.
  async #compare() {
    if (this.open.length < 2) { $("log-compare").replaceChildren(); return; }
    const query = this.open.map(({ path }) => ["path", path]);
    const { runs, differences } = await (await get("/api/log/compare", query)).json(), letters = Object.keys(runs);
    const row = (name, cells) => element("tr", {}, element("th", {}, name), ...cells.map((cell) => element("td", { class: "right" }, cell)));
    const errors = [...new Set(letters.flatMap((letter) => Object.keys(runs[letter].tracking_error ?? {})))];
    const errorOf = (letter, name) => { const error = runs[letter].tracking_error?.[name]; return error ? `${(1e3 * error.max_in_last_5_s).toPrecision(3)} m${error.unit}` : "–"; };
    $("log-compare").replaceChildren(element("table", {},
      element("thead", {}, row("", letters.map((letter) => runs[letter].log.split("/").at(-1)))),
      element("tbody", {}, row("ended", letters.map((letter) => words(runs[letter].ended))),
        ...errors.map((name) => row(`error, ${words(name)}, last 5 s`, letters.map((letter) => errorOf(letter, name)))),
        ...Object.entries(differences).map(([key, values]) => row(key, letters.map((letter) => (letter in values ? JSON.stringify(values[letter]) : "–")))))));
  }
}

// Scenes of a log in a time: a head with facts, then the points of each.
async function scenesOf({ path }, t0, t1, step) {
  const data = await (await get("/api/log/scenes", { path, t0, t1, step })).arrayBuffer(), length = new DataView(data).getUint32(0, true);
  let at = 4 + length;
  return JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))).map((head) => {
    const points = new Float32Array(data.slice(at, at + head.points));
    at += head.points;
    return { ...head, points };
  });
}

// An answer with times, least and greatest values of each name.
async function columnsOf(answer, names) {
  const data = new Float64Array(await answer.arrayBuffer()), n = data.length / (1 + 2 * names.length);
  const column = (i) => Array.from(data.subarray(i * n, (i + 1) * n), (value) => (Number.isNaN(value) ? null : value));
  return { t: column(0), values: Object.fromEntries(names.map((name, i) => [name, [column(1 + i), column(1 + names.length + i)]])) };
}

// Values of one run at the times of another: the last one before each.
function onto(times, t, values) {
  let i = 0;
  return times.map((at) => {
    while (i + 1 < t.length && t[i + 1] <= at + 1e-9) i += 1;
    return !t.length || at < t[0] - 1e-9 || at > t.at(-1) + 1e-6 ? null : values[i];
  });
}
