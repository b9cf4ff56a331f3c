// A running loop: the connection to it, its frames, scene and signals.
import { $, element, toggle } from "./dom.js";
import { EventList } from "./events.js";
import { Gains } from "./gains.js";
import { Goals } from "./goals.js";
import { showHealth } from "./health.js";
import { Operate } from "./operate.js";
import { Plots } from "./plots.js";
import { sceneLegend, sceneViews } from "./scene.js";
import { chooseSignals, usualSignals } from "./signal_names.js";

const KEPT_S = 65; // of signals in the page
const STALE_S = 1; // data older than that look old
const DELAYS = 4000; // last frames of which the delay is kept

export class Live {
  // `ended(log)`: the run is over, and its log is there.
  constructor({ ended = () => {} } = {}) {
    Object.assign(this, { ended, socket: null, run: null, isLost: false, status: {}, views: [], isPaused: false, span: 20 });
    Object.assign(this, { topics: {}, names: [], t: [], values: {}, delays: [], drawnFrames: 0, receivedBytes: 0 });
    this.operate = new Operate((message) => this.#send(message));
    this.goals = new Goals({ ask: (what, more) => this.operate.ask(what, more), preview: (number, goal) => this.#send({ kind: "preview", number, goal }) });
    this.gains = new Gains(async (gain, value) => (await this.operate.ask("set_gain", { gain, value })).ok);
    this.events = new EventList($("events"), $("filter"), $("levels"));
    this.plots = new Plots($("plots"), { zoomed: (t0, t1) => this.pause(true, [t0, t1]), whole: () => this.pause(false) });
    $("fit").onclick = () => this.views.forEach((view) => view.fit());
    $("clear").onclick = () => this.views.forEach((view) => view.clear());
    for (const part of ["trail", "reference", "vision"]) toggle($(part), (on) => this.#setViews({ [part]: on }));
    $("magnify").onchange = () => this.#setViews({ magnify: Number($("magnify").value) });
    $("pause").onclick = () => this.pause(!this.isPaused);
    $("span").onchange = () => { this.span = Number($("span").value); this.pause(false); };
    $("choose").onclick = async () => this.choose(await chooseSignals(this.topics, this.names));
    setInterval(() => this.#look(), 250);
  }

  connect(run) {
    const isSame = this.run?.pid === run.pid;
    if (!isSame) this.#forget();
    Object.assign(this, { run, isLost: false });
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/socket?run=${run.pid}`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => { if (this.socket === socket) this.#take(data); };
    socket.onclose = () => { if (this.socket === socket) this.#closed(); };
    this.socket?.close();
    this.socket = socket;
  }

  get isOver() { return this.status.mode === "over"; }

  choose(names) {
    Object.assign(this, { names, t: [], values: Object.fromEntries(names.map((name) => [name, []])) });
    this.plots.choose(names, this.topics);
    this.#send({ kind: "signals", names });
  }

  pause(on, range = null) {
    const last = this.t.at(-1) ?? 0;
    Object.assign(this, { isPaused: on, range: range ?? [last - this.span, last] });
    $("pause").setAttribute("aria-pressed", on);
    $("pause").textContent = on ? "go on" : "pause";
    this.plot();
  }

  plot() {
    if (!this.t.length || document.hidden) return;
    const last = this.t.at(-1);
    this.plots.show(this.t, this.values, this.isPaused ? this.range : [Math.max(this.t[0], last - this.span), last]);
  }

  #setViews(options) { this.options = { ...this.options, ...options }; this.views.forEach((view) => view.set(options)); }

  #send(message) { if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message)); }

  #forget() {
    Object.assign(this, { status: {}, names: [], t: [], values: {}, views: [], topics: {} });
    this.events.clear();
    this.gains.show([]);
    for (const id of ["health", "views", "legend"]) $(id).replaceChildren();
    $("steps").hidden = true;
    this.plots.destroy();
  }

  #closed() {
    this.socket = null;
    this.isLost = !this.isOver;
    this.#look();
  }

  #take(data) {
    if (data instanceof ArrayBuffer) { this.receivedBytes += data.byteLength; this.#frame(data); return; }
    this.receivedBytes += data.length;
    const message = JSON.parse(data), kinds = {
      hello: () => { this.operate.possible = message.possible; },
      run: () => this.#begin(message),
      plan: () => this.views.forEach((view) => view.setPlan(message.points)),
      status: () => this.#heard(message),
      health: () => { showHealth(message); },
      events: () => this.events.add(message.events),
      gains: () => this.gains.show(message.gains),
      goals: () => this.goals.show(message, this),
      preview: () => this.goals.previewed(message),
      answer: () => this.operate.answered(message),
      refused: () => this.operate.say(message.text, "refused"),
    };
    kinds[message.kind]?.();
  }

  #heard(status) {
    const wasOver = this.isOver;
    Object.assign(this, { status, statusAt: performance.now() });
    if (status.gains) this.gains.values(status.gains);
    this.#look();
    if (this.isOver && !wasOver) this.ended(this.run);
  }

  #begin({ shapes, sides, topics, has_vision, path }) {
    const isSame = JSON.stringify(topics) === JSON.stringify(this.topics);
    Object.assign(this, { topics, shapes });
    this.views = sceneViews($("views"), shapes, sides);
    for (const view of this.views) view.setPath(path);
    this.#setViews(this.options ?? {});
    $("vision").hidden = !has_vision;
    $("legend").replaceChildren(...sceneLegend(shapes, { plan: true, vision: has_vision }));
    this.choose(isSame ? this.names : usualSignals(topics));
  }

  #frame(data) {
    const length = new DataView(data).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    const at = 4 + length + head.points, points = new Float32Array(data.slice(4 + length, at));
    if (head.kind === "history") { this.t = []; for (const name of this.names) this.values[name] = []; }
    if (head.signals === this.names.length) this.#addRows(data, at, head.rows);
    if (head.kind !== "frame") { this.plot(); return; }
    this.views.forEach((view) => view.show([{ ...head, points }]));
    if (!this.isPaused) this.plot();
    // After the drawing, which a hidden page does not do: it gets no more frames.
    requestAnimationFrame(() => { this.#send({ kind: "drawn" }); this.drawnFrames += 1; this.#noteDelay(head.at_ms); });
  }

  #addRows(data, at, rows) {
    for (const t of new Float64Array(data, at, rows)) this.t.push(t);
    this.names.forEach((name, i) => {
      const values = new Float32Array(data, at + 8 * rows + 4 * i * rows, rows), kept = this.values[name];
      for (const value of values) kept.push(Number.isNaN(value) ? null : value);
    });
    const first = this.isPaused ? 0 : this.t.findIndex((t) => t >= this.t.at(-1) - KEPT_S);
    if (first > 2000) { this.t.splice(0, first); for (const name of this.names) this.values[name].splice(0, first); }
  }

  // From the end of the tick to the drawn frame, on one machine [ms].
  #noteDelay(atMs) {
    if (!atMs) return;
    this.delays.push(Date.now() - atMs);
    if (this.delays.length > DELAYS) this.delays.shift();
  }

  // Mode, buttons and the age of what is shown.
  #look() {
    const { status } = this, age = (status.age_s ?? 0) + (performance.now() - (this.statusAt ?? performance.now())) / 1e3;
    const mode = !this.run ? "no run" : this.isLost ? "lost" : status.mode ?? "starting";
    const isOld = Boolean(this.run) && !this.isOver && (this.isLost || age > STALE_S);
    $("mode").textContent = mode;
    $("mode").dataset.mode = isOld ? "lost" : mode;
    $("time").textContent = status.t_s === undefined ? "" : `${status.t_s.toFixed(1)} s`;
    const guard = status.reason && status.reason !== "passed" ? `guard: ${status.reason.replaceAll("_", " ")}` : "";
    $("reason").textContent = status.cause || guard;
    $("reason").title = $("reason").textContent;
    const pages = status.pages > 1 ? `${status.pages} pages` : "1 page";
    $("link").textContent = this.isLost ? "connection lost" : !this.run ? "" : this.isOver ? "the run is over" : isOld ? `no data for ${age.toFixed(1)} s` : `live, ${pages}`;
    $("live").classList.toggle("old", isOld);
    this.operate.look(status, !this.isLost && this.socket?.readyState === WebSocket.OPEN);
    this.gains.enable(this.operate.isMine && !this.isOver);
    this.goals.look(this.operate.isMine, status.mode, status.lease);
  }
}
