"""What happened in space: all modules on their way, the paths they took, the one to be taken, contacts and jets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from granite.config.records import Array
from granite.rt.plots.contact_marks import contact_keys, draw_contacts, draw_surfaces, name_contacts, outward, spots
from granite.rt.plots.look import GRANITE, HALO, HULL_FIRST, HULL_LAST, INK, PATH, PLUME, SOFT, STOP, words
from granite.rt.plots.pose import Ink, draw_pose, draw_stand
from granite.rt.plots.projection import FROM_ABOVE, Projection, widest
from granite.rt.plots.run import Run
from granite.rt.plots.scene import Scene

Indices = npt.NDArray[np.intp]

#: the path is drawn through this many points at most
_POINTS = 2000
#: the modules are drawn this often
_POSES = 5
#: with more modules than this, only the main one's path is drawn
_PATHS = 4
#: thickness of a rigid link as a part of the base that carries it, or of all that is seen
_LINK_OF_BASE, _LINK_OF_SCENE = 0.17, 0.012
#: room for a time beside a module, or for the name of a contact, as a part of all that is seen
_ROOM = 0.07
#: how near the sides of an open contact are when a line joins them, as a part of all that is seen
_NEAR = 0.35


class View:
    """A scene as it was seen: everything that decides where things go on the page."""

    def __init__(self, run: Run, ticks: Indices) -> None:
        self.run, self.ticks = run, ticks
        self.scene = Scene(run.bed, run.modules)
        in_space = self.scene.places.at(run.q[ticks])
        self.projection: Projection = FROM_ABOVE if run.bed.robot.dimension == "planar" else widest(in_space)
        #: every place at every tick, in the page (ticks, places, 2)
        self.seen = self.projection(in_space)
        self.size = float(np.ptp(self.seen.reshape(-1, 2), axis=0).max())
        bases = [s.radius for s in self.scene.silhouettes if s.corners and s.links]
        self.thickness = _LINK_OF_BASE * bases[0] if bases else _LINK_OF_SCENE * self.size
        #: how far around the main module nothing should be written
        self.clearance = max(self._reach(), _ROOM * self.size)
        self.poses = _poses(self.seen, self.size)

    def _reach(self) -> float:
        """Of the base of the main module from its root; none if there is no base."""
        main, last = self.scene.main, self.seen[-1]
        distances = np.linalg.norm(last[main.corners] - last[main.root], axis=1)
        return main.radius + float(distances.max(initial=0.0))


def draw_view(axes: Axes, run: Run) -> None:
    """Everything to scale; the modules fill the view, and the table goes on beyond it."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.04)
    axes.grid(visible=False)
    ticks = _known(run.q)
    if not len(ticks):
        axes.set(xlabel=FROM_ABOVE.labels[0], ylabel=FROM_ABOVE.labels[1])
        axes.text(0.5, 0.5, "where the robot was is not known", transform=axes.transAxes, ha="center", color=SOFT)
        return
    view = View(run, ticks)
    axes.set(xlabel=view.projection.labels[0], ylabel=view.projection.labels[1])
    parts = (_draw_table, _draw_paths, _draw_poses, _mark_contacts)
    handles = [handle for draw in parts for handle in draw(axes, view)]
    _draw_stands(axes, view)
    _write_times(axes, view)
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4)


def _draw_table(axes: Axes, view: View) -> list[Artist]:
    table = view.run.bed.safety.table_m
    if table is None or not view.projection.is_from_above:
        return []
    x, y, width, height = *table[:2], table[2] - table[0], table[3] - table[1]
    return [axes.add_artist(Rectangle((x, y), width, height, fc=GRANITE, ec=SOFT, label="guarded table"))]


def _draw_paths(axes: Axes, view: View) -> list[Artist]:
    run, scene, handles = view.run, view.scene, list[Artist]()
    if len(wanted := _known(run.reference)):
        # Others than the robot have no reference, and do not move the robot's places.
        q = np.zeros((len(wanted), run.q.shape[1]))
        q[:, : run.reference.shape[1]] = run.reference[wanted]
        x, y = view.projection(scene.places.at(q)[:, scene.main.followed]).T
        handles += axes.plot(x, y, color=INK, lw=1.5, ls=(0, (4, 2)), zorder=21, label="reference")
    few = len(scene.silhouettes) <= _PATHS
    for module in scene.silhouettes if few else [scene.main]:
        x, y = view.seen[:, module.followed].T
        (line,) = axes.plot(x, y, color=PATH, lw=1.2, zorder=19, solid_capstyle="round")
        if module is scene.main:
            line.set(lw=3.5 if module.corners else 2.0, zorder=20, label=f"path ({run.measure})")
            handles.append(line)
    return handles


def _draw_poses(axes: Axes, view: View) -> list[Artist]:
    run, scene, handles = view.run, view.scene, list[Artist]()
    ticks = view.ticks[view.poses]
    impulses = _impulses(run, ticks)
    if impulses.any():
        handles.append(Patch(color=PLUME, label="jets"))
    hulls = {view.poses[0]: HULL_FIRST, view.poses[-1]: HULL_LAST}
    for order, (pose, tick, impulse) in enumerate(zip(view.poses, ticks, impulses, strict=True), start=2):
        ink = Ink(hulls.get(pose), view.thickness, order)
        for module in scene.silhouettes:
            draw_pose(axes, module, view.seen[pose], impulse[: len(module.jets)], ink)
        if ink.hull:
            draw_contacts(axes, spots(scene, view.seen[pose]), run.closed[tick], _NEAR * view.size, order + 0.6)
    return handles


def _mark_contacts(axes: Axes, view: View) -> list[Artist]:
    """What they touch and what they are called; the marks themselves belong to the poses."""
    run, last = view.run, spots(view.scene, view.seen[-1])
    name_contacts(axes, {i: run.bed.contacts[i].name for i in last}, last)
    surfaces = draw_surfaces(axes, view.scene, view.seen, 0.1 * view.size)
    return [*surfaces, *contact_keys(last, run.closed[view.ticks[view.poses[[0, -1]]]])]


def _draw_stands(axes: Axes, view: View) -> None:
    """With the names of their modules where there are several, on the side to which the arm does not go."""
    for module in view.scene.silhouettes:
        for stand in module.stands:
            draw_stand(axes, view.seen[-1, stand], 2.2 * view.thickness)
        if module.stands and len(view.scene.silhouettes) > 1:
            x, y = view.seen[-1, module.stands[0]]
            up = 1 if (view.seen[[0, -1], module.followed, 1] < y).all() else -1
            side = "bottom" if up > 0 else "top"
            place = y + up * 4.2 * view.thickness
            axes.text(x, place, words(module.name), color=SOFT, ha="center", va=side, zorder=22)
            axes.update_datalim([(x, y + up * 8.0 * view.thickness)])


def _known(q: Array) -> Indices:
    """Ticks at which all of q is known, or some of them where they are many; none where there is no q."""
    known = np.flatnonzero(np.isfinite(q).all(axis=1) & (q.shape[1] > 0))
    return known[np.linspace(0, len(known) - 1, min(len(known), _POINTS)).astype(np.intp)]


def _poses(seen: Array, size: float) -> Indices:
    """The first instant, the last, and some between that are equally far apart in motion rather than in time."""
    moved = np.cumsum(np.linalg.norm(np.diff(seen, axis=0, prepend=seen[:1]), axis=2).mean(axis=1))
    if moved[-1] < 0.01 * size:
        return np.array([len(seen) - 1])
    return np.unique(np.searchsorted(moved, np.linspace(0, moved[-1], _POSES)))


def _impulses(run: Run, ticks: Indices) -> Array:
    """What every thruster gave around each of the ticks, the most as 1."""
    nearest = np.searchsorted((ticks[:-1] + ticks[1:]) / 2, np.arange(len(run.t)))
    impulse = np.zeros((len(ticks), len(run.thrusters)))
    np.add.at(impulse, nearest, run.opening * [unit.thrust_n for unit in run.thrusters])
    return impulse / max(float(impulse.max(initial=0.0)), 1e-9)


def _write_times(axes: Axes, view: View) -> None:
    """When the main module was at both ends of its path, and why it stopped there, where there is most room."""
    run, path, radius = view.run, view.seen[:, view.scene.main.followed], view.clearance
    # The last tick holds until the run ends; where something stopped it, the tick itself is the end.
    last = run.end if view.ticks[-1] == len(run.t) - 1 and not run.stop else run.t[view.ticks[-1]]
    labels = {-1: (f"{last:.4g} s\n{words(run.stop)}".strip(), STOP if run.stop else INK)}
    if np.linalg.norm(path[-1] - path[0]) > radius:
        labels[0] = f"{run.t[view.ticks[0]]:.4g} s", INK
    parts = [part for s in view.scene.silhouettes for part in (*s.links, *s.beams)]
    named = outward(spots(view.scene, view.seen[-1]))
    beside = [place + _ROOM * view.size * direction for place, direction in named.values()]
    busy = np.vstack((path, *(view.seen[[0, -1], end] for part in parts for end in part), *beside))
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    around = radius * np.column_stack((1.5 * np.cos(angles), 1.3 * np.sin(angles)))
    for i, (label, colour) in labels.items():
        room = np.linalg.norm((path[i] + around)[:, None] - busy, axis=2).min(axis=1)
        x, y = place = path[i] + around[int(np.argmax(room))]
        axes.text(x, y, label, color=colour, size=14, weight="bold", ha="center", va="center", zorder=22, bbox=HALO)
        axes.update_datalim([place - 0.5 * radius, place + 0.5 * radius])
