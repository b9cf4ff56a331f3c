// Logs: the list, a run over time with slider and playback, and a second run beside it.
import { sceneViews } from "./scene.js";
import { Plots, chooseSignals, usualSignals } from "./plots.js";

const $ = (id) => document.getElementById(id);
const FRAME_S = 1 / 30; // between two scenes of a playback
const AHEAD = 60; // scenes that are fetched at once
const SECOND = " (second)";

async function get(path, query) {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`);
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({ text: answer.statusText }))).text);
  return answer;
}

// Scenes in an answer: a head with facts, then the points of each.
async function scenesOf(answer) {
  const data = await answer.arrayBuffer(), length = new DataView(data).getUint32(0, true);
  const heads = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  let at = 4 + length;
  return heads.map((head) => {
    const points = new Float32Array(data.slice(at, at + head.points));
    at += head.points;
    return { ...head, points };
  });
}

export class Logs {
  constructor(say) {
    Object.assign(this, { say, logs: [], open: [], views: [], names: [], t: 0, playing: false, cache: new Map() });
    this.plots = new Plots($("log-plots"), { zoomed: (t0, t1) => this.#range(t0, t1), moved: () => {} });
    $("reload").onclick = () => this.list();
    $("log-fit").onclick = () => this.views.forEach((view) => view.fit());
    $("log-whole").onclick = () => this.#range(...this.open[0].t);
    $("log-choose").onclick = async () => { if (this.open.length) this.#choose(await chooseSignals(this.open[0].topics, this.names)); };
    $("slider").oninput = () => this.seek(Number($("slider").value));
    $("play").onclick = () => this.play(!this.playing);
  }

  async list() {
    this.logs = await (await get("/api/logs", {})).json();
    $("list").replaceChildren(...this.logs.map((log) => {
      const item = document.createElement("li"), name = document.createElement("span"), ended = document.createElement("span"), facts = document.createElement("span"), compare = document.createElement("button");
      item.tabIndex = 0; item.dataset.path = log.path; item.setAttribute("role", "option");
      name.className = "name"; name.textContent = log.name;
      ended.className = `ended ${log.ended}`; ended.textContent = log.ended.replaceAll("_", " "); ended.title = log.text;
      facts.className = "soft small";
      const errors = Object.entries(log.error).map(([unit, value]) => (unit === "m" ? `${(1e3 * value).toFixed(2)} mm` : unit === "rad" ? `${(1e3 * value).toFixed(2)} mrad` : ""));
      facts.textContent = [log.bed, log.when.slice(0, 16).replace("T", " "), log.seconds == null ? "" : `${log.seconds.toFixed(1)} s`, ...errors, ...log.changes].filter(Boolean).join(" · ");
      compare.textContent = "compare";
      compare.onclick = (event) => { event.stopPropagation(); this.add(log.path); };
      item.append(name, compare, facts, ended);
      item.onclick = (event) => (event.shiftKey ? this.add(log.path) : this.show(log.path));
      item.onkeydown = (event) => { if (event.key === "Enter") item.click(); };
      return item;
    }));
    this.#mark();
  }

  async show(path) {
    this.play(false);
    this.cache.clear();
    this.open = [await this.#head(path)];
    const { shapes, sides, t, bed, ticks, summary, damage, topics, events } = this.open[0];
    this.views = sceneViews($("log-views"), shapes, sides);
    $("log-name").textContent = path.split("/").at(-1);
    $("log-facts").textContent = [bed, `${ticks} ticks`, summary ? `${summary.ended}: ${summary.text ?? ""}` : "", damage ? `damaged: ${damage}` : ""].filter(Boolean).join(" · ");
    Object.assign($("slider"), { min: t[0], max: t[1], value: t[0] });
    $("log-events").replaceChildren(...events.map(({ t_s, level, name, text }) => {
      const item = document.createElement("li"), at = document.createElement("span"), what = document.createElement("b"), said = document.createElement("span");
      item.className = level; at.textContent = `${t_s.toFixed(2)} s`; what.textContent = name.replaceAll("_", " "); said.textContent = text;
      item.append(at, what, said);
      item.onclick = () => this.seek(t_s);
      return item;
    }));
    this.range = t;
    await this.#choose(this.names.length && this.names.every((name) => has(topics, name)) ? this.names : usualSignals(topics));
    await this.seek(t[0]);
    this.views.forEach((view) => view.fit());
    this.#mark();
  }

  // A second run beside the first.
  async add(path) {
    if (!this.open.length) { await this.show(path); return; }
    this.open = [this.open[0], await this.#head(path)];
    this.cache.clear();
    await this.#choose(this.names);
    await this.seek(this.t);
    this.#mark();
  }

  async seek(t) {
    if (!this.open.length) return;
    this.t = t;
    $("slider").value = t;
    $("log-time").textContent = `${t.toFixed(2)} s`;
    this.wanted = t;
    if (this.seeking) return;
    this.seeking = true;
    try {
      while (this.wanted !== null) {
        const at = this.wanted;
        this.wanted = null;
        const frames = await Promise.all(this.open.map(async (log) => (await scenesOf(await get("/api/log/scenes", { path: log.path, t0: at, t1: at, step: 1 })))[0]));
        this.shown = frames;
        this.views.forEach((view) => view.show(frames, false));
        this.plots.markAt(at);
      }
    } finally { this.seeking = false; }
  }

  async play(on) {
    this.playing = on;
    $("play").textContent = on ? "❚❚" : "▶";
    if (!on || !this.open.length) return;
    const end = this.open[0].t[1];
    let from = this.t >= end - 1e-6 ? this.open[0].t[0] : this.t, began = performance.now(), scenes = [];
    const speed = () => Number($("speed").value);
    let pace = speed();
    while (this.playing && this.open.length) {
      if (speed() !== pace) { from = this.t; began = performance.now(); pace = speed(); scenes = []; }
      const t = Math.min(end, from + (pace * (performance.now() - began)) / 1e3);
      if (!scenes.length || t > scenes[0].at(-1).t) {
        const step = FRAME_S * pace, more = await Promise.all(this.open.map(async (log) => scenesOf(await get("/api/log/scenes", { path: log.path, t0: t, t1: Math.min(end, t + AHEAD * step), step }))));
        scenes = more;
      }
      const frames = scenes.map((own) => own.findLast((scene) => scene.t <= t + 1e-9) ?? own[0]);
      this.t = t; this.shown = frames;
      $("slider").value = t; $("log-time").textContent = `${t.toFixed(2)} s`;
      this.views.forEach((view) => view.show(frames));
      this.plots.markAt(t);
      if (t >= end) { this.play(false); return; }
      await new Promise(requestAnimationFrame);
    }
  }

  async #head(path) {
    this.say(`opening ${path.split("/").at(-1)}`);
    const waiting = setInterval(async () => {
      const { part } = await (await get("/api/log/progress", { path })).json();
      if (part != null) this.say(`reading ${path.split("/").at(-1)}: ${Math.round(100 * part)} %`);
    }, 400);
    try { return { path, ...(await (await get("/api/log", { path })).json()) }; } finally { clearInterval(waiting); this.say(""); }
  }

  async #choose(names) {
    this.names = names;
    const second = this.open[1] ? names.filter((name) => has(this.open[1].topics, name)).map((name) => name + SECOND) : [];
    const topics = { ...this.open[0].topics };
    for (const name of second) {
      const [topic, key] = name.split(/\.(.*)/s);
      const unit = topics[topic].find(([each]) => each === key.replace(SECOND, ""))[1];
      topics[topic] = [...topics[topic], [key, unit]];
    }
    this.plots.choose([...names, ...second], topics, true);
    await this.#range(...this.range);
  }

  async #range(t0, t1) {
    this.range = [t0, t1];
    const pixels = Math.max(200, Math.round($("log-plots").clientWidth));
    const parts = await Promise.all(this.open.map(async (log) => {
      const names = this.names.filter((name) => has(log.topics, name));
      const data = new Float64Array(await (await get("/api/log/signals", { path: log.path, names: names.join(","), t0, t1, pixels })).arrayBuffer());
      const n = data.length / (1 + 2 * names.length), column = (i) => Array.from(data.subarray(i * n, (i + 1) * n), (v) => (Number.isNaN(v) ? null : v));
      return { t: column(0), values: Object.fromEntries(names.map((name, i) => [name, [column(1 + i), column(1 + names.length + i)]])) };
    }));
    const [first, second] = parts, values = { ...first.values };
    if (second) for (const [name, [least, greatest]] of Object.entries(second.values)) values[name + SECOND] = [onto(first.t, second.t, least), onto(first.t, second.t, greatest)];
    this.plots.show(first.t, values, [t0, t1]);
  }

  #mark() {
    for (const item of $("list").children) {
      item.setAttribute("aria-selected", item.dataset.path === this.open[0]?.path);
      item.classList.toggle("second", item.dataset.path === this.open[1]?.path);
    }
  }
}

const has = (topics, name) => { const [topic, key] = name.split(/\.(.*)/s); return (topics[topic] ?? []).some(([each]) => each === key); };

// Values of one run at the times of another: the last one before each.
function onto(times, t, values) {
  let i = 0;
  return times.map((at) => { while (i + 1 < t.length && t[i + 1] <= at + 1e-9) i += 1; return at < t[0] - 1e-9 || at > t.at(-1) + 1e-6 ? null : values[i]; });
}
