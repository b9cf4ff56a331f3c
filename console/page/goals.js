// Goals of a run: a target pose by click, drag and numbers with its path and refusal before it is sent, also a path that
// is planned around zones; jog by hand.
import { $, digits, element, words } from "./dom.js";
import { drawOutline } from "./scene_shapes.js";
import { Jog } from "./jog.js";

const GRAB_PX = 26; // a target or its heading is held within this distance
const HEADING_PX = 58; // from the target to the handle that turns it
const WAIT_MS = 120; // between two previews while the target is dragged

export class Goals {
  // `ask(do, fields)` sends a command, `preview(number, goal)` asks where a goal would lead.
  constructor({ ask, preview }) {
    Object.assign(this, { ask, preview, coordinates: [], target: {}, shown: null, number: 0, isPlacing: false, isMine: false });
    this.jog = new Jog((rates) => ask("jog", { rates }));
    $("goal-place").onclick = () => this.place(!this.isPlacing);
    $("goal-duration").onchange = () => { if (Object.keys(this.target).length) this.#set({}); };
    $("goal-here").onclick = () => this.#forget();
    $("goal-go").onclick = () => this.go();
    $("goal-plan").onclick = () => this.plan();
    $("lease-take").onclick = () => ask("lease", { action: "take" });
  }

  // What the behaviour takes: coordinates (key, name, unit, value), actions and the time of a jog.
  show({ coordinates = [], actions = [], jog_s = 0.3 }, live) {
    Object.assign(this, { coordinates, live, target: {} });
    $("goals-card").hidden = !coordinates.length && !actions.length;
    const keyOf = (end) => coordinates.find(({ key }) => key.endsWith(end))?.key;
    this.pose = { x: keyOf("_x_m"), y: keyOf("_y_m"), heading: keyOf("_heading_rad") };
    $("goal-place").hidden = !this.pose.x;
    $("goal-actions").replaceChildren(...actions.map((action) => element("button", { onclick: () => this.ask("act", { action }) }, action)));
    this.jog.show(coordinates, jog_s);
    this.#fields();
    for (const view of live.views) this.#attach(view);
  }

  // Buttons as control and mode allow; who else has the controls.
  look(isMine, mode, lease) {
    this.isMine = isMine && mode === "running";
    this.#enable();
    const other = lease && lease.holder !== "console" ? lease : null;
    $("lease").hidden = !other;
    if (other) $("lease-text").textContent = `'${other.holder}' has the controls since ${other.since_s.toFixed(0)} s`;
  }

  #enable() {
    $("goal-go").disabled = !this.isMine || !this.shown?.ok;
    $("goal-plan").disabled = !this.isMine || this.isPlanning || !Object.keys(this.target).length;
    for (const control of document.querySelectorAll("#goal-fields input, #goal-place, #goal-here, #goal-actions button, #jog button, #jog input")) control.disabled = !this.isMine;
    this.jog.enable(this.isMine);
  }

  place(on) {
    this.isPlacing = on;
    $("goal-place").setAttribute("aria-pressed", on);
    if (on) $("goals-card").open = true; // its answer stands inside
    if (on && !(this.pose.x in this.target)) this.#set(this.#now());
  }

  // By the path that is shown; where the loop refuses it, its sentence stands below.
  async go() {
    const { plan } = this.shown ?? {};
    const answer = await (plan ? this.ask("follow", { plan }) : this.ask("go", { target: this.target, ...this.#duration() }));
    if (answer.ok) this.#forget(); else if (answer.text) this.#judge({ ...this.shown, ok: false }, answer.text);
  }

  // A path with little propellant, around zones; it is drawn, and flown by go.
  async plan() {
    const number = ++this.number;
    clearTimeout(this.timer);
    this.isPlanning = true;
    this.#judge({ ok: false, isWaiting: true }, "a path is being planned, for seconds");
    const { ok, text, duration_s, impulse_n_s, plan, path, points } = await this.ask("plan", { target: this.target, ...this.#duration() });
    this.isPlanning = false;
    if (number === this.number) this.#judge({ ok, plan, path, points }, ok ? `planned: ${duration_s.toFixed(1)} s, ${impulse_n_s.toFixed(1)} N s` : text);
  }

  #duration() {
    const seconds = Number($("goal-duration").value.replace(",", "."));
    return seconds > 0 ? { duration_s: seconds } : {};
  }

  // The answer to a preview: only the newest counts.
  previewed({ number, ok, text, duration_s, path, points }) {
    if (number === this.number) this.#judge({ ok, path, points }, ok ? `possible in ${duration_s.toFixed(1)} s` : text);
  }

  #judge(shown, text) {
    this.shown = shown;
    $("goal-answer").textContent = text;
    $("goal-answer").className = `answer ${shown.isWaiting ? "" : shown.ok ? "ok" : "refused"}`;
    this.#enable();
    for (const view of this.live.views) view.draw();
  }

  #set(target) {
    this.target = { ...this.target, ...target };
    for (const input of $("goal-fields").querySelectorAll("input")) if (input.dataset.key in target && document.activeElement !== input) input.value = digits(target[input.dataset.key], 4);
    if (this.shown) Object.assign(this.shown, { ok: false, isWaiting: true });
    this.#enable();
    for (const view of this.live.views) view.draw();
    const number = ++this.number;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.preview(number, { target: this.target, ...this.#duration() }), WAIT_MS);
  }

  #forget() { this.target = {}; this.#fields(); this.#hide(); }

  #hide() {
    this.number += 1;
    clearTimeout(this.timer);
    this.shown = null;
    $("goal-answer").textContent = "";
    this.place(false);
    for (const view of this.live?.views ?? []) view.draw();
  }

  // Where the reference is: a pose to begin with.
  #now() {
    const at = (key) => this.live.values[`reference.${key}`]?.at(-1) ?? this.coordinates.find((c) => c.key === key)?.value ?? 0;
    return Object.fromEntries(Object.values(this.pose).filter(Boolean).map((key) => [key, at(key)]));
  }

  #fields() {
    $("goal-fields").replaceChildren(...this.coordinates.map(({ key, name, unit }) => {
      const input = element("input", { type: "text", inputMode: "decimal", "data-key": key, placeholder: "stay", "aria-label": `target of ${words(name)}` });
      input.onchange = () => {
        const value = Number(input.value.replace(",", "."));
        if (input.value.trim() === "" || !Number.isFinite(value)) { delete this.target[key]; input.value = ""; if (Object.keys(this.target).length) this.#set({}); else this.#hide(); } else this.#set({ [key]: value });
      };
      return element("label", {}, `${words(name)} [${unit}] `, input);
    }));
  }

  // The canvas: a click places the target, a drag moves it, the handle turns it.
  #attach(view) {
    if (view.axes[0] !== 0 || view.axes[1] !== 1 || !this.pose.x) return;
    view.grab = (at) => {
      if (!this.isMine || (!this.isPlacing && !(this.pose.x in this.target))) return null;
      const handle = this.#handle(view), centre = this.#centre(view), near = (point) => point && Math.hypot(point[0] - at[0], point[1] - at[1]) < GRAB_PX;
      if (near(handle) && this.pose.heading) return (now) => this.#turn(view, now);
      if (!near(centre) && !this.isPlacing) return null;
      this.#move(view, at);
      return (now) => this.#move(view, now);
    };
    view.overlays = [(pen, ink) => this.#draw(view, pen, ink)];
  }

  #move(view, at) {
    const [x, y] = view.toWorld(at);
    this.#set({ [this.pose.x]: Number(x.toFixed(3)), [this.pose.y]: Number(y.toFixed(3)) });
  }

  #turn(view, at) {
    const [cx, cy] = this.#centre(view), before = this.target[this.pose.heading] ?? this.#now()[this.pose.heading];
    const turned = Math.atan2(cy - at[1], at[0] - cx);
    // The nearest turn: a heading counts on beyond half a turn.
    this.#set({ [this.pose.heading]: Number((turned + 2 * Math.PI * Math.round((before - turned) / (2 * Math.PI))).toFixed(3)) });
  }

  #centre(view) { return this.pose.x in this.target ? view.toPage([this.target[this.pose.x], this.target[this.pose.y] ?? this.#now()[this.pose.y]]) : null; }

  #handle(view) {
    const centre = this.#centre(view), heading = this.target[this.pose.heading] ?? this.#now()[this.pose.heading] ?? 0;
    return centre && [centre[0] + HEADING_PX * Math.cos(heading), centre[1] - HEADING_PX * Math.sin(heading)];
  }

  #draw(view, pen, ink) {
    const centre = this.#centre(view), colour = this.shown?.isWaiting ? ink.soft : this.shown && !this.shown.ok ? ink.red : ink.green;
    if (this.shown?.path?.length) pen.line(this.shown.path.map((point) => view.axes.map((axis) => point[axis] ?? 0)), colour, 2, [7, 5]);
    if (this.shown?.points?.length) {
      const n = view.shapes.axes, at = (number) => { const i = view.ghostIndex.get(number); return view.axes.map((axis) => this.shown.points[n * i + axis]); };
      drawOutline(pen, [{ ...view.main, links: view.main.links.filter((part) => part.every((p) => view.ghostIndex.has(p))), beams: [], outlines: [] }], at, colour, 1.8);
    }
    if (!centre) return;
    const [handleX, handleY] = this.#handle(view), { c } = pen;
    Object.assign(c, { strokeStyle: colour, fillStyle: colour, lineWidth: 2 });
    c.beginPath(); c.moveTo(...centre); c.lineTo(handleX, handleY); c.stroke();
    c.beginPath(); c.arc(...centre, 6, 0, 2 * Math.PI); c.fill();
    c.beginPath(); c.arc(handleX, handleY, 8, 0, 2 * Math.PI); c.fill();
  }
}
