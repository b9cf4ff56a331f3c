"""The table from above: the robot on its way, the path it took, the one it should take, and its jets."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle, Patch, Polygon, Rectangle
from matplotlib.patheffects import withStroke

from config.records import Array
from rt.plots.look import ARM, GRANITE, HULL_FIRST, HULL_LAST, INK, PATH, PLUME, SOFT, STOP, words
from rt.plots.run import Run
from rt.plots.silhouette import Silhouette

Indices = npt.NDArray[np.intp]

#: the path is drawn through this many points at most
_POINTS = 2000
#: the robot is drawn this often
_POSES = 5
#: of the longest plume, in radii of the base
_PLUME_LENGTH = 1.6


def draw_top_view(axes: Axes, run: Run) -> None:
    """Everything on the table, to scale; the robot fills the view, and the table goes on beyond it."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.04)
    axes.grid(visible=False)
    axes.set(xlabel="x [m]", ylabel="y [m]")
    silhouette = Silhouette(run.bed)
    handles: list[Artist] = []
    if table := run.bed.safety.table_m:
        x, y, width, height = *table[:2], table[2] - table[0], table[3] - table[1]
        handles.append(axes.add_artist(Rectangle((x, y), width, height, fc=GRANITE, ec=SOFT, label="guarded table")))
    if len(wanted := _known(run.reference)):
        x, y = silhouette.at(run.reference[wanted])[:, silhouette.followed].T
        handles += axes.plot(x, y, color=INK, lw=1.5, ls=(0, (4, 2)), zorder=21, label="reference")
    if len(ticks := _known(run.q)):
        seen = silhouette.at(run.q[ticks])
        x, y = seen[:, silhouette.followed].T
        handles += axes.plot(x, y, color=PATH, lw=3.5, zorder=20, solid_capstyle="round", label=f"path ({run.measure})")
        poses = _poses(seen)
        impulses = _impulses(run, ticks[poses])
        if impulses.any():
            handles.append(Patch(color=PLUME, label="jets"))
        hulls = {poses[0]: HULL_FIRST, poses[-1]: HULL_LAST}
        for order, (pose, impulse) in enumerate(zip(poses, impulses, strict=True), start=2):
            _draw_robot(axes, silhouette, seen[pose], impulse, hulls.get(pose), order)
        _write_times(axes, silhouette, run, seen, ticks)
    else:
        axes.text(0.5, 0.5, "where the robot was is not known", transform=axes.transAxes, ha="center", color=SOFT)
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)


def _known(q: Array) -> Indices:
    """Ticks at which all of q is known, or some of them where they are many."""
    known = np.flatnonzero(np.isfinite(q).all(axis=1))
    return known[np.linspace(0, len(known) - 1, min(len(known), _POINTS)).astype(np.intp)]


def _poses(seen: Array) -> Indices:
    """The first instant, the last, and some between that are equally far apart in motion rather than in time."""
    moved = np.cumsum(np.linalg.norm(np.diff(seen, axis=0, prepend=seen[:1]), axis=2).mean(axis=1))
    if moved[-1] < 1e-2:
        return np.array([len(seen) - 1])
    return np.unique(np.searchsorted(moved, np.linspace(0, moved[-1], _POSES)))


def _impulses(run: Run, ticks: Indices) -> Array:
    """What every thruster gave around each of the ticks, the most as 1."""
    nearest = np.searchsorted((ticks[:-1] + ticks[1:]) / 2, np.arange(len(run.t)))
    impulse = np.zeros((len(ticks), len(run.thrusters)))
    np.add.at(impulse, nearest, run.opening * [unit.thrust_n for unit in run.thrusters])
    return impulse / max(float(impulse.max(initial=0.0)), 1e-9)


def _draw_robot(axes: Axes, robot: Silhouette, points: Array, impulse: Array, hull: str | None, order: float) -> None:
    """One pose: jets below the base, arms above it; pale without a colour for the hull."""
    edge, strength = (INK, 1.0) if hull else (SOFT, 0.5)

    def fill(patch: Patch, colour: str, alpha: float, level: float, line: float = 0.0) -> None:
        patch.set(fc=to_rgba(colour, alpha), ec=to_rgba(edge, strength), lw=line, zorder=order + level)
        axes.add_patch(patch)

    jets = [(points[nozzle], robot.radius * (points[down] - points[nozzle])) for nozzle, down in robot.jets]
    for (nozzle, jet), length in zip(jets, impulse, strict=True):
        for part in (1.0, 0.75, 0.5):
            fill(Polygon(_wedge(nozzle, _PLUME_LENGTH * length * part * jet, 0.13)), PLUME, 0.45, 0.0)
    fill(Circle(points[robot.root], robot.radius), hull or HULL_FIRST, 1.0 if hull else 0.25, 0.1, line=1.2)
    for nozzle, jet in jets:
        fill(Polygon(_wedge(nozzle, 0.14 * jet, 0.5)), edge, strength, 0.2)
    thick = 0.17 * robot.radius
    for start, end in robot.links:
        fill(Polygon(_capsule(points[start], points[end], thick)), ARM, strength, 0.3, line=1.2)
    for start, _ in robot.links:
        fill(Circle(points[start], 0.5 * thick), edge, strength, 0.4)


def _write_times(axes: Axes, robot: Silhouette, run: Run, seen: Array, ticks: Indices) -> None:
    """When the robot was at both ends of its path, and why it stopped there, where there is most room."""
    path = seen[:, robot.followed]
    labels = {-1: (f"{run.t[ticks[-1]]:.4g} s\n{words(run.stop)}".strip(), STOP if run.stop else INK)}
    if np.linalg.norm(path[-1] - path[0]) > robot.radius:
        labels[0] = f"{run.t[ticks[0]]:.4g} s", INK
    busy = np.vstack((path, *(seen[[0, -1], end] for link in robot.links for end in link)))
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    around = robot.radius * np.column_stack((1.5 * np.cos(angles), 1.3 * np.sin(angles)))
    for i, (label, colour) in labels.items():
        room = np.linalg.norm((path[i] + around)[:, None] - busy, axis=2).min(axis=1)
        x, y = place = path[i] + around[int(np.argmax(room))]
        text = axes.text(x, y, label, color=colour, size=14, weight="bold", ha="center", va="center", zorder=22)
        text.set_path_effects([withStroke(linewidth=4, foreground="white")])
        axes.update_datalim([place - 0.5 * robot.radius, place + 0.5 * robot.radius])


def _wedge(tip: Array, out: Array, slope: float) -> Array:
    """A triangle that opens from its tip along `out`."""
    across = slope * np.array([-out[1], out[0]])
    return np.array([tip, tip + out + across, tip + out - across])


def _capsule(start: Array, end: Array, thickness: float) -> Array:
    """The outline of a bar with round ends."""
    x, y = end - start
    half = np.linspace(-np.pi / 2, np.pi / 2, 13) + math.atan2(y, x)
    arc = thickness * np.column_stack((np.cos(half), np.sin(half)))
    return np.vstack((end + arc, start - arc))
