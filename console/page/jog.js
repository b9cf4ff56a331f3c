// Jog: rates for as long as a hand holds them. A stick on the screen, Shift with the arrow keys, or a gamepad whose left
// shoulder button is the dead man; whatever is let go stops the robot.
import { $, element, words } from "./dom.js";

const SEND_MS = 120; // between two jogs; one lasts for operator.jog_s
const DEAD_MAN = 4; // button of a standard gamepad: left shoulder
const ARROWS = { ArrowRight: [1, 0, 0], ArrowLeft: [-1, 0, 0], ArrowUp: [0, 1, 0], ArrowDown: [0, -1, 0], q: [0, 0, 1], e: [0, 0, -1] };
const still = (value) => (Math.abs(value) < 0.12 ? 0 : value); // a stick at rest is never quite at zero

export class Jog {
  // `send(rates)` asks for rates by name.
  constructor(send) {
    Object.assign(this, { send, names: {}, isOn: false, stick: [0, 0], turn: 0, joint: null, keys: new Set(), wasMoving: false });
    this.#pad();
    addEventListener("keydown", (event) => this.#key(event, true));
    addEventListener("keyup", (event) => this.#key(event, false));
    addEventListener("blur", () => this.#letGo());
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.#letGo(); });
    setInterval(() => this.#send(), SEND_MS);
  }

  show(coordinates) {
    const named = (end) => coordinates.find(({ name }) => name.endsWith(end))?.name;
    this.names = { x: named("_x"), y: named("_y"), heading: named("_heading") };
    const others = coordinates.filter(({ name }) => !Object.values(this.names).includes(name));
    $("jog").hidden = !coordinates.length;
    $("jog-pad").hidden = !this.names.x;
    const held = (text, label, act) => {
      const button = element("button", { type: "button", class: "hold", "aria-label": label }, text);
      button.onpointerdown = (event) => { button.setPointerCapture(event.pointerId); act(1); };
      for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) button.addEventListener(kind, () => act(0));
      return button;
    };
    const turns = this.names.heading ? [held("⟲", "turn left while held", (on) => { this.turn = on; }), held("⟳", "turn right while held", (on) => { this.turn = -on; })] : [];
    const joints = others.flatMap(({ name }) => [held(`${words(name)} −`, `${name} backwards while held`, (on) => { this.joint = on ? [name, -1] : null; }), held(`${words(name)} +`, `${name} forwards while held`, (on) => { this.joint = on ? [name, 1] : null; })]);
    $("jog-buttons").replaceChildren(...turns, ...joints);
  }

  enable(isOn) { this.isOn = isOn; if (!isOn) this.#letGo(); }

  // The stick follows the finger within its circle, and springs back.
  #pad() {
    const pad = $("jog-pad"), knob = $("jog-knob");
    const move = (event) => {
      const box = pad.getBoundingClientRect(), half = box.width / 2;
      const [x, y] = [(event.clientX - box.left - half) / half, -(event.clientY - box.top - half) / half], size = Math.max(1, Math.hypot(x, y));
      this.stick = [x / size, y / size];
      knob.style.transform = `translate(${(half - 22) * this.stick[0]}px, ${-(half - 22) * this.stick[1]}px)`;
    };
    pad.onpointerdown = (event) => { if (this.isOn) { pad.setPointerCapture(event.pointerId); move(event); } };
    pad.onpointermove = (event) => { if (this.isOn && pad.hasPointerCapture(event.pointerId)) move(event); };
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) pad.addEventListener(kind, () => { this.stick = [0, 0]; knob.style.transform = ""; });
  }

  #key(event, isDown) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Shift" && !isDown) { this.keys.clear(); return; }
    if (!(key in ARROWS) || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
    if (isDown && event.shiftKey && this.isOn) { event.preventDefault(); this.keys.add(key); } else this.keys.delete(key);
  }

  #letGo() { Object.assign(this, { stick: [0, 0], turn: 0, joint: null }); this.keys.clear(); $("jog-knob").style.transform = ""; }

  #gamepad() {
    const pad = [...(navigator.getGamepads?.() ?? [])].find((one) => one?.connected);
    if (!pad) return [0, 0, 0];
    $("jog-gamepad").textContent = pad.buttons[DEAD_MAN]?.pressed ? "gamepad: in hand" : "gamepad: hold the left shoulder button";
    return pad.buttons[DEAD_MAN]?.pressed ? [still(pad.axes[0] ?? 0), -still(pad.axes[1] ?? 0), -still(pad.axes[2] ?? 0)] : [0, 0, 0];
  }

  #send() {
    if (!this.isOn || document.hidden || $("live").hidden) { this.wasMoving = false; return; }
    const parts = [[...this.stick, this.turn], this.#gamepad(), ...[...this.keys].map((key) => ARROWS[key])];
    const [x, y, heading] = [0, 1, 2].map((k) => Math.max(-1, Math.min(1, parts.reduce((sum, part) => sum + part[k], 0))));
    const speed = Number($("jog-speed").value), turn = 4 * speed, isMoving = x !== 0 || y !== 0 || heading !== 0 || this.joint !== null;
    if (!isMoving && !this.wasMoving) return;
    this.wasMoving = isMoving;
    const rates = {};
    if (this.names.x) Object.assign(rates, { [this.names.x]: speed * x, [this.names.y]: speed * y });
    if (this.names.heading) rates[this.names.heading] = turn * heading;
    if (this.joint) rates[this.joint[0]] = turn * this.joint[1];
    if (Object.keys(rates).length) this.send(rates);
  }
}
