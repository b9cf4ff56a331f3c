"""Paths in the view: of the bases, of the tips of their arms, and of the reference."""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from granite.config.records import Array
from granite.views.plots.pose import draw_ghost
from granite.views.plots.style import INK, PATH, TIP
from granite.views.plots.view import Sight, View, known_ticks

#: with more modules than this, only the main one's path is drawn
_PATHS = 4


def draw_paths(axes: Axes, sight: Sight) -> list[Artist]:
    """The main module's path strong, others and those of tips thin."""
    scene, handles = sight.view.scene, list[Artist]()
    few = len(scene.silhouettes) <= _PATHS
    for module in scene.silhouettes if few else [scene.main]:
        for tip in module.tips:
            x, y = sight.points[:, tip].T
            (line,) = axes.plot(x, y, color=TIP, lw=1.1, zorder=18.5, solid_capstyle="round")
            if module is scene.main:
                line.set_label("path of tip" if len(module.tips) == 1 else "paths of tips")
                handles = [line]
        x, y = sight.points[:, module.followed].T
        (line,) = axes.plot(x, y, color=PATH, lw=1.2, zorder=19, solid_capstyle="round")
        if module is scene.main:
            line.set(lw=3.5 if module.base else 2.0, zorder=20, label=f"path ({sight.view.run.measure})")
            handles = [line, *handles]
    return handles


def draw_reference(axes: Axes, sight: Sight) -> list[Artist]:
    """The path of the reference, and its pose at the end; none without a controller."""
    view, scene = sight.view, sight.view.scene
    reference = _reference(view)
    if not len(reference):
        return []
    points = sight.projection(scene.body_points.at(reference))
    x, y = points[:, scene.main.followed].T
    (path,) = axes.plot(x, y, color=INK, lw=1.5, ls=(0, (4, 2)), zorder=21, label="reference")
    return [path, draw_ghost(axes, scene.main, points[-1], view.thickness, 18.0)]


def _reference(view: View) -> Array:
    """The reference as q of all modules; those without one do not affect the robot's points."""
    reference = view.run.reference
    ticks = known_ticks(reference)
    q = np.zeros((len(ticks), view.run.q.shape[1]))
    q[:, view.run.referenced] = reference[ticks]
    return q
