// The page: its session, tabs, theme, keys, and the list of running loops.
import { $, element, get, post } from "./dom.js";
import { Live } from "./live.js";
import { Logs } from "./logs.js";
import { MonteCarlo } from "./monte_carlo.js";
import { NewRun } from "./new_run.js";
import { Tune } from "./tune.js";

const RUNS_MS = 1000; // between two looks for runs
const say = (text) => { $("notice").textContent = text ?? ""; $("notice").hidden = !text; };
const failed = (error) => say(error.message);

// The token stands behind the # of the address, which no server sees; it is exchanged for a cookie and taken away.
async function openSession() {
  const parts = new URLSearchParams(location.hash.slice(1)), token = parts.get("token");
  history.replaceState(null, "", location.pathname);
  if (token) await post("/api/session", { token });
  return parts;
}

// The one that was chosen here, or that of the system.
const light = matchMedia("(prefers-color-scheme: light)");
function setTheme() {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? (light.matches ? "light" : "dark");
  dispatchEvent(new Event("theme"));
}

class Page {
  constructor() {
    this.live = new Live({ ended: (run) => this.#offerLog(run) });
    this.logs = new Logs(say);
    const opened = (path) => { this.tab("logs"); this.logs.show(path).catch(failed); };
    this.newRun = new NewRun({ opened, started: () => this.tab("live") });
    this.tune = new Tune({ opened, say });
    this.monteCarlo = new MonteCarlo({ opened });
    this.runs = "";
    if (matchMedia("(max-width: 1100px)").matches) for (const fold of document.querySelectorAll(".fold:not(.health-card)")) fold.open = false;
    for (const button of document.querySelectorAll("[data-tab]")) button.onclick = () => this.tab(button.dataset.tab);
    $("theme").onclick = () => {
      localStorage.setItem("theme", document.documentElement.dataset.theme === "light" ? "dark" : "light");
      setTheme();
    };
    light.addEventListener("change", setTheme);
    $("runs").onchange = () => this.#chooseRun();
    addEventListener("theme", () => this.#redraw());
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  tab(name) {
    for (const button of document.querySelectorAll("[data-tab]")) button.setAttribute("aria-selected", button.dataset.tab === name);
    for (const part of document.querySelectorAll(".tab")) part.hidden = part.id !== name;
    const load = { logs: () => this.logs.list(), tune: () => Promise.all([this.tune.load(), this.monteCarlo.load()]), new: () => this.newRun.load() };
    load[name]?.().catch(failed);
  }

  async look() {
    let runs;
    try { runs = await (await get("/api/runs")).json(); } catch (error) {
      this.isSilent = error instanceof TypeError; // no answer at all
      if (this.isSilent) say("The console does not answer: it has ended, or there is no way to it."); else failed(error);
      return;
    }
    if (this.isSilent) { this.isSilent = false; say(""); }
    const same = runs.find((run) => run.pid === this.live.run?.pid);
    if (same && this.live.isLost) this.live.connect(same);
    if (JSON.stringify(runs) === this.runs) return;
    this.runs = JSON.stringify(runs);
    this.known = runs;
    $("runs").replaceChildren(...runs.map((run) => new Option(`${run.bed} · ${run.mode}`, run.pid)));
    $("runs").hidden = runs.length < 2;
    $("bed").textContent = "";
    if (!runs.length) { if (!this.live.run) this.#offerRuns(); return; }
    say("");
    const chosen = same ?? runs.at(-1);
    $("runs").value = chosen.pid;
    $("bed").textContent = runs.length < 2 ? chosen.bed : "";
    if (!same) this.live.connect(chosen);
  }

  #chooseRun() {
    const run = this.known.find(({ pid }) => String(pid) === $("runs").value);
    if (run) this.live.connect(run);
  }

  #offerRuns() {
    $("views").replaceChildren(element("div", { class: "empty" },
      element("b", {}, "No run is under way"),
      element("span", { class: "soft" }, "One that is started with --live, or with --console, appears here."),
      element("code", {}, "granite sim free-flyer --realtime --console"),
      element("span", { class: "row" }, element("button", { class: "primary", onclick: () => this.tab("new") }, "start a run"),
        element("button", { onclick: () => this.tab("logs") }, "open a log"))));
  }

  #offerLog(run) {
    const open = element("button", { onclick: () => { say(""); this.tab("logs"); this.logs.show(run.final_log).catch(failed); } }, "open its log");
    say(`The run of ${run.bed} is over. `);
    $("notice").append(open);
  }

  #redraw() {
    for (const view of [...this.live.views, ...this.logs.views]) view.draw();
    for (const plots of [this.live.plots, this.logs.plots]) plots.redraw();
  }

  #key(event) {
    const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
    // Escape is an emergency stop everywhere, but for closing a dialog.
    if (event.key === "Escape") { if (!document.querySelector("dialog[open]")) this.live.operate.key(event); return; }
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key.toLowerCase() === "t") $("theme").click();
    else if (event.key === " " && event.target === document.body) {
      event.preventDefault();
      if ($("logs").hidden) this.live.pause(!this.live.isPaused); else $("play").click();
    } else this.live.operate.key(event);
  }
}

async function start() {
  setTheme();
  const parts = await openSession();
  const page = window.granite = new Page(); // for a look from the browser's own console
  if (parts.get("log")) { page.tab("logs"); page.logs.show(parts.get("log")).catch(failed); }
  await page.look();
  setInterval(() => page.look(), RUNS_MS);
}

// A request that was refused where nobody waits for it, as of a log that is gone.
addEventListener("unhandledrejection", (event) => { if ("key" in event.reason) { event.preventDefault(); failed(event.reason); } });
start().catch(failed);
