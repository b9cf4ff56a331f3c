// Gains of the law within their bounds: steps, a slider, undo, and A/B against a marked set.
import { $, digits, element, words } from "./dom.js";

const STEP = 1.05; // of − and +
const LARGEST = 2; // a single change is at most by half or to the double, as in granite tune --live

export class Gains {
  // `set(gain, value)` asks the loop and resolves to whether it was done.
  constructor(set) {
    Object.assign(this, { set, gains: [], changes: [], a: {}, b: null, rows: new Map() });
    $("undo").onclick = (event) => { event.preventDefault(); this.undo(); };
    $("mark").onclick = (event) => { event.preventDefault(); this.mark(); };
    $("ab").onclick = (event) => { event.preventDefault(); this.swap(); };
  }

  // The gains of a run: name, unit, value, lower, upper, meaning.
  show(gains) {
    const isNew = gains.map(({ name }) => name).join() !== this.gains.map(({ name }) => name).join();
    this.gains = gains.map((gain) => ({ ...gain }));
    if (isNew) {
      Object.assign(this, { changes: [], b: null });
      this.mark();
      this.rows = new Map(this.gains.map((gain) => [gain.name, this.#row(gain)]));
      const groups = [...new Set(this.gains.map(({ name }) => name.split("_").at(-1)))];
      $("gains").replaceChildren(...groups.map((kind) => element("details", { class: "gain-group", open: true },
        element("summary", {}, words(kind)), ...this.gains.filter(({ name }) => name.split("_").at(-1) === kind).map(({ name }) => this.rows.get(name).box))));
      if (!gains.length) $("gains").replaceChildren(element("p", { class: "soft" }, "The law has no gain that may change in a run."));
    }
    for (const gain of this.gains) this.#update(gain, gain.value);
  }

  // Values that the run reports: another operator may have changed them.
  values(values) {
    this.gains.forEach((gain, i) => { if (values[i] !== undefined && values[i] !== null) this.#update(gain, values[i]); });
  }

  enable(isOn) {
    for (const input of $("gains").querySelectorAll("input, button")) input.disabled = !isOn;
    $("undo").disabled = !isOn || !this.changes.length;
    $("mark").disabled = !isOn || !this.gains.length;
    $("ab").disabled = !isOn || (!this.b && !this.#differs());
    $("ab").setAttribute("aria-pressed", Boolean(this.b));
  }

  // From now on, A is the present set.
  mark() { this.a = this.#now(); this.b = null; }

  async undo() {
    const last = this.changes.at(-1);
    if (last && await this.set(last.gain, last.before)) this.changes.pop();
  }

  // All gains as in A, and back to B.
  async swap() {
    const wanted = this.b ?? this.a, before = this.#now();
    for (const [gain, value] of Object.entries(wanted)) {
      if (value !== before[gain] && !(await this.set(gain, value))) return;
    }
    this.b = this.b ? null : before;
  }

  #now() { return Object.fromEntries(this.gains.map(({ name, value }) => [name, value])); }

  #differs() { return this.gains.some(({ name, value }) => this.a[name] !== value); }

  #row(gain) {
    const slider = element("input", { type: "range", step: "any", "aria-label": gain.name, title: gain.meaning });
    // By ratio where all values have one sign: stiffness is felt in percent.
    const byRatio = gain.lower > 0, [to, from] = byRatio ? [Math.log, Math.exp] : [Number, Number];
    Object.assign(slider, { min: to(gain.lower), max: to(gain.upper) });
    const value = element("input", { type: "text", inputMode: "decimal", class: "value", "aria-label": `${gain.name} value` });
    const step = (text, sign) => element("button", { "aria-label": `${text} ${gain.name}`, title: "by 5 %", onclick: () => this.#change(gain.name, this.#of(gain.name).value * STEP ** sign) }, text);
    slider.oninput = () => { value.value = digits(from(Number(slider.value)), 3); };
    slider.onchange = () => this.#change(gain.name, from(Number(slider.value)));
    value.onchange = () => this.#change(gain.name, Number(value.value.replace(",", ".")));
    const name = element("span", { class: "name", title: `${gain.meaning}: ${digits(gain.lower)} to ${digits(gain.upper)} ${gain.unit}` }, words(gain.name.slice(0, gain.name.lastIndexOf("_"))) || gain.name, element("span", { class: "soft" }, ` ${gain.unit}`));
    const box = element("div", { class: "gain", "data-gain": gain.name }, name, step("−", -1), value, step("+", 1), slider);
    return { box, slider, value, to };
  }

  #of(name) { return this.gains.find((gain) => gain.name === name); }

  #update(gain, value) {
    gain.value = value;
    const { slider, value: field, to, box } = this.rows.get(gain.name);
    if (document.activeElement !== slider) slider.value = to(value);
    if (document.activeElement !== field && document.activeElement !== slider) field.value = digits(value, 4);
    box.classList.toggle("changed", value !== this.a[gain.name]);
  }

  // A value outside of the bounds is never sent: the nearest one that may be, in one step.
  async #change(name, wanted) {
    const { value: before, lower, upper } = this.#of(name);
    if (!Number.isFinite(wanted)) { this.#update(this.#of(name), before); return; }
    const [least, most] = [before / LARGEST, before * LARGEST].sort((a, b) => a - b);
    const after = Math.min(Math.max(wanted, lower, before === 0 ? -Infinity : least), upper, before === 0 ? Infinity : most);
    if (after !== before && await this.set(name, after)) { this.changes.push({ gain: name, before, after }); this.b = null; }
    else this.#update(this.#of(name), this.#of(name).value);
  }
}
