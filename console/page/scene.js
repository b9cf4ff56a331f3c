// The table from above (and, in space, from the side) on a 2-D canvas: fit, pan, zoom, trail and magnified error.
import { element } from "./dom.js";
import { Pen, drawContacts, drawOutline, drawRobot, drawZones, inks } from "./scene_shapes.js";

const TRAIL = 4000; // points
const GRID_M = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const GRID_PX = 56; // between two lines, at least

export class SceneView {
  // `axes`: the two axes of the world that lie in the page.
  constructor(canvas, shapes, axes, label) {
    Object.assign(this, { canvas, shapes, axes, label, view: null, frames: [], trail: [], plan: [], overlays: [] });
    this.options = { trail: true, reference: true, vision: true, magnify: 1 };
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `${label}: arrow keys move it, + and - zoom, 0 fits`);
    letPointerMove(this);
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(canvas);
    this.main = shapes.modules.find((module) => module.main) ?? shapes.modules[0];
    this.ghostIndex = new Map(shapes.ghost.map((number, i) => [number, i]));
  }

  // One frame of each run; the first is the main one. A frame has robot, reference, points, opening, closed, seen.
  show(frames, keepTrail = true) {
    this.frames = frames;
    const [main] = frames;
    if (main?.robot && keepTrail) this.#follow(main);
    if (!this.view && main?.robot) this.fit();
    this.draw();
  }

  set(options) { Object.assign(this.options, options); this.draw(); }

  // The path that is planned: points of the world.
  setPlan(points) { this.plan = points.map((point) => this.#inPage(point)); this.draw(); }

  // The path so far: points of the world.
  setPath(points) { this.trail = points.map((point) => this.#inPage(point)); }

  clear() { this.trail = []; this.draw(); }

  #inPage(point) { return this.axes.map((axis) => point[axis] ?? 0); }

  fit() {
    const isTable = this.axes[0] === 0 && this.axes[1] === 1;
    const corners = this.shapes.table && isTable ? [this.shapes.table.slice(0, 2), this.shapes.table.slice(2)] : [];
    const robot = this.frames[0]?.robot ? this.positions(this.frames[0]) : [];
    const points = [...corners, ...robot, ...this.trail, ...this.plan];
    const bounds = [0, 1].map((k) => points.reduce(([a, b], p) => [Math.min(a, p[k]), Math.max(b, p[k])], [Infinity, -Infinity]));
    const [[x0, x1], [y0, y1]] = x1IsAbove(bounds) ? bounds : [[-1, 1], [-1, 1]];
    const margin = 0.04 * Math.max(x1 - x0, y1 - y0, 0.2);
    // Side by side, or where the scene is wide one above the other.
    if (this.canvas === this.canvas.parentElement?.firstChild) this.canvas.parentElement.classList.toggle("stacked", x1 - x0 > 1.2 * (y1 - y0));
    this.view = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, w: x1 - x0 + 2 * margin, h: y1 - y0 + 2 * margin, zoom: 1 };
    this.draw();
  }

  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; this.#paint(); });
  }

  // CSS pixels of the canvas for one metre.
  get scale() {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return this.view.zoom * Math.min((w - 34) / this.view.w, (h - 20) / this.view.h);
  }

  // A point of the world [m] in CSS pixels of the canvas, and back; numbers of the axes stand left and below.
  toPage([x, y]) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [(w + 34) / 2 + this.scale * (x - this.view.x), (h - 20) / 2 - this.scale * (y - this.view.y)];
  }

  toWorld([px, py]) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [this.view.x + (px - (w + 34) / 2) / this.scale, this.view.y - (py - (h - 20) / 2) / this.scale];
  }

  // All points of the modules in a frame.
  positions(frame) {
    const numbers = this.shapes.modules.flatMap((m) => [m.root, ...(m.base ? [...m.base.corners, ...m.base.struts] : m.stands),
      ...m.links.flat(), ...m.beams.flat(), ...m.outlines.flat(), ...m.standOutline]);
    return numbers.map((number) => this.#point(frame.points, number));
  }

  #point(points, number) { return this.axes.map((axis) => points[this.shapes.axes * number + axis]); }

  #follow(frame) {
    const [x, y] = this.#point(frame.points, this.main.followed), last = this.trail.at(-1);
    if (!last || Math.hypot(x - last[0], y - last[1]) > 1e-3) this.trail.push([x, y]);
    if (this.trail.length > TRAIL) this.trail.splice(0, TRAIL / 4);
  }

  #paint() {
    const { canvas } = this, ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w || !h || !this.view) return;
    const size = [Math.round(w * ratio), Math.round(h * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const c = canvas.getContext("2d"), ink = inks(), pen = new Pen(c, (point) => this.toPage(point), this.scale);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, h);
    c.lineJoin = c.lineCap = "round";
    this.#grid(c, w, h, ink);
    c.save();
    c.beginPath(); c.rect(34, 0, w - 34, h - 20); c.clip();
    if (this.axes[0] === 0 && this.axes[1] === 1) drawZones(pen, this.shapes.zones ?? [], ink);
    if (this.plan.length > 1) pen.line(this.plan, ink.soft, 1.4, [7, 5]);
    if (this.options.trail && this.trail.length > 1) pen.line(this.trail, ink.blue, 1.8);
    const [main, ...others] = this.frames;
    if (main?.robot) {
      const at = (number) => this.#point(main.points, number);
      drawRobot(pen, this.shapes, at, main.opening, ink);
      drawContacts(pen, this.shapes.contacts, at, main.closed, ink);
    }
    if (main?.reference && this.options.reference) this.#ghost(pen, main, ink);
    if (this.options.vision) for (const seen of main?.seen ?? []) pen.cross(this.#inPage(seen), 7, ink.violet);
    others.forEach((other, i) => other?.robot && drawOutline(pen, this.shapes.modules, (number) => this.#point(other.points, number), [ink.orange, ink.green, ink.violet][i % 3], 1.8));
    for (const overlay of this.overlays) overlay(pen, ink);
    c.restore();
  }

  // The reference; where the error is magnified, where it would be if the error were as large, and an arrow to it.
  #ghost(pen, frame, ink) {
    const n = this.shapes.axes, offset = frame.points.length - n * this.shapes.ghost.length, by = this.options.magnify;
    const at = (number) => {
      const now = this.#point(frame.points, number), i = this.ghostIndex.get(number);
      return i === undefined ? now : this.axes.map((axis, k) => now[k] + by * (frame.points[offset + n * i + axis] - now[k]));
    };
    drawOutline(pen, [this.main], at, by > 1 ? ink.orange : ink.ink);
    if (by > 1) pen.line([this.#point(frame.points, this.main.followed), at(this.main.followed)], ink.orange, 2.4);
  }

  #grid(c, w, h, ink) {
    const table = this.shapes.table, isTable = this.axes[0] === 0 && this.axes[1] === 1, { scale } = this;
    if (table && isTable) {
      const [x0, y1] = this.toPage(table), [x1, y0] = this.toPage(table.slice(2));
      c.fillStyle = ink.table;
      c.fillRect(Math.max(x0, 34), Math.max(y0, 0), Math.min(x1, w) - Math.max(x0, 34), Math.min(y1, h - 20) - Math.max(y0, 0));
    }
    const step = GRID_M.find((size) => size * scale >= GRID_PX) ?? GRID_M.at(-1), places = step < 0.1 ? 2 : 1;
    Object.assign(c, { strokeStyle: ink.line, fillStyle: ink.soft, lineWidth: 1, font: "11px system-ui, sans-serif" });
    const [left, high] = this.toWorld([34, 0]), [right, low] = this.toWorld([w, h - 20]);
    c.beginPath();
    for (let i = Math.ceil(left / step); i * step < right; i += 1) {
      const [x] = this.toPage([i * step, 0]);
      c.moveTo(x, 0); c.lineTo(x, h - 20);
      if (x < w - 12) { c.textAlign = "center"; c.fillText((i * step).toFixed(places), x, h - 6); }
    }
    for (let i = Math.ceil(low / step); i * step < high; i += 1) {
      const [, y] = this.toPage([0, i * step]);
      c.moveTo(34, y); c.lineTo(w, y);
      if (y > 8) { c.textAlign = "right"; c.fillText((i * step).toFixed(places), 30, y + 4); }
    }
    c.stroke();
    c.textAlign = "right";
    c.fillText(this.label, w - 6, 13);
  }
}

const x1IsAbove = ([[x0, x1], [y0, y1]]) => x1 > x0 || y1 > y0;

// Pan by one finger, the mouse or arrow keys, zoom by two fingers, the wheel, + and -; `view.grab(point)` may take the
// pointer instead.
function letPointerMove(view) {
  const { canvas } = view, held = new Map();
  const zoom = (factor, at) => {
    if (!view.view) return;
    const [x, y] = view.toWorld(at);
    view.view.zoom = Math.min(60, Math.max(0.2, view.view.zoom * factor));
    const [nextX, nextY] = view.toWorld(at);
    view.view.x += x - nextX; view.view.y += y - nextY;
    view.draw();
  };
  const pan = (before, now) => {
    view.view.x -= (now[0] - before[0]) / view.scale;
    view.view.y += (now[1] - before[1]) / view.scale;
    view.draw();
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 500), [event.offsetX, event.offsetY]);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const at = [event.offsetX, event.offsetY];
    view.held = view.view && held.size === 0 ? view.grab?.(at) ?? null : null;
    held.set(event.pointerId, at);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId), now = [event.offsetX, event.offsetY];
    if (!before || !view.view) return;
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const spread = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      zoom(spread(now) / Math.max(spread(before), 1), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
    } else if (view.held) view.held(now);
    else pan(before, now);
    held.set(event.pointerId, now);
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, (event) => { held.delete(event.pointerId); view.held = null; });
  }
  canvas.addEventListener("dblclick", () => view.fit());
  const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
  canvas.addEventListener("keydown", (event) => {
    if (!view.view || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in steps) pan([0, 0], steps[event.key]);
    else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.25 : 0.8, [canvas.clientWidth / 2, canvas.clientHeight / 2]);
    else if (event.key === "0") view.fit();
    else return;
    event.preventDefault();
  });
}

// One canvas for each projection.
export function sceneViews(parent, shapes, sides) {
  parent.replaceChildren();
  return sides.map((axes) => {
    const canvas = element("canvas");
    parent.append(canvas);
    const label = axes[1] === 1 ? "from above" : `from the side, ${"xyz"[axes[0]]}${"xyz"[axes[1]]}`;
    return new SceneView(canvas, shapes, axes, label);
  });
}

// What the marks of a scene mean.
export function sceneLegend(shapes, parts) {
  const has = { jet: shapes.modules.some((module) => module.jets.length), contact: shapes.contacts.length > 0 };
  const marks = [["robot", "hull"], ["reference", "ink", "dashed"], ["path", "blue"],
    ...(has.jet ? [["jet", "orange"]] : []), ...(has.contact ? [["contact: full closed, hollow open, orange slips", "green", "round"]] : []),
    ...(shapes.zones.length ? [["keep out", "red", "round"]] : []),
    ...(parts.plan ? [["plan", "soft", "dashed"]] : []), ...(parts.vision ? [["seen by a camera", "violet", "round"]] : [])];
  return marks.map(([name, ink, shape = ""]) => element("span", {}, element("i", { class: `mark ${ink} ${shape}` }), name));
}
