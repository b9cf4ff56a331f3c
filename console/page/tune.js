// Tuning sessions: trials, Pareto front, parallel coordinates, importance, promote; start, watch and stop one.
import { $, digits, element, get, words } from "./dom.js";
import { bars, parallel, scatter } from "./charts.js";
import { lastLine, runJob, stopJob } from "./jobs.js";

const LOOK_MS = 2000; // at a session that is under way

export class Tune {
  // `opened(path)` shows a log.
  constructor({ opened, say }) {
    Object.assign(this, { opened, say, session: null, chosen: null, job: null });
    $("session").onchange = () => { this.picked = false; this.show($("session").value); };
    $("session-reload").onclick = () => this.load();
    for (const id of ["goal-x", "goal-y"]) $(id).onchange = () => this.#draw();
    $("promote").onclick = () => this.promote();
    $("trial-log").onclick = () => this.opened(this.session.logs[this.chosen]);
    $("tune-form").onsubmit = (event) => { event.preventDefault(); this.start(); };
    $("tune-stop").onclick = () => { if (this.job) stopJob(this.job).catch(() => {}); };
  }

  async load() {
    const sessions = await (await get("/api/tuning")).json(), shown = this.session?.session;
    $("session").replaceChildren(...sessions.map(({ name, path }) => new Option(name, path)));
    $("session-empty").hidden = sessions.length > 0;
    $("session-parts").hidden = !sessions.length || !this.session;
    const beds = await (await get("/api/testbeds")).json();
    $("tune-beds").replaceChildren(...beds.map(({ name }) => new Option(name)));
    if (sessions.length) await this.show(sessions.some(({ path }) => path === shown) ? shown : sessions[0].path);
  }

  async show(path) {
    if (!this.session) $("session-facts").textContent = "reading …";
    try { this.session = await (await get("/api/tuning/session", { path })).json(); } catch (error) { this.session = null; $("session-parts").hidden = true; $("session-facts").textContent = error.message; return; }
    $("session").value = path;
    $("session-parts").hidden = false;
    const { goals, trials, best, bed } = this.session, options = () => goals.map(({ label }, i) => new Option(label, i));
    const isSame = $("goal-x").options.length === goals.length;
    if (!isSame) { $("goal-x").replaceChildren(...options()); $("goal-y").replaceChildren(...options()); $("goal-y").selectedIndex = Math.min(1, goals.length - 1); }
    $("session-facts").textContent = `${bed}: ${trials.length} trials, best ${best ?? "none"}`;
    if (!this.picked || !trials.some(({ number }) => number === this.chosen)) this.chosen = best;
    this.#draw();
  }

  pick(number) { Object.assign(this, { chosen: number, picked: true }); this.#draw(); }

  #kind({ number, is_feasible, objectives }) {
    if (number === this.session.best) return "best";
    if (this.session.front.includes(number)) return "front";
    return is_feasible && objectives.length ? "plain" : "infeasible";
  }

  #title({ number, objectives }) { return `trial ${number}: ${this.session.goals.map(({ label }, i) => `${label} ${digits(objectives[i])}`).join(", ")}`; }

  #draw() {
    const { goals, trials, parameters, importance } = this.session, judged = trials.filter(({ objectives }) => objectives.length);
    const [x, y] = [Number($("goal-x").value), Number($("goal-y").value)], isOne = goals.length < 2;
    $("goal-x").hidden = $("goal-y").hidden = isOne;
    const points = judged.map((trial) => ({ id: trial.number, x: isOne ? trial.number : trial.objectives[x], y: trial.objectives[isOne ? 0 : y], kind: this.#kind(trial), title: this.#title(trial) }));
    $("pareto").replaceChildren(scatter(points, isOne ? "trial" : goals[x].label, goals[isOne ? 0 : y].label, (number) => this.pick(number), this.chosen));
    const columns = [...parameters.map(({ key, lower, upper, log }) => ({ label: key, low: lower, high: upper, log })),
      ...goals.map(({ label }, i) => { const values = judged.map(({ objectives }) => objectives[i]).sort((a, b) => a - b); return { label, low: values[0], high: values[Math.floor(0.9 * (values.length - 1))] }; })];
    const lines = judged.map((trial) => ({ id: trial.number, kind: this.#kind(trial), title: this.#title(trial), values: [...parameters.map(({ key }) => trial.parameters[key]), ...trial.objectives] }));
    $("parallel").replaceChildren(parallel(columns, lines, (number) => this.pick(number), this.chosen));
    const first = Object.entries(importance)[isOne ? 0 : y]?.[1] ?? {};
    $("importance").replaceChildren(Object.keys(first).length ? bars(Object.entries(first).sort((a, b) => b[1] - a[1])) : element("p", { class: "soft" }, "Known after ten trials with results, of two parameters or more."));
    this.#table(trials, goals, parameters);
    $("promote").disabled = $("promote-name").disabled = this.chosen === null;
    $("trial-log").disabled = !(this.chosen in this.session.logs);
    $("trial-name").textContent = this.chosen === null ? "no trial" : `trial ${this.chosen}`;
  }

  #table(trials, goals, parameters) {
    const head = ["trial", ...goals.map(({ label }) => label), ...this.session.limits, ...parameters.map(({ key }) => key), ""];
    const row = (trial) => element("tr", { class: `${this.#kind(trial)} ${trial.number === this.chosen ? "chosen" : ""}`, tabIndex: 0, onclick: () => this.pick(trial.number), onkeydown: (event) => { if (event.key === "Enter") this.pick(trial.number); } },
      ...[trial.number, ...goals.map((_, i) => digits(trial.objectives[i])), ...this.session.limits.map((_, i) => digits(trial.constraints[i])), ...parameters.map(({ key }) => digits(trial.parameters[key])), trial.failure ?? (trial.is_feasible ? "" : "breaks a limit")].map((cell) => element("td", { class: "right" }, String(cell))));
    const ranked = [...trials].sort((a, b) => ["best", "front", "plain", "infeasible"].indexOf(this.#kind(a)) - ["best", "front", "plain", "infeasible"].indexOf(this.#kind(b)) || (a.objectives[0] ?? Infinity) - (b.objectives[0] ?? Infinity));
    $("trials").replaceChildren(element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { class: "right", title: name }, name.split(".").slice(-2).join("."))))), element("tbody", {}, ...ranked.map(row)));
  }

  async promote() {
    try {
      const job = await runJob({ kind: "promote", path: this.session.session, trial: this.chosen, name: $("promote-name").value.trim() });
      $("promote-answer").textContent = job.state === "done" ? `written: ${job.result}` : lastLine(job);
    } catch (error) { $("promote-answer").textContent = error.message; }
  }

  async start() {
    const body = { kind: "tune", bed: $("tune-bed").value.trim(), tuning: $("tune-table").value.trim(), trials: Number($("tune-trials").value) };
    $("tune-answer").textContent = "starting";
    let looked = 0;
    try {
      const job = await runJob(body, (now) => {
        this.job = now.state === "running" ? now : null;
        $("tune-stop").disabled = !this.job;
        $("tune-answer").textContent = `${now.state} ${lastLine(now)}`;
        if (performance.now() - looked > LOOK_MS) { looked = performance.now(); this.load().catch(() => {}); }
      });
      $("tune-answer").textContent = `${job.state}: ${lastLine(job)}`;
      await this.load();
    } catch (error) { $("tune-answer").textContent = error.message; }
  }
}
