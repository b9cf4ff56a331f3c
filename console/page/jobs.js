// Commands that the console carries out for the page: started, followed until their end, stopped.
import { $, element, get, post } from "./dom.js";

const LOOK_MS = 500;

// Starts a job; `changed(job)` is called as it goes on. Resolves to the job when it has ended.
export async function runJob(body, changed = () => {}) {
  let job = await post("/api/jobs/start", body);
  while (job.state === "running") {
    changed(job);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    job = (await (await get("/api/jobs")).json()).find(({ number }) => number === job.number) ?? { ...job, state: "failed" };
  }
  changed(job);
  return job;
}

export const stopJob = (job) => post("/api/jobs/stop", { number: job.number });
export const resultOf = (job) => `/api/jobs/result?number=${job.number}`;

// The last line that says something, without the marks of a terminal.
export function lastLine(job) {
  const lines = job.output.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "").split(/[\r\n]+/).filter((line) => line.trim());
  return lines.at(-1) ?? "";
}

// A list of all jobs with their state, output on demand, and a button to stop each.
export class JobList {
  constructor(list) { this.list = list; this.shown = ""; }

  async look() {
    const jobs = await (await get("/api/jobs")).json(), now = JSON.stringify(jobs);
    if (now === this.shown) return jobs;
    this.shown = now;
    const isOpen = new Set([...this.list.querySelectorAll("details[open]")].map((box) => box.dataset.number));
    this.list.replaceChildren(...jobs.map((job) => element("li", { class: `job ${job.state}` },
      element("span", { class: "state" }, job.state), element("code", {}, job.command),
      job.state === "running" ? element("button", { onclick: () => stopJob(job).catch(() => {}) }, "stop") : null,
      job.result ? element("a", { href: resultOf(job), target: "_blank" }, job.result) : null,
      element("details", { "data-number": job.number, open: isOpen.has(String(job.number)) || job.state === "failed" }, element("summary", {}, "output"), element("pre", {}, job.output)))));
    if (!jobs.length) this.list.replaceChildren(element("li", { class: "soft" }, "None yet."));
    return jobs;
  }
}
