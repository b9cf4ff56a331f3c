// What Granite makes of a log: a film, a plot, an export, and the check that it replays to the bit.
import { $, element } from "./dom.js";
import { lastLine, resultOf, runJob } from "./jobs.js";

export class LogTools {
  // `path()` is the log that is open.
  constructor(path) {
    this.path = path;
    $("make-plot").onclick = () => this.#make("plot", { format: "png" });
    $("make-movie").onclick = () => this.#make("movie", { format: "mp4" });
    $("make-export").onclick = () => this.#make("export", { format: $("export-format").value });
    $("make-replay").onclick = () => this.#make("replay");
  }

  enable(isOn) { for (const button of document.querySelectorAll("#log-tools button, #log-tools select")) button.disabled = !isOn; }

  async #make(kind, more = {}) {
    const box = $("log-result");
    const say = (text, style = "") => box.replaceChildren(element("span", { class: style }, text));
    try {
      const job = await runJob({ kind, path: this.path(), ...more }, (now) => say(`${kind}: ${now.state} ${now.state === "running" ? lastLine(now) : ""}`));
      if (job.state !== "done") { say(`${kind}: ${lastLine(job)}`, "bad"); return; }
      say(kind === "replay" ? `replay: ${lastLine(job)}` : `${kind}: `, "ok");
      if (job.result) box.append(element("a", { href: resultOf(job), target: "_blank", download: kind === "export" ? job.result : null }, job.result));
      if (kind === "plot") box.append(element("a", { href: resultOf(job), target: "_blank" }, element("img", { src: resultOf(job), alt: "plot of the run", class: "result" })));
      if (kind === "movie") box.append(element("video", { src: resultOf(job), controls: true, class: "result" }));
    } catch (error) { say(error.message, "bad"); }
  }
}
