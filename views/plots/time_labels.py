"""Times beside the first and the last pose, where there is space for them."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.text import Annotation

from granite.config.records import Array
from granite.views.plots.style import HALO, INK, SOFT, STOP, words
from granite.views.plots.view import Sight

#: of a label [points], and how wide and high a letter of it is, as parts of that
_SIZE, _WIDE, _HIGH = 14.0, 0.72, 1.25
_POINTS_IN_INCH = 72.0
#: distances tried, as parts of the clearance of the module
_RINGS = (1.0, 1.25, 1.5, 1.9, 2.4, 3.0)


def write_times(axes: Axes, sight: Sight, inch: float) -> None:
    """Times of the main module at both ends of its path, and why it stopped; `inch` is the scale [m].

    A time without space is only in the legend; why the run stopped is always written.
    """
    view, main = sight.view, sight.view.scene.main
    stop = words(view.run.stop)
    first, last = view.pose_times
    labels = {-1: f"{last:.4g} s\n{stop}".strip()} | ({0: f"{first:.4g} s"} if len(view.poses) > 1 else {})
    anchors = sight.points[[0, -1], main.followed]
    if 0 in labels and np.linalg.norm(anchors[0] - anchors[-1]) < 0.5 * view.clearance:
        del labels[0]  # both would be at one point, and not identify a pose
        labels = labels if stop else {}
    busy = _busy(axes, inch)
    for i, label in labels.items():
        lines = label.split("\n")
        half = 0.5 * _SIZE / _POINTS_IN_INCH * inch * np.array([_WIDE * max(map(len, lines)), _HIGH * len(lines)])
        position = _free_position(anchors[i], view.clearance, half, busy, needed=bool(stop) and i == -1)
        if position is None:
            continue
        colour = STOP if stop and i == -1 else INK
        box = HALO if stop else None  # text that must be written may cover something
        x, y = position
        axes.text(x, y, label, color=colour, size=_SIZE, weight="bold", ha="center", va="center", zorder=22, bbox=box)
        if np.linalg.norm(position - anchors[i]) > 1.8 * view.clearance:
            to_anchor = anchors[i] - position
            # The line ends at the box of the text, not in it.
            edge = position + to_anchor * np.min(half / np.maximum(np.abs(to_anchor), 1e-9))
            axes.plot(*np.transpose((anchors[i], edge)), color=SOFT, lw=0.8, zorder=21.5)
        corners = np.array([position - half, position + half])
        axes.update_datalim(corners)
        busy = np.vstack((busy, _grid(corners)))


def _free_position(anchor: Array, clearance: float, half: Array, busy: Array, needed: bool) -> Array | None:
    """The nearest position around the anchor where a box of this half size covers nothing; of equal ones the freest."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    direction = np.column_stack((np.cos(angles), np.sin(angles)))
    best, free = anchor, -np.inf
    for ring in _RINGS:
        positions = anchor + direction * (ring * clearance + half)
        room = (np.abs(positions[:, None] - busy) - half).max(axis=2).min(axis=1)
        if room.max() > free:
            best, free = positions[int(np.argmax(room))], float(room.max())
        if free > 0.15 * half[1]:
            return best
    return best if needed else None


def _busy(axes: Axes, inch: float) -> Array:
    """Points on and inside everything drawn, except the background."""
    points = [np.empty((0, 2))]
    for patch in axes.patches:
        if isinstance(patch, Patch) and patch.get_zorder() > 1:
            outline = np.asarray(patch.get_path().interpolated(4).vertices)
            outline = np.asarray(patch.get_patch_transform().transform(outline))
            middle = outline.mean(axis=0)
            points += [middle + part * (outline - middle) for part in (1.0, 0.7, 0.4, 0.1)]
    points += [np.asarray(line.get_xydata()) for line in axes.lines]
    for text in axes.texts:
        points.append(_grid(_box(text, inch)) if isinstance(text, Annotation) else np.array([text.get_position()]))
    return np.vstack(points)


def _box(text: Annotation, inch: float) -> Array:
    """Two corners of the box of a name beside its mark."""
    point = inch / _POINTS_IN_INCH
    offset = np.array(text.get_position())
    side, size = np.sign(offset), float(text.get_fontsize())
    near = np.array(text.xy) + point * offset
    return np.array([near, near + point * size * side * [0.6 * len(text.get_text()), 1.2]])


def _grid(corners: Array) -> Array:
    """Points all over a box."""
    (x0, y0), (x1, y1) = corners
    x, y = np.linspace(x0, x1, 9), np.linspace(y0, y1, 4)
    return np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
