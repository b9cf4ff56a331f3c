// Monte Carlo: the distribution of each metric, failures, and any run again as a log by one click.
import { $, digits, element, get } from "./dom.js";
import { histogram } from "./charts.js";
import { lastLine, runJob, stopJob } from "./jobs.js";

export class MonteCarlo {
  constructor({ opened }) {
    Object.assign(this, { opened, result: null, job: null });
    $("mc").onchange = () => this.show($("mc").value);
    $("mc-form").onsubmit = (event) => { event.preventDefault(); this.start(); };
    $("mc-stop").onclick = () => { if (this.job) stopJob(this.job).catch(() => {}); };
  }

  async load() {
    const names = await (await get("/api/montecarlo")).json(), shown = $("mc").value;
    $("mc").replaceChildren(...names.map((name) => new Option(name.replace(".montecarlo.json", ""), name)));
    $("mc").hidden = !names.length;
    if (names.length) await this.show(names.includes(shown) ? shown : names[0]);
  }

  async show(name) {
    this.result = await (await get("/api/montecarlo", { name })).json();
    this.name = $("mc").value = name;
    const { metrics, runs } = this.result, failures = {};
    for (const { failure } of runs) if (failure) failures[failure] = (failures[failure] ?? 0) + 1;
    $("mc-parts").replaceChildren(
      ...metrics.map((metric, i) => this.#metric(metric, runs.map((run, id) => ({ id, value: run.values[i] ?? NaN })))),
      ...Object.entries(failures).map(([why, n]) => element("p", { class: "bad" }, `${n} runs without a result: ${why}`)));
  }

  #metric(metric, values) {
    const isMargin = metric.startsWith("margin"), isWorse = (a, b) => (isMargin ? a < b : a > b), finite = values.filter(({ value }) => Number.isFinite(value));
    const worst = finite.reduce((a, b) => (a === null || isWorse(b.value, a.value) ? b : a), null), sorted = finite.map(({ value }) => value).sort((a, b) => a - b);
    const at = (part) => digits(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]);
    return element("figure", { class: "metric" }, histogram(values, metric, isWorse, (id) => this.again(id)),
      element("figcaption", {}, `median ${at(0.5)}, 95 % ${at(0.95)} of ${sorted.length} runs `,
        worst ? element("button", { class: "worst", onclick: () => this.again(worst.id) }, `worst: ${digits(worst.value)}, seed ${this.result.runs[worst.id].seed}`) : null));
  }

  // A run again, as a full log, which is opened.
  async again(id) {
    $("mc-answer").textContent = `run of seed ${this.result.runs[id].seed}`;
    try {
      const job = await runJob({ kind: "again", name: this.name, run: id });
      $("mc-answer").textContent = job.state === "done" ? "" : lastLine(job);
      if (job.result_path) this.opened(job.result_path);
    } catch (error) { $("mc-answer").textContent = error.message; }
  }

  async start() {
    const body = { kind: "montecarlo", bed: $("mc-bed").value.trim(), runs: Number($("mc-runs").value), tuning: $("mc-table").value.trim() };
    try {
      const job = await runJob(body, (now) => { this.job = now.state === "running" ? now : null; $("mc-stop").disabled = !this.job; $("mc-answer").textContent = `${now.state} ${lastLine(now)}`; });
      $("mc-answer").textContent = job.state === "done" ? "" : lastLine(job);
      await this.load();
      if (job.result) await this.show(job.result);
    } catch (error) { $("mc-answer").textContent = error.message; }
  }
}
