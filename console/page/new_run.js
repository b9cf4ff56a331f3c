// A new run: testbed, variant, changed keys that the loader checks as they are typed, seed, duration; and all jobs.
import { $, element, get, post } from "./dom.js";
import { JobList, lastLine, runJob } from "./jobs.js";

const WAIT_MS = 400; // after the last key before the loader is asked

export class NewRun {
  // `opened(path)`: a log was made; `started()`: a run in real time is under way.
  constructor({ opened, started }) {
    Object.assign(this, { opened, started, beds: [], timer: 0, jobs: new JobList($("jobs")) });
    $("run-bed").onchange = () => { this.#variants(); this.#later(); };
    for (const id of ["run-variant", "run-seed", "run-duration"]) $(id).oninput = () => this.#later();
    $("run-add").onclick = () => this.addKey("", "").querySelector("input").focus();
    for (const mode of document.querySelectorAll("[name=run-mode]")) mode.onchange = () => this.#modes();
    $("run-form").onsubmit = (event) => { event.preventDefault(); this.start(); };
    this.#modes();
  }

  async load() {
    if (!this.beds.length) {
      this.beds = await (await get("/api/testbeds")).json();
      const groups = [...new Set(this.beds.map(({ group }) => group))];
      $("run-bed").replaceChildren(...groups.map((group) => element("optgroup", { label: group }, ...this.beds.filter((bed) => bed.group === group).map((bed) => element("option", { value: bed.name, title: bed.title }, bed.name)))));
      this.#variants();
    }
    await Promise.all([this.check(), this.jobs.look()]);
  }

  // A row with a key and its value.
  addKey(key, value) {
    const row = element("div", { class: "key-row" },
      element("input", { type: "text", class: "key", placeholder: "loop.period_s", "aria-label": "key", value: key, oninput: () => this.#later() }),
      element("input", { type: "text", class: "key-value", placeholder: "0.005", "aria-label": "value", value, oninput: () => this.#later() }),
      element("button", { type: "button", "aria-label": "remove this key", onclick: () => { row.remove(); this.#later(); } }, "×"),
      element("p", { class: "bad refusal", role: "alert" }));
    $("run-keys").append(row);
    return row;
  }

  // Whether the loader accepts it; a refusal stands at the key that it names.
  async check() {
    const asked = this.asked = (this.asked ?? 0) + 1;
    let refusal = null, found = null;
    try { found = await post("/api/check", this.#body()); } catch (error) { refusal = error; }
    if (asked !== this.asked) return false;
    this.#refuse(refusal);
    $("run-summary").textContent = found ? `${found.title || found.name}: ${found.duration_s} s, seed ${found.seed}` : "";
    $("run-start").disabled = Boolean(refusal);
    return !refusal;
  }

  async start() {
    if (!(await this.check())) return;
    const mode = document.querySelector("[name=run-mode]:checked").value;
    const body = { ...this.#body(), kind: "run", mode, operator: $("run-operator").checked, outlives_console: !$("run-ends").checked };
    try {
      const job = await runJob(body, (now) => this.#follow(now, mode));
      $("run-answer").textContent = job.state === "done" ? "done" : lastLine(job);
      if (job.result && mode === "simulate") this.opened(job.result_path);
    } catch (error) { this.#refuse(error); }
    await this.jobs.look();
  }

  #follow(job, mode) {
    $("run-answer").textContent = `${job.state}: ${job.command}`;
    this.jobs.look().catch(() => {});
    if (mode !== "simulate" && job.state === "running" && this.startedJob !== job.number) { this.startedJob = job.number; this.started(job); }
  }

  #body() {
    const rows = [...document.querySelectorAll(".key-row")].map((row) => [row.querySelector(".key").value.trim(), row.querySelector(".key-value").value.trim()]);
    const variant = $("run-variant").value;
    return { bed: $("run-bed").value + (variant ? `/${variant}` : ""), changes: rows.filter(([key]) => key).map(([key, value]) => `${key}=${value}`), seed: $("run-seed").value.trim(), duration: $("run-duration").value.trim() };
  }

  #refuse(error) {
    for (const place of document.querySelectorAll("#new .refusal")) place.textContent = "";
    for (const input of document.querySelectorAll("#new [aria-invalid]")) input.removeAttribute("aria-invalid");
    if (!error) return;
    const names = (key) => key && (error.key === key || error.key?.startsWith(`${key}.`) || key.startsWith(`${error.key}.`) || error.message.includes(`--set ${key}=`));
    const row = [...document.querySelectorAll(".key-row")].find((one) => names(one.querySelector(".key").value.trim()) && error.key !== undefined);
    const fields = { "loop.duration_s": "run-duration", duration: "run-duration", seed: "run-seed", bed: "run-bed" };
    const field = row ? row.querySelector(".key-value") : $(fields[error.key]);
    field?.setAttribute("aria-invalid", "true");
    (row?.querySelector(".refusal") ?? $("run-refusal")).textContent = error.message;
  }

  #variants() {
    const bed = this.beds.find(({ name }) => name === $("run-bed").value);
    $("run-variant").replaceChildren(new Option("as it is", ""), ...(bed?.variants ?? []).map((name) => new Option(name, name)));
    $("run-variant").disabled = !bed?.variants.length;
  }

  #modes() {
    const mode = document.querySelector("[name=run-mode]:checked").value;
    $("run-operator").disabled = mode === "simulate";
  }

  #later() { clearTimeout(this.timer); this.timer = setTimeout(() => this.check(), WAIT_MS); }
}
