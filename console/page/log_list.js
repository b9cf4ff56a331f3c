// The list of logs: picture, ending, changes, notes and tags that a person writes.
import { $, element, get, post } from "./dom.js";
import { Pen, drawOutline, inks } from "./scene_shapes.js";

export class LogList {
  // `open(path)` shows a log, `add(path)` another one beside it.
  constructor({ open, add, say }) {
    Object.assign(this, { open, add, say, logs: [], sketches: new Map() });
    $("reload").onclick = () => this.load();
    $("log-search").oninput = () => this.#filter();
    addEventListener("theme", () => this.#redraw());
    this.seen = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => { if (isIntersecting) this.#draw(target); }), { root: $("list") });
  }

  async load() {
    this.logs = await (await get("/api/logs")).json();
    this.seen.disconnect();
    $("list").replaceChildren(...this.logs.map((log) => this.#item(log)));
    if (!this.logs.length) $("list").replaceChildren(element("li", { class: "soft" }, "No log in this folder: make one with New run."));
    this.#filter();
    this.mark(this.marked ?? []);
  }

  // The logs that are open.
  mark(paths) {
    this.marked = paths;
    for (const item of $("list").children) {
      const at = paths.indexOf(item.dataset.path);
      item.setAttribute("aria-selected", at === 0);
      item.classList.toggle("second", at > 0);
      item.querySelector(".compare")?.setAttribute("aria-pressed", at > 0);
    }
  }

  #item(log) {
    const canvas = element("canvas", { width: 96, height: 72, class: "sketch", "aria-hidden": "true" });
    canvas.log = log;
    this.seen.observe(canvas);
    const errors = Object.entries(log.error).filter(([unit]) => ["m", "rad"].includes(unit)).map(([unit, value]) => `${(1e3 * value).toPrecision(3)} m${unit}`);
    const facts = [log.bed, log.when.slice(0, 16).replace("T", " "), log.seconds === null ? "" : `${log.seconds.toFixed(1)} s`, log.mode === "virtual" ? "" : log.mode, errors.length ? `error ${errors.join(", ")}` : ""];
    const tags = log.notes.tags.map((tag) => element("span", { class: "tag" }, tag));
    const item = element("li", { tabIndex: 0, role: "option", "data-path": log.path },
      canvas,
      element("div", { class: "facts" },
        element("span", { class: "name" }, log.name),
        element("span", { class: "soft small" }, facts.filter(Boolean).join(" · ")),
        log.changes.length ? element("span", { class: "small changes" }, log.changes.join(", ")) : null,
        element("span", { class: `ended ${log.ended}`, title: log.text }, log.ended.replaceAll("_", " ")), ...tags,
        log.notes.text ? element("span", { class: "small note" }, log.notes.text.split("\n")[0]) : null),
      element("div", { class: "actions" },
        element("button", { class: "compare", onclick: (event) => { event.stopPropagation(); this.add(log.path); } }, "compare"),
        element("button", { class: "edit", title: "notes and tags", onclick: (event) => { event.stopPropagation(); this.#edit(log); } }, "notes")));
    item.onclick = (event) => (event.shiftKey ? this.add(log.path) : this.open(log.path));
    item.onkeydown = (event) => { if (event.key === "Enter" && event.target === item) item.click(); };
    return item;
  }

  #filter() {
    const wanted = $("log-search").value.trim().toLowerCase();
    this.logs.forEach((log, i) => {
      const text = [log.name, log.bed, log.ended, ...log.changes, log.notes.text, ...log.notes.tags].join(" ").toLowerCase();
      $("list").children[i].hidden = !text.includes(wanted);
    });
  }

  #edit(log) {
    const dialog = $("notes");
    $("notes-name").textContent = log.name;
    $("notes-text").value = log.notes.text;
    $("notes-tags").value = log.notes.tags.join(", ");
    $("notes-save").onclick = async () => {
      try {
        const tags = $("notes-tags").value.split(",").map((tag) => tag.trim()).filter(Boolean);
        await post("/api/log/notes", { path: log.path, text: $("notes-text").value, tags });
        dialog.close();
        await this.load();
      } catch (error) { $("notes-refusal").textContent = error.message; }
    };
    $("notes-refusal").textContent = "";
    dialog.showModal();
  }

  async #draw(canvas) {
    const { log } = canvas, key = `${log.path} ${log.size} ${log.when}`;
    if (!this.sketches.has(key)) this.sketches.set(key, get("/api/log/sketch", { path: log.path }).then((answer) => answer.json()).catch(() => null));
    const sketch = await this.sketches.get(key);
    if (sketch) drawSketch(canvas, sketch);
  }

  #redraw() { for (const canvas of document.querySelectorAll(".sketch")) this.#draw(canvas); }
}

// The path and the scene at the end, small.
function drawSketch(canvas, { shapes, facts, points, path }) {
  const n = shapes.axes, at = (number) => [points[n * number], points[n * number + 1]], ink = inks(), ratio = 2;
  const numbers = shapes.modules.flatMap((m) => [m.root, ...(m.base?.corners ?? []), ...m.links.flat(), ...m.beams.flat(), ...m.outlines.flat()]);
  const all = [...path.map(([x, y]) => [x, y]), ...(facts.robot ? numbers.map(at) : []), ...(shapes.table ? [shapes.table.slice(0, 2), shapes.table.slice(2)] : [])];
  if (!all.length) return;
  const [x0, x1, y0, y1] = [0, 0, 1, 1].map((k, i) => (i % 2 ? Math.max : Math.min)(...all.map((p) => p[k])));
  [canvas.width, canvas.height] = [96 * ratio, 72 * ratio];
  const scale = 0.92 * Math.min(96 / Math.max(x1 - x0, 0.1), 72 / Math.max(y1 - y0, 0.1)), c = canvas.getContext("2d");
  const toPage = ([x, y]) => [48 + scale * (x - (x0 + x1) / 2), 36 - scale * (y - (y0 + y1) / 2)], pen = new Pen(c, toPage, scale);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (shapes.table) pen.area([[shapes.table[0], shapes.table[1]], [shapes.table[2], shapes.table[1]], [shapes.table[2], shapes.table[3]], [shapes.table[0], shapes.table[3]]], ink.table, null);
  if (path.length > 1) pen.line(path, ink.blue, 1.5);
  if (facts.robot) drawOutline(pen, shapes.modules, at, ink.edge, 1.2, []);
}
