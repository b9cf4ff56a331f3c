// The table from above (and, in space, from the side): shapes by the numbers of their points, on a 2-D canvas.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const MAGNIFIED = 50; // of the error, where it is drawn larger
const TRAIL = 4000; // points

export class SceneView {
  // `axes`: the two axes of the world that lie in the page.
  constructor(canvas, shapes, axes, label) {
    Object.assign(this, { canvas, shapes, axes, label });
    this.trail = []; this.showTrail = true; this.showGhost = true; this.magnify = false; this.frames = [];
    this.view = null; this.targets = []; this.wanted = false;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    this.#pointer();
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // Frames to draw: one of each run; the first is the main one. A frame has robot, reference, points, opening, closed.
  show(frames, keepTrail = true) {
    this.frames = frames;
    const main = frames[0];
    if (main?.robot && keepTrail) {
      const followed = this.shapes.modules.find((module) => module.main).followed;
      const [x, y] = this.#point(main.points, followed);
      const last = this.trail.at(-1);
      if (!last || Math.hypot(x - last[0], y - last[1]) > 1e-3) this.trail.push([x, y]);
      if (this.trail.length > TRAIL) this.trail.splice(0, TRAIL / 4);
    }
    if (!this.view && main?.robot) this.fit();
    this.draw();
  }

  clear() { this.trail = []; this.view = null; }

  fit(path = []) {
    const table = this.shapes.table, onTable = this.axes[0] === 0 && this.axes[1] === 1;
    let [x0, y0, x1, y1] = table && onTable ? table : [Infinity, Infinity, -Infinity, -Infinity];
    const points = this.frames[0]?.robot ? this.#drawn(this.frames[0]) : [];
    for (const [x, y] of [...points, ...path, ...this.trail]) {
      x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
    if (!(x1 > x0)) [x0, y0, x1, y1] = [-1, -1, 1, 1];
    const margin = 0.06 * Math.max(x1 - x0, y1 - y0, 0.2);
    this.view = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, w: x1 - x0 + 2 * margin, h: y1 - y0 + 2 * margin, zoom: 1 };
    this.draw();
  }

  draw() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => { this.wanted = false; this.#paint(); });
  }

  // Pixels of a point of the world [m], in CSS pixels of the canvas.
  toPage([x, y]) {
    const { clientWidth: w, clientHeight: h } = this.canvas, v = this.view;
    const scale = v.zoom * Math.min(w / v.w, h / v.h);
    return [w / 2 + scale * (x - v.x), h / 2 - scale * (y - v.y), scale];
  }

  positions(frame) { return this.#drawn(frame); }

  #point(points, number) {
    const n = this.shapes.axes;
    return [points[n * number + this.axes[0]], points[n * number + this.axes[1]]];
  }

  #drawn(frame) {
    const numbers = this.shapes.modules.flatMap((m) => [
      m.root, ...(m.base ? [...m.base.corners, ...m.base.struts] : m.stands), ...m.links.flat(), ...m.beams.flat(),
      ...m.outlines.flat(), ...m.standOutline]);
    return numbers.map((number) => this.#point(frame.points, number));
  }

  #paint() {
    const { canvas } = this, ratio = devicePixelRatio || 1;
    const w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w || !h) return;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
    }
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, w, h);
    if (!this.view) return;
    const [, , scale] = this.toPage([0, 0]);
    this.#grid(c, w, h, scale);
    if (this.showTrail && this.trail.length > 1) this.#line(c, this.trail, colour("--blue"), 1.5);
    const [main, second] = this.frames;
    if (second?.robot) this.#robot(c, second, scale, "second");
    if (main?.robot) this.#robot(c, main, scale, "main");
    if (main?.reference && this.showGhost) this.#ghost(c, main, scale);
  }

  #grid(c, w, h, scale) {
    const table = this.shapes.table, onTable = this.axes[0] === 0 && this.axes[1] === 1;
    c.fillStyle = colour("--table");
    if (table && onTable) {
      const [x0, y1] = this.toPage([table[0], table[1]]), [x1, y0] = this.toPage([table[2], table[3]]);
      c.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10].find((s) => s * scale >= 56) ?? 10;
    c.strokeStyle = colour("--line"); c.fillStyle = colour("--soft"); c.lineWidth = 1;
    c.font = "11px system-ui, sans-serif";
    const digits = step < 0.1 ? 2 : 1, v = this.view;
    const [left, right] = [v.x - w / 2 / scale, v.x + w / 2 / scale], [low, high] = [v.y - h / 2 / scale, v.y + h / 2 / scale];
    c.beginPath();
    for (let x = Math.ceil(left / step) * step; x < right; x += step) {
      const [px] = this.toPage([x, 0]);
      c.moveTo(px, 0); c.lineTo(px, h - 16); c.fillText(x.toFixed(digits), px - 9, h - 3);
    }
    for (let y = Math.ceil(low / step) * step; y < high; y += step) {
      const [, py] = this.toPage([0, y]);
      if (py > h - 22) continue;
      c.moveTo(30, py); c.lineTo(w, py); c.fillText(y.toFixed(digits), 2, py + 4);
    }
    c.stroke();
    c.fillText(this.label, w - c.measureText(this.label).width - 6, 13);
  }

  #path(c, points, close) {
    c.beginPath();
    points.forEach((p, i) => { const [x, y] = this.toPage(p); i ? c.lineTo(x, y) : c.moveTo(x, y); });
    if (close) c.closePath();
  }

  #line(c, points, ink, width) { this.#path(c, points, false); c.strokeStyle = ink; c.lineWidth = width; c.stroke(); }

  #robot(c, frame, scale, role) {
    const at = (number) => this.#point(frame.points, number), thickness = this.shapes.thickness * scale;
    const isSecond = role === "second";
    const edge = isSecond ? colour("--orange") : colour("--edge"), hull = colour("--hull");
    c.lineJoin = c.lineCap = "round";
    c.setLineDash(isSecond ? [5, 4] : []);
    for (const m of this.shapes.modules) {
      const fill = (points, ink) => {
        this.#path(c, points, true);
        if (!isSecond) { c.fillStyle = ink; c.fill(); }
        c.strokeStyle = edge; c.lineWidth = 1.4; c.stroke();
      };
      for (const jet of m.jets) {
        const open = frame.opening[jet.thruster] ?? 0;
        if (open <= 0 || isSecond) continue;
        const [x, y] = at(jet.nozzle), [dx, dy] = at(jet.down), reach = open * m.reach || 0.1;
        const end = [x + reach * (dx - x), y + reach * (dy - y)], across = [-(end[1] - y) * 0.13, (end[0] - x) * 0.13];
        this.#path(c, [[x, y], [end[0] + across[0], end[1] + across[1]], [end[0] - across[0], end[1] - across[1]]], true);
        c.fillStyle = colour("--orange"); c.globalAlpha = 0.8; c.fill(); c.globalAlpha = 1;
      }
      for (const stand of m.stands.length && !m.standOutline.length ? m.stands : []) {
        const [x, y] = this.toPage(at(stand)), half = Math.max(4, 2 * thickness);
        c.fillStyle = colour("--line"); c.fillRect(x - half, y - half, 2 * half, 2 * half);
      }
      if (m.standOutline.length) fill(m.standOutline.map(at), colour("--line"));
      if (m.base) this.#base(c, m, at, scale, fill, hull, edge);
      if (m.heading.length) { this.#path(c, m.heading.map(at), true); c.fillStyle = edge; c.fill(); }
      for (const outline of m.outlines) fill(outline.map(at), hull);
      for (const [a, b] of m.links) this.#capsule(c, at(a), at(b), Math.max(2, thickness), hull, edge, isSecond);
      for (const beam of m.beams) {
        if (!isSecond) this.#line(c, beam.map(at), edge, 5);
        this.#line(c, beam.map(at), isSecond ? edge : hull, isSecond ? 2 : 2.6);
      }
      for (const pin of isSecond ? [] : m.pins) {
        const [x, y] = this.toPage(at(pin));
        c.beginPath(); c.arc(x, y, Math.max(1.5, thickness / 2), 0, 7); c.fillStyle = edge; c.fill();
      }
    }
    for (const contact of isSecond ? [] : this.shapes.contacts) {
      const closed = [1, 2].includes(frame.closed[contact.number]), [x, y] = this.toPage(at(contact.second));
      c.beginPath(); c.arc(x, y, 4.5, 0, 7);
      c.strokeStyle = c.fillStyle = colour("--green"); c.lineWidth = 1.8;
      closed ? c.fill() : c.stroke();
    }
    c.setLineDash([]);
  }

  #base(c, m, at, scale, fill, hull, edge) {
    for (const strut of m.base.struts) this.#line(c, [at(m.root), at(strut)], hull, Math.max(2, 0.6 * m.reach * scale));
    if (m.base.corners.length === 1) {
      const [x, y] = this.toPage(at(m.base.corners[0]));
      c.beginPath(); c.arc(x, y, m.base.radius * scale, 0, 7);
      if (!c.getLineDash().length) { c.fillStyle = hull; c.fill(); }
      c.strokeStyle = edge; c.lineWidth = 1.4; c.stroke();
      return;
    }
    if (m.base.radius) { c.save(); c.lineWidth = 2 * m.base.radius * scale; this.#path(c, m.base.corners.map(at), true); c.strokeStyle = hull; if (!c.getLineDash().length) c.stroke(); c.restore(); }
    fill(m.base.corners.map(at), hull);
  }

  #capsule(c, a, b, half, hull, edge, isSecond) {
    if (!isSecond) { this.#line(c, [a, b], edge, 2 * half + 2.4); this.#line(c, [a, b], hull, 2 * half); }
    else this.#line(c, [a, b], edge, 1.4);
  }

  // The reference, dashed; with `magnify`, where it would be if the error were larger.
  #ghost(c, frame, scale) {
    const n = this.shapes.axes, offset = frame.points.length - n * this.shapes.ghost.length;
    const place = new Map(this.shapes.ghost.map((number, i) => [number, i]));
    const by = this.magnify ? MAGNIFIED : 1;
    const at = (number) => {
      const own = this.#point(frame.points, number), i = place.get(number);
      if (i === undefined) return own;
      return this.axes.map((axis, k) => own[k] + by * (frame.points[offset + n * i + axis] - own[k]));
    };
    const m = this.shapes.modules.find((module) => module.main);
    c.setLineDash([4, 3]); c.strokeStyle = colour("--ink"); c.lineWidth = 1.1;
    if (m.base?.corners.length === 1) {
      const [x, y] = this.toPage(at(m.base.corners[0]));
      c.beginPath(); c.arc(x, y, m.base.radius * scale, 0, 7); c.stroke();
    } else if (m.base) { this.#path(c, m.base.corners.map(at), true); c.stroke(); }
    for (const part of [...m.links, ...m.beams]) { this.#path(c, part.map(at), false); c.stroke(); }
    for (const outline of m.outlines) { this.#path(c, outline.map(at), true); c.stroke(); }
    c.setLineDash([]);
  }

  // Pan by one finger or the mouse, zoom by two fingers or the wheel.
  #pointer() {
    const held = new Map();
    const zoom = (factor, px, py) => {
      if (!this.view) return;
      const [cx, cy] = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2], [, , scale] = this.toPage([0, 0]);
      const next = Math.min(60, Math.max(0.2, this.view.zoom * factor)), ratio = 1 / scale - this.view.zoom / next / scale;
      this.view.x += (px - cx) * ratio; this.view.y -= (py - cy) * ratio; this.view.zoom = next;
      this.draw();
    };
    this.canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 500), event.offsetX, event.offsetY); }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => { held.set(event.pointerId, [event.offsetX, event.offsetY]); this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId), now = [event.offsetX, event.offsetY];
      if (!before || !this.view) return;
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const spread = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        zoom(spread(now) / Math.max(spread(before), 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else {
        const [, , scale] = this.toPage([0, 0]);
        this.view.x -= (now[0] - before[0]) / scale; this.view.y += (now[1] - before[1]) / scale;
        this.draw();
      }
      held.set(event.pointerId, now);
    });
    for (const kind of ["pointerup", "pointercancel"]) this.canvas.addEventListener(kind, (event) => held.delete(event.pointerId));
    this.canvas.addEventListener("dblclick", () => this.fit());
  }
}

// One canvas for each projection.
export function sceneViews(parent, shapes, sides) {
  parent.replaceChildren();
  return sides.map((axes) => {
    const canvas = document.createElement("canvas");
    parent.append(canvas);
    const names = "xyz", label = axes[1] === 1 ? "from above" : `from the side, ${names[axes[0]]}${names[axes[1]]}`;
    return new SceneView(canvas, shapes, axes, label);
  });
}
