"""The view of the motion in space: modules, their paths, contacts and jets, in each projection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Polygon, Rectangle

from granite.config.records import Array
from granite.views.plots.contact_marks import contact_keys, draw_contacts, draw_surfaces, name_contacts, spots
from granite.views.plots.paths import draw_paths, draw_reference
from granite.views.plots.pose import Ink, draw_pose, draw_square_stand, draw_stand, failed_key
from granite.views.plots.projection import FROM_ABOVE
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import GRANITE, HALO, HULL_FIRST, HULL_LAST, INK, PLUME, SOFT, STOP, words
from granite.views.plots.time_labels import write_times
from granite.views.plots.view import Indices, Sight, View, sights

#: distance below which a line joins the sides of an open contact, as a part of the extent of the view
_NEAR = 0.35
#: keys of the legend that stand in one row
_KEYS = 4
#: margin around the drawing, as a part of it
_MARGIN = 0.04


def draw_nothing(axes: Axes) -> None:
    """Axes of a run without a known motion."""
    axes.set(xlabel=FROM_ABOVE.labels[0], ylabel=FROM_ABOVE.labels[1])
    axes.text(0.5, 0.5, "the motion of the robot is not known", transform=axes.transAxes, ha="center", color=SOFT)


def draw_view(column: Sequence[Axes], view: View, inch: float) -> None:
    """Projections one below the other to scale `inch` [m]; modules fill the view, the table may extend beyond."""
    handles: list[Artist] = []
    for axes, sight in zip(column, sights(view), strict=True):
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(_MARGIN)
        axes.grid(visible=False)
        axes.set(xlabel=sight.projection.labels[0], ylabel=sight.projection.labels[1])
        parts = (draw_table, draw_zones, draw_reference, draw_paths, _draw_poses, _mark_contacts)
        keys = [handle for draw in parts for handle in draw(axes, sight)]
        handles = handles or keys
        draw_stands(axes, sight)
        write_times(axes, sight, inch)
        if not view.run.bed.planar:
            axes.set_title(sight.projection.name, loc="right", fontsize=9, color=SOFT)
    rows = 1 if len(handles) <= _KEYS else 2
    size = 10 if rows == 1 else 9
    columns = -(-len(handles) // rows)
    column[0].legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize=size, columnspacing=1.2
    )


def to_one_scale(column: Sequence[Axes]) -> None:
    """All to the coarsest scale that one of them needs, as large as they are on the page now."""
    boxes = [axes.get_window_extent() for axes in column]
    limits = [axes.dataLim for axes in column]
    pixel = max(max(x.width / box.width, x.height / box.height) for x, box in zip(limits, boxes, strict=True))
    for axes, limit, box in zip(column, limits, boxes, strict=True):
        middle = np.array([limit.x0 + limit.x1, limit.y0 + limit.y1]) / 2
        half = 0.5 * pixel * np.array([box.width, box.height])
        axes.update_datalim([middle - half, middle + half])
        axes.autoscale_view()


def draw_table(axes: Axes, sight: Sight) -> list[Artist]:
    """The area that the guard keeps the robot in, where there is one."""
    table = sight.view.run.bed.safety.table_m
    if table is None or not sight.projection.is_from_above:
        return []
    x, y, width, height = *table[:2], table[2] - table[0], table[3] - table[1]
    return [axes.add_artist(Rectangle((x, y), width, height, fc=GRANITE, ec=SOFT, label="guarded table"))]


def draw_zones(axes: Axes, sight: Sight) -> list[Artist]:
    """The zones that the robot stays out of, with their names."""
    zones = [zone for zone in sight.view.run.bed.safety.keep_out if zone.outline]
    if not sight.projection.is_from_above:
        return []
    for zone in zones:
        hatch = "///" if zone.solid else None
        axes.add_artist(Polygon(zone.outline, fc=(*to_rgb(STOP), 0.12), ec=STOP, lw=1.0, hatch=hatch, zorder=1.2))
        x, y = np.mean(zone.outline, axis=0)
        axes.text(x, y, words(zone.name), color=STOP, ha="center", va="center", clip_on=True, bbox=HALO, zorder=1.3)
    return [Patch(fc=(*to_rgb(STOP), 0.12), ec=STOP, label="kept out of")] if zones else []


def _draw_poses(axes: Axes, sight: Sight) -> list[Artist]:
    view = sight.view
    run = sight.view.run
    scene = sight.view.scene
    ticks = view.ticks[view.poses]
    impulses = _impulses(run, ticks)
    hulls = {view.poses[0]: HULL_FIRST, view.poses[-1]: HULL_LAST}
    handles = [Patch(fc=colour, ec=INK, label=f"{t:.4g} s") for colour, t in _keys(view)]
    handles += [Patch(color=PLUME, label="jets")] if impulses.any() else []
    for order, (pose, tick, impulse) in enumerate(zip(view.poses, ticks, impulses, strict=True), start=2):
        ink = Ink(hulls.get(pose), view.thickness, order)
        for module in scene.silhouettes:
            draw_pose(axes, module, sight.points[pose], impulse[: len(module.jets)], ink)
        if ink.hull:
            there = spots(scene, sight.points[pose])
            draw_contacts(axes, there, run.closed[tick], _NEAR * view.size, order + 0.6)
    return [*handles, *([failed_key()] if any(any(s.failed) for s in scene.silhouettes) else [])]


def _keys(view: View) -> list[tuple[str, float]]:
    """Colours of the strong poses, and when they were."""
    first, last = view.pose_times
    return [(HULL_FIRST, first), (HULL_LAST, last)] if len(view.poses) > 1 else [(HULL_LAST, last)]


def _mark_contacts(axes: Axes, sight: Sight) -> list[Artist]:
    """Surfaces and names of contacts; the marks themselves belong to the poses."""
    view, run = sight.view, sight.view.run
    last = spots(view.scene, sight.points[-1])
    name_contacts(axes, {i: run.bed.contacts[i].name for i in last}, last)
    surfaces = draw_surfaces(axes, view.scene, sight.points, 0.1 * view.size)
    return [*surfaces, *contact_keys(last, run.closed[view.ticks[view.poses[[0, -1]]]])]


def draw_stands(axes: Axes, sight: Sight) -> None:
    """Stands, with the names of their modules where there are several, on the side opposite to the arm."""
    scene = sight.view.scene
    thickness = sight.view.thickness
    points = sight.points
    for module in scene.silhouettes:
        if module.stand_outline:
            draw_stand(axes, points[-1, module.stand_outline])
        else:
            for stand in module.stands:
                draw_square_stand(axes, points[-1, stand], 2.2 * thickness)
        if module.stands and len(scene.silhouettes) > 1:
            x, y = points[-1, module.stands[0]]
            up = 1 if (points[[0, -1], module.followed, 1] < y).all() else -1
            side = "bottom" if up > 0 else "top"
            height = y + up * 4.2 * thickness
            axes.text(x, height, words(module.name), color=SOFT, ha="center", va=side, zorder=22)
            axes.update_datalim([(x, y + up * 8.0 * thickness)])


def _impulses(run: PlottedRun, ticks: Indices) -> Array:
    """Impulse of every thruster around each of the ticks, relative to the largest."""
    nearest = np.searchsorted((ticks[:-1] + ticks[1:]) / 2, np.arange(len(run.t)))
    impulse = np.zeros((len(ticks), len(run.thrusters)))
    np.add.at(impulse, nearest, run.weight[:, None] * run.opening * [unit.thrust_n for unit in run.thrusters])
    return impulse / max(float(impulse.max(initial=0.0)), 1e-9)
