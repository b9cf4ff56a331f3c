// Operating a run: commands with their answers, control by one page at a time, and signs of life.
import { $, words } from "./dom.js";

const ALIVE_MS = 500; // between two signs of life
const TAKE_OVER_MS = 10000; // asked again within this time: taken over
const KEYS = { a: "arm", s: "start", r: "restart", h: "hold", f: "float", x: "stop", c: "reset" };
const FOR_ALL = ["hold", "stop", "emergency_stop"];
const CONTROL = { mine: "in control – release", other: "ask for control", free: "take control", look: "only to look", "no operator": "no operator" };

export class Operate {
  constructor(send) {
    Object.assign(this, { send, number: 0, asked: new Map(), possible: {}, status: {}, isOpen: false });
    for (const button of document.querySelectorAll("[data-do]")) button.onclick = () => this.ask(button.dataset.do);
    $("emergency").onclick = () => this.ask("emergency_stop");
    $("control").onclick = () => this.#control();
    setInterval(() => this.#alive(), ALIVE_MS);
  }

  // Resolves to the loop's answer; `more` are fields of the command.
  ask(what, more = {}) {
    if (!this.isOpen) return Promise.resolve({ ok: false });
    const number = ++this.number;
    this.send({ kind: "ask", number, do: what, ...more });
    this.say(`${words(what)}: asked`, "");
    return new Promise((resolve) => this.asked.set(number, { resolve, at: performance.now() }));
  }

  answered(answer) {
    const { number, do: what, ok, text } = answer, waiting = this.asked.get(number);
    if (!waiting) return;
    this.asked.delete(number);
    const took = performance.now() - waiting.at, name = words(what);
    this.lastAnswer = { what, ok, text, took };
    this.say(ok ? `${name}: ${text} – confirmed in ${took.toFixed(0)} ms` : `${name} is ${text}`, ok ? "ok" : "refused");
    waiting.resolve(answer);
  }

  key(event) {
    if (event.key === "Escape") { event.preventDefault(); this.ask("emergency_stop"); return; }
    const name = KEYS[event.key.toLowerCase()], isMeant = !$("live").hidden || FOR_ALL.includes(name);
    if (name && isMeant && !event.repeat && this.allowed(name)) this.ask(name);
  }

  get isMine() { return this.isOpen && this.status.control === "mine"; }

  allowed(name) {
    const { mode, control } = this.status;
    if (!this.isOpen || !["mine", "other", "free"].includes(control)) return false;
    if (name === "emergency_stop") return !["over", "stopped"].includes(mode);
    return (this.possible[mode] ?? []).includes(name) && (control === "mine" || FOR_ALL.includes(name));
  }

  // Buttons as the mode allows.
  look(status, isOpen) {
    Object.assign(this, { status, isOpen });
    if (!isOpen) { for (const { resolve } of this.asked.values()) resolve({ ok: false }); this.asked.clear(); }
    for (const button of document.querySelectorAll("[data-do]")) button.disabled = !this.allowed(button.dataset.do);
    $("emergency").disabled = !this.allowed("emergency_stop");
    const control = isOpen && status.mode !== "over" ? status.control : "";
    $("control").textContent = status.asked_by && control === "mine" ? "pass control on" : CONTROL[control] ?? "no run";
    $("control").disabled = !["mine", "other", "free"].includes(control);
    $("control").setAttribute("aria-pressed", control === "mine");
    $("control").classList.toggle("asked", Boolean(status.asked_by) && control === "mine");
    $("visible").hidden = control !== "mine";
  }

  say(text, kind) { $("answer").textContent = text; $("answer").className = `answer ${kind}`; }

  #control() {
    const { control, asked_by } = this.status, now = performance.now();
    if (control === "mine") { this.send({ kind: "control", what: asked_by ? "pass_on" : "release" }); return; }
    if (control !== "other") { this.send({ kind: "control", what: "take" }); return; }
    const again = this.askedAt !== undefined && now - this.askedAt < TAKE_OVER_MS;
    this.send({ kind: "control", what: again ? "take_over" : "take" });
    this.say(again ? "control was taken over" : "asked the page in control; press again within 10 s to take over", "");
    this.askedAt = again ? undefined : now;
  }

  // Only while the page is visible: a hidden page is no operator.
  #alive() { if (this.isMine && !document.hidden) this.send({ kind: "alive" }); }
}
