// A running loop: its scene, signals, events, health, gains, and its operation.
import { sceneViews } from "./scene.js";
import { Plots, chooseSignals, usualSignals } from "./plots.js";

const $ = (id) => document.getElementById(id);
const KEPT_S = 65; // of signals in the page
const ALIVE_MS = 500; // between two signs of life
const STALE_S = 0.5; // data older than that look old
const KEYS = { a: "arm", s: "start", r: "restart", h: "hold", f: "float", x: "stop", c: "reset" };
const FOR_ALL = ["hold", "stop", "emergency_stop"];
const STEPS = ["#5aa9e6", "#2fb08a", "#e6c229", "#f08a24", "#cc79a7", "#c8504f", "#7d8894", "#4a5460"];

export class Live {
  constructor() {
    this.socket = null; this.run = null; this.status = {}; this.possible = {}; this.number = 0; this.asked = new Map();
    this.views = []; this.paused = false; this.span = 20; this.names = []; this.topics = {}; this.t = []; this.values = {};
    this.gains = []; this.changes = []; this.frozen = null; this.delays = []; this.drawnFrames = 0;
    this.plots = new Plots($("plots"), { zoomed: (t0, t1) => { this.#pause(true); this.range = [t0, t1]; this.#plot(); } });
    $("fit").onclick = () => this.views.forEach((view) => { view.fit(); });
    this.#toggle("trail", (on) => this.views.forEach((view) => { view.showTrail = on; view.draw(); }));
    this.#toggle("ghost", (on) => this.views.forEach((view) => { view.showGhost = on; view.draw(); }));
    this.#toggle("magnify", (on) => this.views.forEach((view) => { view.magnify = on; view.draw(); }));
    $("pause").onclick = () => this.#pause(!this.paused);
    $("span").onchange = () => { this.span = Number($("span").value); this.#pause(false); };
    $("choose").onclick = async () => this.#choose(await chooseSignals(this.topics, this.names));
    $("filter").oninput = () => this.#filterEvents();
    $("control").onclick = () => this.#control();
    $("emergency").onclick = () => this.ask("emergency_stop");
    $("undo").onclick = (event) => { event.preventDefault(); this.#undo(); };
    $("ab").onclick = (event) => { event.preventDefault(); this.#swap(); };
    for (const button of document.querySelectorAll("[data-do]")) button.onclick = () => this.ask(button.dataset.do);
    setInterval(() => this.#alive(), ALIVE_MS);
    setInterval(() => this.#look(), 250);
  }

  connect(run) {
    this.disconnect();
    this.run = run; this.lost = false;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket?run=${run.pid}`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => (data instanceof ArrayBuffer ? this.#frame(data) : this.#hear(JSON.parse(data)));
    socket.onclose = () => { if (this.socket === socket) { this.socket = null; this.lost = true; this.#look(); } };
    this.socket = socket;
  }

  disconnect() {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.status = {}; this.names = []; this.t = []; this.values = {}; this.views = []; this.gains = []; this.changes = [];
    $("events").replaceChildren(); $("gains").replaceChildren(); $("health").replaceChildren(); $("views").replaceChildren();
    this.plots.destroy();
  }

  ask(what, more = {}) {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const number = ++this.number;
    this.asked.set(number, performance.now());
    this.#send({ kind: "ask", number, do: what, ...more });
    this.#answer(`${what.replaceAll("_", " ")}: asked`, "");
  }

  key(event) {
    if (event.key === "Escape" && !$("chooser").open) { event.preventDefault(); this.ask("emergency_stop"); return; }
    const name = KEYS[event.key.toLowerCase()];
    if (name && this.#allowed(name)) this.ask(name);
    if (event.key === " " && event.target === document.body) { event.preventDefault(); this.#pause(!this.paused); }
  }

  #send(message) { if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message)); }

  #hear(message) {
    const { kind } = message;
    if (kind === "hello") this.possible = message.possible;
    else if (kind === "run") this.#begin(message);
    else if (kind === "status") { this.status = message; this.statusAt = performance.now(); this.#look(); }
    else if (kind === "health") this.#health(message);
    else if (kind === "events") this.#events(message.events);
    else if (kind === "gains") this.#gains(message.gains);
    else if (kind === "answer") this.#answered(message);
    else if (kind === "refused") this.#answer(message.text, "refused");
  }

  #begin({ shapes, sides, topics }) {
    this.topics = topics;
    this.views = sceneViews($("views"), shapes, sides);
    const has = (test) => shapes.modules.some(test);
    const marks = [["robot", "--hull"], ["reference, dashed", "--ink"], ["path", "--blue"],
      ...(has((m) => m.jets.length) ? [["jet", "--orange"]] : []), ...(shapes.contacts.length ? [["contact", "--green"]] : [])];
    $("legend").replaceChildren(...marks.map(([name, ink]) => {
      const mark = document.createElement("span"), dot = document.createElement("i");
      dot.style.background = `var(${ink})`;
      mark.append(dot, name);
      return mark;
    }));
    this.#choose(usualSignals(topics));
  }

  #choose(names) {
    this.names = names; this.t = []; this.values = Object.fromEntries(names.map((name) => [name, []]));
    this.plots.choose(names, this.topics);
    this.#send({ kind: "signals", names });
  }

  #frame(data) {
    const length = new DataView(data).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    let at = 4 + length;
    const points = head.points ? new Float32Array(data.slice(at, at + head.points)) : new Float32Array();
    at += head.points;
    const t = new Float64Array(data, at, head.rows);
    at += 8 * head.rows;
    if (head.kind === "history") { this.t = []; for (const name of this.names) this.values[name] = []; }
    if (head.signals === this.names.length) {
      for (const value of t) this.t.push(value);
      this.names.forEach((name, i) => {
        const values = new Float32Array(data, at + 4 * i * head.rows, head.rows);
        for (const value of values) this.values[name].push(Number.isNaN(value) ? null : value);
      });
    }
    if (head.kind === "frame") {
      this.views.forEach((view) => view.show([{ ...head, points }]));
      if (!this.paused) this.#trim();
      requestAnimationFrame(() => { this.#plot(); this.drawnFrames += 1; this.drawnAt = performance.now(); this.drawnTick = t.at(-1); this.#send({ kind: "drawn" }); });
    } else this.#plot();
  }

  #trim() {
    const first = this.t.findIndex((t) => t >= this.t.at(-1) - KEPT_S);
    if (first > 2000) { this.t.splice(0, first); for (const name of this.names) this.values[name].splice(0, first); }
  }

  #plot() {
    if (!this.t.length || document.hidden) return;
    const last = this.t.at(-1);
    this.plots.show(this.t, this.values, this.paused ? this.range : [Math.max(this.t[0], last - this.span), last]);
  }

  #pause(on) {
    this.paused = on;
    if (on) this.range = [this.t.at(-1) - this.span, this.t.at(-1)];
    $("pause").setAttribute("aria-pressed", on);
    this.#plot();
  }

  #toggle(id, act) {
    $(id).onclick = () => {
      const on = $(id).getAttribute("aria-pressed") !== "true";
      $(id).setAttribute("aria-pressed", on);
      act(on);
    };
  }

  // Mode, buttons and the age of what is shown.
  #look() {
    const status = this.status, age = this.lost ? Infinity : (status.age_s ?? 0) + (performance.now() - (this.statusAt ?? performance.now())) / 1e3;
    const mode = !this.run ? "no run" : this.lost ? "lost" : status.mode ?? "starting";
    $("mode").textContent = mode; $("mode").dataset.mode = mode;
    $("time").textContent = status.t_s === undefined ? "" : `${status.t_s.toFixed(1)} s`;
    $("reason").textContent = status.cause || (status.reason && status.reason !== "passed" ? `guard: ${status.reason.replaceAll("_", " ")}` : "");
    const over = mode === "over";
    $("link").textContent = this.lost ? "console lost: reload the page" : !this.run || over ? "" : age > STALE_S + 0.5 ? `no data for ${age.toFixed(1)} s` : `live, ${status.pages ?? 1} page${status.pages > 1 ? "s" : ""}`;
    for (const button of document.querySelectorAll("[data-do]")) button.disabled = !this.#allowed(button.dataset.do);
    $("emergency").disabled = !this.#allowed("emergency_stop");
    const control = this.lost || over ? "" : status.control, button = $("control");
    button.textContent = { mine: status.asked_by ? "pass control on" : "in control – release", other: "ask for control", free: "take control", look: "only to look", "no operator": "no operator" }[control] ?? "no run";
    button.disabled = !["mine", "other", "free"].includes(control);
    button.setAttribute("aria-pressed", control === "mine");
    $("visible").hidden = control !== "mine";
    for (const input of document.querySelectorAll(".gain input, .gain button")) input.disabled = control !== "mine";
    $("undo").disabled = control !== "mine" || !this.changes.length;
    $("ab").disabled = control !== "mine" || (!this.changes.length && !this.frozen);
  }

  #allowed(name) {
    const { mode, control } = this.status;
    if (this.lost || this.socket?.readyState !== WebSocket.OPEN || !["mine", "other", "free"].includes(control)) return false;
    if (name === "emergency_stop") return mode !== "over" && mode !== "stopped";
    return (this.possible[mode] ?? []).includes(name) && (control === "mine" || FOR_ALL.includes(name));
  }

  #control() {
    const { control, asked_by } = this.status;
    if (control === "mine") this.#send({ kind: "control", what: asked_by ? "pass_on" : "release" });
    else if (control === "other") {
      // Asked twice: taken over, whether the other page agrees or not.
      this.#send({ kind: "control", what: this.askedControl && performance.now() - this.askedControl < 10000 ? "take_over" : "take" });
      this.#answer("asked the page in control; press again within 10 s to take over", "");
      this.askedControl = performance.now();
    } else this.#send({ kind: "control", what: "take" });
  }

  // A sign of life, only while the page is visible: a hidden page is no operator.
  #alive() { if (this.status.control === "mine" && !document.hidden) this.#send({ kind: "alive" }); }

  #answered({ number, do: what, ok, text, took_ms }) {
    const page = performance.now() - (this.asked.get(number) ?? performance.now());
    this.asked.delete(number);
    const name = what.replaceAll("_", " ");
    this.lastAnswer = { what, ok, page };
    this.#answer(ok ? `${name}: ${text} – confirmed in ${page.toFixed(0)} ms` : `${name} is ${text}`, ok ? "ok" : "refused");
  }

  #answer(text, kind) { $("answer").textContent = text; $("answer").className = `answer ${kind}`; }

  #events(events) {
    const list = $("events");
    for (const { t_s, level, name, text } of events) {
      const item = document.createElement("li"), at = document.createElement("span"), what = document.createElement("b"), said = document.createElement("span");
      item.className = level; at.textContent = `${t_s.toFixed(2)} s`; what.textContent = name.replaceAll("_", " "); what.title = name; said.textContent = text;
      item.append(at, what, said);
      list.prepend(item);
    }
    while (list.childElementCount > 500) list.lastChild.remove();
    this.#filterEvents();
  }

  #filterEvents() {
    const words = $("filter").value.trim().toLowerCase();
    for (const item of $("events").children) item.hidden = !item.textContent.toLowerCase().includes(words) && !item.className.includes(words || "\0");
  }

  #health({ devices, steps, tick_us, late_us, overruns, lost, tanks, period_us }) {
    const rows = devices.map(({ name, status, age_ms, frames }) => `<tr><td><span class="dot ${status === "ok" ? "" : "bad"}"></span>${name.replaceAll("_", " ")}</td><td>${status}</td><td class="right">${age_ms === null ? "–" : `${age_ms.toFixed(0)} ms`}</td><td class="right">${frames}</td></tr>`);
    const whole = Object.values(steps).reduce((sum, part) => sum + part, 0) || 1;
    const box = document.createElement("div");
    // Names of devices are words of lower case by the rules of the testbed: nothing here needs escaping.
    box.innerHTML = `<table><thead><tr><th>device</th><th>status</th><th class="right">age</th><th class="right">frames</th></tr></thead><tbody>${rows.join("")}</tbody></table>
      <div class="fact"><span class="soft">tick: median, 99 %</span><b>${tick_us[0].toFixed(0)}, ${tick_us[1].toFixed(0)} µs of ${period_us.toFixed(0)}</b></div><div class="bar"></div>
      <div class="fact"><span class="soft">late: median, 99 %</span><b>${late_us[0].toFixed(0)}, ${late_us[1].toFixed(0)} µs</b></div>
      <div class="fact"><span class="soft">overruns, lost rows</span><b>${overruns}, ${lost}</b></div>
      ${Object.entries(tanks).map(([name, left]) => `<div class="fact"><span class="soft">tank, ${name.replaceAll("_", " ")}</span><b>${left ?? "–"} N s</b></div>`).join("")}`;
    const bar = box.querySelector(".bar");
    Object.entries(steps).forEach(([name, part], i) => {
      const piece = document.createElement("span");
      piece.style.width = `${(100 * part) / whole}%`; piece.style.background = STEPS[i % STEPS.length]; piece.title = `${name}: ${part} µs`;
      bar.append(piece);
    });
    $("health").replaceChildren(...box.childNodes);
  }

  #gains(gains) {
    this.gains = gains;
    $("gains").replaceChildren(...gains.map((gain) => {
      const box = document.createElement("div"), row = document.createElement("div"), name = document.createElement("span");
      const value = document.createElement("span"), slider = document.createElement("input");
      box.className = "gain"; row.className = "row"; name.className = "name"; value.className = "value";
      name.textContent = `${gain.name.replaceAll("_", " ")} `; name.title = gain.meaning;
      const unit = document.createElement("span");
      unit.className = "soft"; unit.textContent = gain.unit;
      name.append(unit);
      value.textContent = gain.value.toPrecision(3); value.classList.toggle("changed", this.changes.some((change) => change.gain === gain.name));
      Object.assign(slider, { type: "range", min: gain.lower, max: gain.upper, step: "any", value: gain.value });
      slider.setAttribute("aria-label", gain.name);
      slider.oninput = () => { value.textContent = Number(slider.value).toPrecision(3); };
      slider.onchange = () => this.#set(gain, Number(slider.value));
      const step = (sign, text) => {
        const button = document.createElement("button");
        button.textContent = text; button.setAttribute("aria-label", `${text} ${gain.name}`);
        button.onclick = () => this.#set(gain, Math.min(gain.upper, Math.max(gain.lower, gain.value * 1.05 ** sign)));
        return button;
      };
      row.append(name, step(-1, "−"), value, step(1, "+"));
      box.append(row, slider);
      return box;
    }));
    this.#look();
  }

  #set(gain, value) {
    if (value === gain.value) return;
    this.changes.push({ gain: gain.name, before: gain.value, after: value });
    this.ask("set_gain", { gain: gain.name, value });
  }

  #undo() {
    const last = this.changes.pop();
    if (last) this.ask("set_gain", { gain: last.gain, value: last.before });
  }

  // A/B: all gains as they were at the start, and back.
  #swap() {
    const now = Object.fromEntries(this.gains.map(({ name, value }) => [name, value]));
    const first = {};
    for (const { gain, before } of this.changes) first[gain] ??= before;
    const wanted = this.frozen ?? first;
    this.frozen = this.frozen ? null : Object.fromEntries(Object.keys(first).map((name) => [name, now[name]]));
    for (const [gain, value] of Object.entries(wanted)) if (value !== now[gain]) this.ask("set_gain", { gain, value });
  }
}
