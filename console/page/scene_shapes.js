// What is drawn of a run on a canvas: robots, jets, contacts, the reference and what cameras see.

// Colours of the page, looked up once in each theme.
export function inks() {
  const style = getComputedStyle(document.documentElement);
  const names = ["table", "line", "soft", "ink", "blue", "green", "orange", "red", "violet", "hull", "edge", "card"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// A pen draws points of the world [m]: `toPage` gives pixels, `scale` pixels of a metre.
export class Pen {
  constructor(context, toPage, scale) {
    Object.assign(this, { c: context, toPage, scale });
  }

  path(points, close = false) {
    this.c.beginPath();
    points.forEach((point, i) => {
      const [x, y] = this.toPage(point);
      if (i) this.c.lineTo(x, y); else this.c.moveTo(x, y);
    });
    if (close) this.c.closePath();
  }

  line(points, ink, width, dash = []) {
    this.path(points);
    this.stroke(ink, width, dash);
  }

  stroke(ink, width, dash = []) {
    Object.assign(this.c, { strokeStyle: ink, lineWidth: width });
    this.c.setLineDash(dash);
    this.c.stroke();
    this.c.setLineDash([]);
  }

  area(points, fill, edge, width = 1.4) {
    this.path(points, true);
    if (fill) { this.c.fillStyle = fill; this.c.fill(); }
    if (edge) this.stroke(edge, width);
  }

  circle(point, radius, fill, edge, width = 1.4, dash = []) {
    const [x, y] = this.toPage(point);
    this.c.beginPath();
    this.c.arc(x, y, radius, 0, 2 * Math.PI);
    if (fill) { this.c.fillStyle = fill; this.c.fill(); }
    if (edge) this.stroke(edge, width, dash);
  }

  cross(point, half, ink, width = 2) {
    const [x, y] = this.toPage(point);
    this.c.beginPath();
    this.c.moveTo(x - half, y); this.c.lineTo(x + half, y);
    this.c.moveTo(x, y - half); this.c.lineTo(x, y + half);
    this.stroke(ink, width);
  }
}

// All modules; `at(number)` is the position of a point.
export function drawRobot(pen, shapes, at, opening, ink) {
  const thickness = Math.max(2, shapes.thickness * pen.scale);
  for (const module of shapes.modules) {
    for (const jet of module.jets) drawJet(pen, module, jet, at, opening[jet.thruster] ?? 0, ink);
    drawStand(pen, module, at, thickness, ink);
    if (module.base) drawBase(pen, module, at, ink);
    if (module.heading.length) pen.area(module.heading.map(at), ink.edge, null);
    for (const outline of module.outlines) pen.area(outline.map(at), ink.hull, ink.edge);
    for (const link of module.links) {
      pen.line(link.map(at), ink.edge, 2 * thickness + 2.4);
      pen.line(link.map(at), ink.hull, 2 * thickness);
    }
    for (const beam of module.beams) {
      pen.line(beam.map(at), ink.edge, 6);
      pen.line(beam.map(at), ink.hull, 3.2);
    }
    for (const pin of module.pins) pen.circle(at(pin), Math.max(1.5, thickness / 2), ink.edge, null);
  }
}

function drawJet(pen, module, jet, at, open, ink) {
  if (open <= 0) return;
  const [x, y] = at(jet.nozzle), [downX, downY] = at(jet.down), reach = open * (module.reach || 0.1);
  const [dx, dy] = [reach * (downX - x), reach * (downY - y)];
  pen.c.globalAlpha = 0.85;
  pen.area([[x, y], [x + dx - 0.16 * dy, y + dy + 0.16 * dx], [x + dx + 0.16 * dy, y + dy - 0.16 * dx]], jet.failed ? ink.red : ink.orange, null);
  pen.c.globalAlpha = 1;
}

function drawStand(pen, module, at, thickness, ink) {
  if (module.standOutline.length) { pen.area(module.standOutline.map(at), ink.line, ink.edge); return; }
  for (const stand of module.stands) {
    const [x, y] = pen.toPage(at(stand)), half = Math.max(5, 2 * thickness);
    pen.c.fillStyle = ink.line;
    pen.c.fillRect(x - half, y - half, 2 * half, 2 * half);
  }
}

function drawBase(pen, module, at, ink) {
  const { corners, radius, struts } = module.base;
  for (const strut of struts) pen.line([at(module.root), at(strut)], ink.hull, Math.max(2, 0.6 * module.reach * pen.scale));
  if (corners.length === 1) { pen.circle(at(corners[0]), radius * pen.scale, ink.hull, ink.edge); return; }
  if (radius) { pen.path(corners.map(at), true); pen.stroke(ink.hull, 2 * radius * pen.scale); }
  pen.area(corners.map(at), ink.hull, ink.edge);
}

// The outline alone, in dashes: the reference, or another run.
export function drawOutline(pen, modules, at, ink, width = 1.3, dash = [5, 4]) {
  for (const module of modules) {
    const corners = module.base?.corners ?? [];
    if (corners.length === 1) pen.circle(at(corners[0]), module.base.radius * pen.scale, null, ink, width, dash);
    else if (corners.length) { pen.path(corners.map(at), true); pen.stroke(ink, width, dash); }
    for (const part of [...module.links, ...module.beams]) pen.line(part.map(at), ink, width, dash);
    for (const outline of module.outlines) { pen.path(outline.map(at), true); pen.stroke(ink, width, dash); }
  }
}

const OPEN = 0, SLIPS = 2, OUT_OF_REACH = 3;

// A contact: full where it is closed, orange where it slips, hollow where it is open; a cross: out of reach.
export function drawContacts(pen, contacts, at, status, ink) {
  for (const { number, first, second, surface } of contacts) {
    const state = status[number] ?? OPEN;
    if (state === OUT_OF_REACH) pen.cross(at(second), 5, ink.red);
    else if (state === OPEN) {
      for (const side of surface ? [second] : [first, second]) pen.circle(at(side), 4.5, ink.card, ink.green, 1.8);
    } else pen.circle(at(second), 5, state === SLIPS ? ink.orange : ink.green, ink.ink, 1);
  }
}

// Zones that the robot stays out of, with their names.
export function drawZones(pen, zones, ink) {
  for (const { name, corners } of zones) {
    pen.path(corners, true);
    Object.assign(pen.c, { globalAlpha: 0.18, fillStyle: ink.red });
    pen.c.fill();
    pen.c.globalAlpha = 1;
    pen.stroke(ink.red, 1.5);
    const middle = [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / corners.length);
    Object.assign(pen.c, { fillStyle: ink.red, font: "11px system-ui, sans-serif", textAlign: "center" });
    pen.c.fillText(name, ...pen.toPage(middle));
  }
}
