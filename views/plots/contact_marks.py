"""Contacts on the page: a filled mark where one is closed, a hollow one on both sides where it is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from granite.config.records import Array
from granite.views.plots.scene import Scene
from granite.views.plots.style import CONTACT, HALO, INK, SOFT, words

Flags = npt.NDArray[np.bool_]

_SIZE = 8.0  #: [points]
#: up to this number contacts are labelled with their names
_NAMED = 6


class Spot(NamedTuple):
    """A contact in one pose, in axes of the page: positions of its second side and its first."""

    position: Array
    first: Array
    surface: bool  #: whether it touches a surface, which is drawn separately


def spots(scene: Scene, points: Array) -> dict[int, Spot]:
    """Spot of every contact, by its number; on a surface, the nearest point."""
    marks = {}
    for i, (first, second) in scene.contacts.items():
        position, surface = points[second], i in scene.surfaces
        if surface:
            along = points[scene.surfaces[i]] - points[first]
            position = points[first] + ((position - points[first]) @ along) * along
        marks[i] = Spot(position, points[first], surface)
    return marks


def draw_contacts(axes: Axes, there: Mapping[int, Spot], closed: Flags, near: float, order: float) -> None:
    """The contacts of one pose; `closed` is of all contacts of the testbed. A line joins open sides that are near."""
    for i, spot in there.items():
        if closed[i]:
            axes.plot(*spot.position, "o", mfc=CONTACT, mec=INK, ms=_SIZE, zorder=order)
        elif not spot.surface:
            pair = np.transpose((spot.first, spot.position))
            dots = (0, (1, 2)) if np.linalg.norm(spot.first - spot.position) < near else ""
            axes.plot(*pair, "o", mfc="white", mec=CONTACT, mew=1.8, ms=_SIZE, ls=dots, color=CONTACT, zorder=order)


def draw_surfaces(axes: Axes, scene: Scene, seen: Array, margin: float) -> list[Line2D]:
    """Every surface over the range of the motion along it, and a margin beyond; `seen` is at all ticks."""
    handles: list[Line2D] = []
    for i, other in scene.surfaces.items():
        first, second = scene.contacts[i]
        along = seen[:, other] - seen[:, first]
        passed = np.sum((seen[:, second] - seen[:, first]) * along, axis=1)
        ends = np.array([min(passed.min(), 0.0) - margin, max(passed.max(), 0.0) + margin])
        line = seen[-1, first] + ends[:, None] * along[-1]
        handles = axes.plot(*line.T, color=SOFT, lw=5, solid_capstyle="butt", zorder=1.5, label="surface")
    return handles


def outward(there: Mapping[int, Spot]) -> dict[int, tuple[Array, Array]]:
    """Position of each labelled contact, and the direction of its label: away from the mean of all contacts.

    None is labelled where they are too many.
    """
    if not 0 < len(there) <= _NAMED:
        return {}
    positions = np.array([spot.position for spot in there.values()])
    middle = positions.mean(axis=0) if len(positions) > 1 else positions[0] - (1.0, -1.0)
    return {i: (position, np.where(position < middle, -1, 1)) for i, position in zip(there, positions, strict=True)}


def name_contacts(axes: Axes, names: Mapping[int, str], there: Mapping[int, Spot]) -> None:
    """Write the names beside the marks."""
    for i, (position, (x, y)) in outward(there).items():
        axes.annotate(
            words(names[i]), (position[0], position[1]), xytext=(9 * x, 9 * y), textcoords="offset points",
            color=CONTACT, size=10, ha="left" if x > 0 else "right", va="bottom" if y > 0 else "top", zorder=23,
            bbox=HALO,
        )  # fmt: skip


def contact_keys(there: Mapping[int, Spot], closed: Flags) -> Iterator[Artist]:
    """Legend of the marks that occur; a row of `closed` for each pose that has them."""
    if closed[:, list(there)].any():
        yield Line2D([], [], ls="", marker="o", mfc=CONTACT, mec=INK, ms=_SIZE, label="contact")
    if not closed[:, [i for i, spot in there.items() if not spot.surface]].all():
        yield Line2D([], [], ls="", marker="o", mfc="white", mec=CONTACT, mew=1.8, ms=_SIZE, label="open contact")
