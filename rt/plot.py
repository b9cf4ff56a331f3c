"""A run on one page: the table from above with the robot on it, errors, torques, valves and step times."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Polygon, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from config import coordinates
from config.base import spatial
from config.errors import InputError
from config.records import Array
from config.testbed import Testbed
from mrds.tree import Tree
from rt.channels import STEPS
from rt.log import Log
from rt.reasons import Reason

SIZE_IN = (14.0, 10.0)
DPI = 120

# Okabe and Ito's colours, which every kind of colour vision tells apart; grey for black, olive for yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#4D4D4D", "#8C7A00")
_STOP, _WARNING = "#B8001F", "#B87700"
_INK, _SOFT, _PALE = "#22262B", "#5D666F", "#C3C9CF"
_GRANITE, _GRANITE_EDGE = "#D4D5D7", "#8F9499"
_STYLE: dict[str, Any] = {
    "agg.path.chunksize": 10000,
    "axes.axisbelow": True,
    "axes.edgecolor": _SOFT,
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "grid.color": "#E6E9EC",
    "grid.linewidth": 0.7,
    "legend.borderaxespad": 0.3,
    "legend.borderpad": 0,
    "legend.columnspacing": 1.2,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 1.5,
    "legend.handletextpad": 0.5,
    "lines.linewidth": 1.2,
    "text.color": _INK,
    "text.parse_math": False,  # a title may have a dollar sign in it
    "xtick.color": _SOFT,
    "xtick.labelsize": 8.5,
    "ytick.color": _SOFT,
    "ytick.labelsize": 8.5,
}

#: a number beyond this is a fault, and must not blow up the axes
_LARGEST = 1e9
#: the eye sees no more points than these; a longer run is drawn by the extremes of short stretches of it
_POINTS = 6000
#: how often the vehicle is drawn between the first and the last time
_INSTANTS = 4
#: stretches of the run for which thrust is drawn along the path
_STRETCHES = 60
#: a warning that comes more often than this is not drawn through the panels
_LINES = 12


def plot_log(log: Log, path: Path, overwrite: bool = False) -> None:
    """Draw a run into a PNG file, which appears whole or not at all; `InputError` if it can't be written."""
    if path.suffix.lower() != ".png":
        raise InputError(f"plot '{path}': expected a name that ends in .png")
    if path.exists() and not overwrite:
        raise InputError(f"plot '{path}' exists: expected a new name, or leave to overwrite it")
    unfinished = path.with_name(f".granite-{os.getpid()}.png")
    try:
        with open(unfinished, "wb") as file, matplotlib.style.context(["default", _STYLE]):
            _figure(log).savefig(file, format="png", dpi=DPI)
        os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"plot '{path}' can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


class _Run:
    """The numbers of a log as they are drawn: finite or NaN, and what was really so where that is known."""

    def __init__(self, log: Log) -> None:
        rows = np.clip(np.where(np.isfinite(log.rows), log.rows, np.nan), -_LARGEST, _LARGEST)

        def entry(topic: str, name: str) -> Array:
            values: Array = rows[:, log.channels.place(topic, name)]
            return values

        self.bed: Testbed = log.bed
        self.t = entry("/timing", "scheduled")
        self.end = float(self.t[-1]) + log.bed.loop.period_s
        truth, estimate, ready = entry("/truth", "q"), entry("/state", "q"), entry("/state", "ready") == 1.0
        self.measure = "estimate" if np.isnan(truth).all() else "truth"
        self.q = truth if self.measure == "truth" else np.where(ready[:, None], estimate, np.nan)
        self.reference = np.where(ready[:, None], entry("/reference", "q"), np.nan)
        self.torque = entry("/applied", "torque")
        self.opening = np.clip(np.nan_to_num(entry("/applied", "opening")), 0.0, 1.0)
        self.steps = entry("/timing", "steps")
        joints = [joint.name for joint in log.bed.robot.joints_in_tree_order()]
        self.looks = {name: _look(i) for i, name in enumerate(joints)}
        self.units = log.bed.devices.thrusters.units if log.bed.devices.thrusters else ()

    @property
    def marker(self) -> str:
        """A run of one tick is a point, and a line of one point is nothing."""
        return "o" if len(self.t) == 1 else ""


def _look(i: int) -> dict[str, Any]:
    """Colour of the i-th line; when the colours are used up they come again, dashed."""
    return {"color": _COLOURS[i % len(_COLOURS)], "ls": "-" if i < len(_COLOURS) else (0, (3, 1.5))}


def _figure(log: Log) -> Figure:
    """The page: what happened on the table at the left, over time at the right."""
    run, events = _Run(log), _events(log)
    figure = Figure(figsize=SIZE_IN, dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    _write_title(figure, log, run)
    _draw_table(figure.add_axes((0.05, 0.335, 0.505, 0.545)), run)
    _draw_steps(figure.add_axes((0.108, 0.058, 0.37, 0.2)), run)
    panels = _panels(run)
    height = _draw_events(figure, events, run)
    top = 0.88 - height
    gaps = [(0.045 if panel.title else 0.03) + 0.011 * (panel.lines - 1) for panel in panels[1:]]
    unit = (top - 0.058 - sum(gaps)) / max(sum(panel.height for panel in panels), 1.0)
    axes: list[Axes] = []
    for panel, gap in zip(panels, [*gaps, 0.0], strict=True):
        tall = unit * panel.height
        axes.append(figure.add_axes((0.625, top - tall, 0.36, tall), sharex=axes[0] if axes else None))
        axes[-1].set_title(panel.title, pad=6.0 if panel.lines == 1 else 6.0 + 9.0 * panel.lines)
        panel.draw(axes[-1])
        axes[-1].tick_params(labelbottom=panel is panels[-1])
        top -= tall + gap
    for each in axes:
        each.set_xlim(float(run.t[0]), run.end)
        for event in events:
            if len(event.times) <= _LINES:
                for t in event.times:
                    each.axvline(t, color=event.colour, linewidth=1.3 if event.stops else 0.7, zorder=4)
            else:
                top_edge = np.ones(len(event.times))
                style: dict[str, Any] = {"transform": each.get_xaxis_transform(), "clip_on": False}
                each.plot(event.times, top_edge, "|", color=event.colour, ms=7, scalex=False, **style)
    if axes:
        axes[-1].set_xlabel("time [s]")
    return figure


def _write_title(figure: Figure, log: Log, run: _Run) -> None:
    bed, info = log.bed, log.info
    title = bed.title if len(bed.title) <= 120 else f"{bed.title[:119]}…"
    size = min(17.0, 17.0 * 88 / len(title)) if title else 17.0
    figure.text(0.02, 0.952, title, fontsize=size, fontweight="bold", va="center")
    mode = {"virtual": "virtual time", "realtime": "real time"}.get(info.get("mode", ""), info.get("mode"))
    ticks = f"{len(run.t)} tick{'s' if len(run.t) > 1 else ''}"
    facts = [
        bed.name,
        mode,
        f"seed {bed.seed}",
        f"{run.end - float(run.t[0]):.4g} s, {ticks} of {bed.loop.period_s * 1e3:.4g} ms",
        f"model: {info['model']}" if "model" in info else None,
    ]
    text = "   ·   ".join(fact for fact in facts if fact)
    figure.text(0.02, 0.92, text, fontsize=10, color=_SOFT, va="center")
    if not log.complete:
        cut = "the log is cut: the run went on"
        figure.text(0.985, 0.92, cut, fontsize=10, color=_STOP, fontweight="bold", va="center", ha="right")


# The table from above.


class _Skeleton:
    """Where the parts of the robot are, seen from above, for many instants at once."""

    def __init__(self, bed: Testbed) -> None:
        robot = bed.robot
        self._points: list[tuple[str, tuple[float, ...]]] = []
        children = {body.name: [j for j in robot.joints if j.parent == body.name] for body in robot.bodies}
        self.root = self._add(robot.root.name)
        #: where the arms stand on the root
        self.feet = [self._add(joint.child) for joint in children[robot.root.name]]
        #: both ends of each part of a link
        self.links: list[tuple[int, int]] = []
        for body in robot.in_tree_order()[1:]:
            start = self._add(body.name)
            ends = [self._add(joint.child) for joint in children[body.name]]
            ends += [self._add(body.name, point.position_m) for point in robot.points if point.body == body.name]
            self.links += [(start, end) for end in ends or [self._add(body.name, body.com_m)]]
        self.tips = [self._add(point.body, point.position_m) for point in robot.points]
        units = bed.devices.thrusters.units if bed.devices.thrusters else ()
        self.nozzles = [self._add(robot.root.name, unit.position_m) for unit in units]
        #: a metre from the nozzle, where the jet goes
        self.jets = [
            self._add(robot.root.name, np.subtract(spatial(unit.position_m), _unit(unit.direction))) for unit in units
        ]
        self.nose = self._add(robot.root.name, (1.0, 0.0))
        tree = Tree(robot)
        positions = ca.vertcat(*(tree.point_position(body, place)[:2] for body, place in self._points))
        self._function = ca.Function("seen_from_above", [tree.q], [positions])

        # As large as what is mounted on it; a disc of its mass and inertia where there is nothing.
        mounted = [math.hypot(*j.origin_m[:2]) for j in children[robot.root.name]]
        mounted += [math.hypot(*unit.position_m[:2]) for unit in units]
        inertia = robot.root.inertia_kg_m2
        moment = inertia if isinstance(inertia, float) else inertia[2]
        self.radius = max([*mounted, 0.0]) or math.sqrt(2 * moment / robot.root.mass_kg)
        self.floats = robot.base == "floating"
        #: what the path is drawn of
        self.followed = [self.root] if self.floats or not self.links else self.tips or [self.links[-1][1]]
        if not self.floats:
            lengths = [math.hypot(*joint.origin_m[:2]) for joint in robot.joints]
            self.radius = 0.5 * max([*lengths, *(math.hypot(*p.position_m[:2]) for p in robot.points), 0.1])

    def at(self, q: Array) -> Array:
        """x and y of every point: (instants, points, 2) [m]."""
        flat = np.array(self._function(ca.DM(q.T)))
        return flat.T.reshape(len(q), -1, 2)

    def _add(self, body: str, position: Any = (0.0, 0.0, 0.0)) -> int:
        self._points.append((body, tuple(float(x) for x in position)))
        return len(self._points) - 1


def _unit(direction: Sequence[float]) -> Array:
    return np.array(spatial(tuple(direction))) / math.hypot(*direction)


def _draw_table(axes: Axes, run: _Run) -> None:
    skeleton, table = _Skeleton(run.bed), run.bed.safety.table_m
    axes.set_title("Seen from above")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]", labelpad=2)
    handles: list[Any] = []
    if table:
        x, y, width, height = table[0], table[1], table[2] - table[0], table[3] - table[1]
        axes.add_patch(Rectangle((x, y), width, height, facecolor=_GRANITE, edgecolor=_GRANITE_EDGE, lw=1.2))
        axes.annotate(
            "the table, as far as the centre of the base may go",
            table[:2],
            xytext=(5, 5),
            textcoords="offset points",
            fontsize=8,
            color=_SOFT,
        )
        axes.grid(color="white", alpha=0.7)
    known = np.flatnonzero(np.isfinite(run.q).all(axis=1))
    if len(known) == 0:
        axes.text(0.5, 0.5, "where the robot was is not known", transform=axes.transAxes, ha="center", color=_SOFT)
        _show(axes, np.reshape(table or (0.0, 0.0), (-1, 2)), 0.2, table)
        return
    along = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), _POINTS)).astype(int))]
    seen = skeleton.at(run.q[along])
    followed = skeleton.followed
    wanted = np.flatnonzero(np.isfinite(run.reference).all(axis=1))
    wanted = wanted[:: max(len(wanted) // _POINTS, 1)]
    if len(wanted):
        for i, point in enumerate(followed):
            x, y = skeleton.at(run.reference[wanted])[:, point].T
            name = "reference" if i == 0 else None
            axes.plot(x, y, color=_INK, lw=1.0, ls=(0, (5, 3)), zorder=7, label=name, marker=run.marker, ms=3)
    for i, point in enumerate(followed):
        name = f"path of the {'base' if skeleton.floats else 'tip'} ({run.measure})" if i == 0 else None
        x, y = seen[:, point].T
        axes.plot(x, y, color=_COLOURS[0], lw=2.2, zorder=6, label=name, marker=run.marker, ms=5)
    instants = _instants(seen)
    for i in instants:
        solid = i in (instants[0], instants[-1])
        _draw_robot(axes, skeleton, seen[i], solid, zorder=3.0 if solid else 2.0)
    handles += axes.get_legend_handles_labels()[0]
    if run.units and _draw_jets(axes, skeleton, run):
        handles.append(Line2D([], [], color=_SOFT, marker=">", ls="", ms=6, label="jets (mean opening)"))
    _label_ends(axes, skeleton, run, seen, along)
    reach = seen[instants][:, [skeleton.root, *(end for link in skeleton.links for end in link)]].reshape(-1, 2)
    _show(axes, np.vstack((reach, seen[:, followed].reshape(-1, 2))), skeleton.radius, table)
    _legend(axes, handles)


def _instants(seen: Array) -> list[int]:
    """The first, the last, and some between that are equally far apart in motion rather than in time."""
    coarse = np.unique(np.linspace(0, len(seen) - 1, min(len(seen), 100)).astype(int))
    moved = np.linalg.norm(np.diff(seen[coarse], axis=0), axis=2).mean(axis=1)
    total = np.concatenate(([0.0], np.cumsum(moved)))
    if total[-1] < 1e-2:
        return sorted({0, len(seen) - 1})
    return sorted({int(coarse[np.searchsorted(total, s)]) for s in np.linspace(0, total[-1], _INSTANTS + 2)})


def _draw_robot(axes: Axes, skeleton: _Skeleton, points: Array, solid: bool, zorder: float) -> None:
    alpha, edge = (1.0, _INK) if solid else (0.28, _SOFT)
    radius, thick = skeleton.radius, 0.16 * skeleton.radius
    root = points[skeleton.root]
    style: dict[str, Any] = {"edgecolor": edge, "alpha": alpha, "linewidth": 0.9}
    if skeleton.floats:
        axes.add_patch(Circle(root, radius, facecolor="#AFC1D1", zorder=zorder, **style))
        nose = root + (points[skeleton.nose] - root) * radius * np.array([[0.35], [0.8]])
        axes.plot(*nose.T, color=edge, alpha=alpha, lw=1.4, solid_capstyle="round", zorder=zorder + 0.1)
        for nozzle, jet in zip(skeleton.nozzles, skeleton.jets, strict=True):
            out = (points[jet] - points[nozzle]) * 0.11 * radius
            axes.add_patch(
                Polygon(_wedge(points[nozzle], out, 0.5), facecolor=edge, alpha=alpha, lw=0, zorder=zorder + 0.1)
            )
    else:
        for foot in skeleton.feet:
            axes.add_patch(
                Rectangle(
                    points[foot] - 1.6 * thick,
                    3.2 * thick,
                    3.2 * thick,
                    facecolor="#AFC1D1",
                    zorder=zorder,
                    **style,
                )
            )
    for start, end in skeleton.links:
        capsule = _capsule(points[start], points[end], thick)
        axes.add_patch(Polygon(capsule, facecolor="#FAFBFC", zorder=zorder + 0.2, **style))
    for start in sorted({start for start, _ in skeleton.links}):
        axes.add_patch(Circle(points[start], 0.5 * thick, facecolor=edge, alpha=alpha, lw=0, zorder=zorder + 0.3))


def _draw_jets(axes: Axes, skeleton: _Skeleton, run: _Run) -> bool:
    """A jet where each valve was open, as long as it was open on average over a short stretch of time."""
    edges = np.unique(np.linspace(0, len(run.t), min(len(run.t), _STRETCHES) + 1).astype(int))
    opening = np.add.reduceat(run.opening, edges[:-1]) / np.diff(edges)[:, None]
    middle = run.q[(edges[:-1] + edges[1:]) // 2]
    kept = np.isfinite(middle).all(axis=1) & (opening > 0).any(axis=1)
    if not kept.any():
        return False
    seen, opening = skeleton.at(middle[kept]), opening[kept] / opening.max()
    for i, (nozzle, jet) in enumerate(zip(skeleton.nozzles, skeleton.jets, strict=True)):
        out = (seen[:, jet] - seen[:, nozzle]) * (0.6 * skeleton.radius * opening[:, i, None])
        wedges = [_wedge(p, o, 0.14) for p, o in zip(seen[:, nozzle], out, strict=True) if o.any()]
        axes.add_collection(
            PolyCollection(wedges, facecolor=_COLOURS[i % len(_COLOURS)], alpha=0.8, lw=0, zorder=5),
            autolim=False,
        )
    return True


def _label_ends(axes: Axes, skeleton: _Skeleton, run: _Run, seen: Array, along: Array) -> None:
    """Time of the first and the last instant, beside base or tip where there is most room."""
    anchor, distance = (skeleton.root, 1.0) if skeleton.floats else (skeleton.followed[0], 0.4)
    ends = seen[[0, -1]]
    links = [np.linspace(ends[:, start], ends[:, end], 5).reshape(-1, 2) for start, end in skeleton.links]
    busy = np.vstack((*links, seen[:, anchor]))
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    around = distance * skeleton.radius * np.column_stack((1.4 * np.cos(angles), 1.2 * np.sin(angles)))
    first, last = ends[:, anchor]
    for i, position in ((0, first), (-1, last)):
        if i == 0 and np.linalg.norm(last - first) < 0.5 * skeleton.radius:
            continue  # in the same place: the last one speaks for both
        free = np.linalg.norm((position + around)[:, None] - busy, axis=2).min(axis=1)
        x, y = position + around[int(np.argmax(free))]
        label = f"{float(run.t[along[i]]):.4g} s"
        halo = [withStroke(linewidth=3, foreground="white")]
        axes.text(x, y, label, ha="center", va="center", fontweight="bold", path_effects=halo, zorder=8)


def _wedge(tip: Array, out: Array, slope: float) -> Array:
    """A triangle that opens from its tip along `out`."""
    across = slope * np.array([-out[1], out[0]])
    return np.array([tip, tip + out + across, tip + out - across])


def _capsule(start: Array, end: Array, thickness: float) -> Array:
    """The outline of a bar with round ends."""
    angle = math.atan2(*(end - start)[::-1])
    half = np.linspace(-np.pi / 2, np.pi / 2, 13) + angle
    arc = thickness * np.column_stack((np.cos(half), np.sin(half)))
    return np.vstack((end + arc, start - arc))


def _show(axes: Axes, points: Array, margin: float, table: tuple[float, ...] | None) -> None:
    """Everything in view, and the table whole; a robot lost far away does not shrink it to a dot."""
    low, high = points.min(axis=0) - 1.1 * margin, points.max(axis=0) + 1.1 * margin
    if table:
        size = max(table[2] - table[0], table[3] - table[1])
        corner, opposite = np.array(table[:2]), np.array(table[2:])
        low = np.clip(low, corner - size, corner - 0.3 * margin)
        high = np.clip(high, opposite + 0.3 * margin, opposite + size)
    # As much to each side as fills the panel with equal scales.
    box = axes.get_position()
    shape = np.array([box.width * SIZE_IN[0], box.height * SIZE_IN[1]])
    half = 0.5 * shape * ((high - low) / shape).max()
    middle = 0.5 * (low + high)
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])


# Over time.


class _Panel(NamedTuple):
    title: str
    height: float
    draw: Callable[[Axes], None]
    lines: int = 1  #: of the legend above it


def _panels(run: _Run) -> list[_Panel]:
    """What this testbed has to show over time."""
    robot = run.bed.robot
    joints = {joint.name for joint in robot.joints}
    names = list(enumerate(coordinates.positions(robot)))
    error = run.q - run.reference
    panels: list[_Panel] = []
    for what, unit, of_joints in (
        ("position", "m", False),
        ("heading", "rad", False),
        ("joints", "rad", True),
        ("sliding joints", "m", True),
    ):
        group = {c.name: error[:, i] for i, c in names if (c.name in joints) == of_joints and c.unit == unit}
        if group:
            title = "" if panels else f"Tracking error: {run.measure} − reference"
            draw = _error_panel(run, f"{what} [m{unit}]", group)
            panels.append(_Panel(title, 1.0, draw, lines=_legend_lines(list(group))))
    if run.bed.devices.motors:
        title = "Motor torques, colours as above"
        panels.append(_Panel(title, 1.0, lambda axes: _draw_torques(axes, run)))
    if run.units:
        title = f"Valves: mean opening {float(run.opening.mean()):.1%}"
        height = min(max(1.0, 0.17 * len(run.units)), 3.0)
        panels.append(_Panel(title, height, lambda axes: _draw_valves(axes, run)))
    return panels


def _error_panel(run: _Run, label: str, group: dict[str, Array]) -> Callable[[Axes], None]:
    def draw(axes: Axes) -> None:
        axes.axhline(0, color=_PALE, lw=0.9)
        root = run.bed.robot.root.name
        for i, (name, error) in enumerate(group.items()):
            look = run.looks.get(name, _look(i))
            _line(axes, run, error * 1e3, label=_words(name.removeprefix(f"{root}_")), **look)
        axes.set_ylabel(label)
        if len(group) > 1 or group.keys() <= run.looks.keys():
            _legend(axes, axes.get_legend_handles_labels()[0])

    return draw


def _draw_torques(axes: Axes, run: _Run) -> None:
    motors = run.bed.devices.motors
    axes.axhline(0, color=_PALE, lw=0.9)
    for i, motor in enumerate(motors):
        _line(axes, run, run.torque[:, i], lw=0.8, **run.looks[motor.joint])
    limits = sorted({motor.torque_limit_n_m for motor in motors})
    # Torques far from the limits would be a flat line between them: the limits are then told, not drawn.
    seen = float(np.nanmax(np.abs(run.torque), initial=0.0)) > 0.2 * limits[0]
    if seen:
        for motor in motors:
            for limit in (-motor.torque_limit_n_m, motor.torque_limit_n_m):
                axes.axhline(limit, color=run.looks[motor.joint]["color"], lw=0.9, ls=(0, (1, 1.5)))
    told = " to ".join(f"±{limit:g}" for limit in dict.fromkeys((limits[0], limits[-1])))
    where = "dotted" if seen else "out of view"
    axes.set_title(f"limits {told} N m, {where}", loc="right", fontsize=8.5, fontweight="normal", color=_SOFT)
    axes.set_ylabel("torque [N m]")


def _draw_valves(axes: Axes, run: _Run) -> None:
    """A lane for each thruster, filled as far as its valve is open; in a long run, on average."""
    starts = np.arange(0, len(run.t), -(-len(run.t) // _POINTS))
    opening = np.add.reduceat(run.opening, starts) / np.diff(starts, append=len(run.t))[:, None]
    edges = np.append(run.t[starts], run.end)
    x = np.repeat(edges, 2)[1:-1]
    for i in range(len(run.units)):
        y = i + 0.4 - 0.8 * np.repeat(opening[:, i], 2)
        colour = _COLOURS[i % len(_COLOURS)]
        axes.fill_between(x, y, i + 0.4, facecolor=colour, edgecolor=colour, lw=0.5)
    axes.set_ylim(len(run.units) - 0.4, -0.6)
    axes.set_yticks(
        range(len(run.units)),
        [_words(unit.name) + (" (failed)" if unit.failed else "") for unit in run.units],
    )
    if len(run.units) > 12:
        axes.tick_params(axis="y", labelsize=6)
    axes.grid(visible=False, axis="y")
    axes.set_ylabel("thruster")


def _line(axes: Axes, run: _Run, values: Array, **style: Any) -> None:
    """The values over time; of a long run the extremes of each stretch, so that no peak is lost."""
    t = run.t
    if len(t) > 2 * _POINTS:
        starts = np.arange(0, len(t), -(-len(t) // _POINTS))
        low, high = (f.reduceat(values, starts) for f in (np.fmin, np.fmax))
        t, values = np.repeat(t[starts], 2), np.column_stack((low, high)).ravel()
    axes.plot(t, values, marker=run.marker, ms=4, clip_on=not run.marker, **style)
    axes.yaxis.set_major_locator(MaxNLocator(4, min_n_ticks=3))


class _Event(NamedTuple):
    name: str
    stops: bool
    times: list[float]

    @property
    def colour(self) -> str:
        return _STOP if self.stops else _WARNING


def _events(log: Log) -> list[_Event]:
    """What happened, by name, each with the times at which it did."""
    found: dict[str, _Event] = {}

    def add(name: str, stops: bool, t: float) -> None:
        event = found.setdefault(name, _Event(name, stops, []))
        if math.isfinite(t) and not any(abs(t - other) < 1e-9 for other in event.times):
            event.times.append(t)

    for happened in log.events:
        add(str(happened["name"]), happened["level"] == "error", float(happened["t_s"]))
    place = log.channels.place
    for row in log.rows[log.rows[:, place("/verdict", "stop")] == 1.0][:1]:
        add(
            Reason(int(row[place("/verdict", "reason")])).name.lower(),
            True,
            float(row[place("/timing", "scheduled")]),
        )
    ended = (log.summary or {}).get("ended", "completed")
    if ended != "completed" and ended not in found:
        add(str(ended), True, float(log.rows[-1, place("/timing", "scheduled")]))
    return [event for event in found.values() if event.times]


def _draw_events(figure: Figure, events: list[_Event], run: _Run) -> float:
    """A strip above the panels that names what is marked in them; the height it takes of the figure."""
    if not events:
        return 0.0
    start, length = float(run.t[0]), run.end - float(run.t[0])
    taken: list[list[tuple[float, float]]] = []
    labels = []
    for event in sorted(events, key=lambda e: e.times[0]):
        label = _words(event.name) + (f" ({len(event.times)} times)" if len(event.times) > 1 else "")
        at, width = (event.times[0] - start) / length, 0.0145 * len(label) + 0.03
        left, right = (at - width, at) if at + width > 1 else (at, at + width)
        row = 0
        while row < len(taken) and any(left <= b and a <= right for a, b in taken[row]):
            row += 1
        if row == len(taken):
            taken.append([])
        taken[row].append((left, right))
        labels.append((event, label, left < at, row))
    height = 0.02 * len(taken)
    axes = figure.add_axes((0.625, 0.888 - height, 0.36, height))
    axes.set_axis_off()
    axes.set_xlim(start, run.end)
    axes.set_ylim(len(taken) - 0.5, -0.5)
    for event, label, before, row in labels:
        axes.plot(event.times[0], row, "v", ms=4.5, color=event.colour, clip_on=False)
        axes.annotate(
            label,
            (event.times[0], row),
            xytext=(-6 if before else 6, 0),
            textcoords="offset points",
            ha="right" if before else "left",
            va="center",
            color=event.colour,
            fontsize=8.5,
            fontweight="bold" if event.stops else "normal",
        )
    return height + 0.025


# The tick.


def _draw_steps(axes: Axes, run: _Run) -> None:
    """Median and 99th percentile of each step and of the whole tick."""
    names = (*STEPS, "whole tick")
    times = np.column_stack((run.steps, run.steps.sum(axis=1)))
    times = times[np.isfinite(times).all(axis=1)] * 1e6
    axes.set_title("Time that the steps of a tick take")
    if not (times > 0).any():
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no step was timed", transform=axes.transAxes, ha="center", color=_SOFT)
        return
    median, late = np.percentile(times, (50, 99), axis=0)
    period = run.bed.loop.period_s * 1e6
    for i in range(len(names)):
        colour = _INK if i == len(STEPS) else _COLOURS[0]
        axes.plot(
            (max(median[i], 1e-3), max(late[i], 1e-3)),
            (i, i),
            color=colour,
            lw=2.5,
            alpha=0.35,
            solid_capstyle="butt",
        )
        axes.plot(median[i], i, "o", color=colour, ms=6)
        axes.plot(late[i], i, "|", color=colour, ms=10, mew=2)
        for x, text in ((1.13, _short(median[i])), (1.22, _short(late[i]))):
            axes.text(x, i, text, transform=axes.get_yaxis_transform(), va="center", ha="right", fontsize=8.5)
    axes.axvline(period, color=_STOP, lw=1.0, ls=(0, (4, 2)))
    axes.set_xscale("log")
    least = min((time for time in (*median, *late) if time > 0), default=1.0)
    axes.set_xlim(0.5 * min(least, 10.0), 2 * max(period, late.max()))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("time [µs]")
    for x, text in ((1.13, "median"), (1.22, "99 %")):
        axes.text(x, 1.04, text, transform=axes.transAxes, ha="right", fontsize=8.5, color=_SOFT)
    handles = [
        Line2D([], [], color=_COLOURS[0], marker="o", ls="", ms=6, label="median"),
        Line2D([], [], color=_COLOURS[0], marker="|", ls="", ms=9, mew=2, label="99 %"),
        Line2D([], [], color=_STOP, lw=1.0, ls=(0, (4, 2)), label="period"),
    ]
    _legend(axes, handles)


def _short(microseconds: float) -> str:
    return f"{microseconds:.1f}" if microseconds < 10 else f"{microseconds:.0f}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _legend_lines(labels: Sequence[str]) -> int:
    """How many lines a legend takes above a panel; some 75 letters and handles fit into one."""
    return -(-sum(len(label) + 6 for label in labels) // 75)


def _legend(axes: Axes, handles: Sequence[Any]) -> None:
    """Above the panel at its right, where there is no data to cover."""
    lines = _legend_lines([handle.get_label() for handle in handles])
    columns = -(-len(handles) // lines)
    size = 8.5 if lines == 1 else 7.5
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        fontsize=size,
        labelspacing=0.1,
    )
