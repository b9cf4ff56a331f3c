"""The frames of a film: on the backdrop, everything that moves, drawn by OpenCV in about a millisecond."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from granite.config.optional_packages import required
from granite.config.records import Array
from granite.views.movies.backdrop import Backdrop, Picture
from granite.views.movies.instants import Instants
from granite.views.plots.contact_marks import spots
from granite.views.plots.outlines import arm_outlines, base_outlines
from granite.views.plots.pose import NOZZLE, PLUME_LENGTH
from granite.views.plots.shapes import wedge
from granite.views.plots.silhouette import Silhouette
from granite.views.plots.style import ARM, CONTACT, HULL_LAST, INK, PATH, PLUME, SOFT, STOP, TIP
from granite.views.plots.view import View

#: OpenCV takes places in parts of a pixel: 2 to this power
_SHIFT = 4
_PART = 1 << _SHIFT
#: a contact's mark, and how near its open sides must be to be marked, as a part of the view
_MARK, _NEAR = 5, 0.35
#: width of a letter of the time
_LETTER = 11


class Frames:
    """Draws the frames of a run in their order."""

    def __init__(self, view: View, backdrop: Backdrop, shown: Instants) -> None:
        self._cv: Any = required("cv2", "movie")
        self._view = view
        self._backdrop = backdrop
        self._shown = shown
        projection = view.projections[0]
        body_points = view.scene.body_points
        self._points = projection(body_points.at(shown.q))
        self._reference = projection(body_points.at(shown.reference))
        #: on which the paths grow: each frame adds one segment
        self._picture = backdrop.to_come.copy()

    def __iter__(self) -> Iterator[Picture]:
        """The frames."""
        for i in range(len(self._shown.t)):
            if i:
                self._extend_paths(i)
            yield self._frame(i)

    def _frame(self, i: int) -> Picture:
        frame, t = self._picture.copy(), float(self._shown.t[i])
        zero, second = self._backdrop.time
        for left, top, right, bottom in self._backdrop.panels:
            now = int(np.clip(round(zero + second * t), left, right - 1))
            frame[top:bottom, left:now] = self._backdrop.picture[top:bottom, left:now]
            self._cv.line(frame, (now, top), (now, bottom - 1), _colour(INK), 1)
        scene, points = self._view.scene, self._points[i]
        if np.isfinite(self._reference[i, scene.main.drawn]).all():
            self._draw_ghost(frame, scene.main, self._reference[i])
        for module in scene.silhouettes:
            opening = self._shown.opening[i, scene.thrusters[module.name]]
            if np.isfinite(points[module.drawn]).all():
                self._draw_module(frame, module, points, opening)
        self._mark_contacts(frame, i)
        self._write_time(frame, t)
        return frame

    def _extend_paths(self, i: int) -> None:
        for module in self._view.scene.silhouettes:
            for point, colour, width in (
                *((tip, TIP, 1) for tip in module.tips),
                (module.followed, PATH, 3 if module is self._view.scene.main else 1),
            ):
                segment = self._points[i - 1 : i + 1, point]
                if np.isfinite(segment).all():
                    self._line(self._picture, segment, colour, width)

    def _draw_module(self, frame: Picture, module: Silhouette, points: Array, opening: Array) -> None:
        """Jets below the base, arms above it, as on a plot."""
        reach = module.base.reach if module.base else 0.0
        jets = [(points[nozzle], reach * (points[down] - points[nozzle])) for nozzle, down in module.jets]
        for (nozzle, jet), part in zip(jets, opening, strict=True):
            if part > 0.0:
                for length, light in ((1.0, 0.6), (0.7, 0.3), (0.4, 0.0)):
                    plume = wedge(nozzle, 0.6 * PLUME_LENGTH * part * length * jet, 0.13)
                    self._fill(frame, plume, _colour(PLUME, light))
        for outline in base_outlines(module, points):
            self._fill(frame, outline, _colour(HULL_LAST), INK)
        if module.heading:
            self._fill(frame, points[module.heading], _colour(INK))
        for (nozzle, jet), failed in zip(jets, module.failed, strict=True):
            self._fill(frame, wedge(nozzle, NOZZLE * jet, 0.5), _colour(STOP if failed else INK))
        arm = _colour(ARM if module.base else HULL_LAST)
        for outline in arm_outlines(module, points, self._view.thickness):
            self._fill(frame, outline, arm, INK)
        for pin in module.pins:
            self._disc(frame, points[pin], 0.5 * self._view.thickness * abs(float(self._backdrop.scale[0])), INK)
        for beam in module.beams:
            self._line(frame, points[beam], INK, 6)
            self._cv.polylines(frame, [self._fixed(points[beam])], False, arm, 3, self._cv.LINE_AA, _SHIFT)

    def _draw_ghost(self, frame: Picture, module: Silhouette, points: Array) -> None:
        for outline in (*base_outlines(module, points), *arm_outlines(module, points, self._view.thickness)):
            self._line(frame, np.vstack((outline, outline[:1])), SOFT, 1)

    def _mark_contacts(self, frame: Picture, i: int) -> None:
        near = _NEAR * self._view.size
        for number, spot in spots(self._view.scene, self._points[i]).items():
            if not np.isfinite((spot.position, spot.first)).all():
                continue
            if self._shown.closed[i, number]:
                self._disc(frame, spot.position, _MARK + 1, INK)
                self._disc(frame, spot.position, _MARK, CONTACT)
            elif not spot.surface and np.linalg.norm(spot.first - spot.position) < near:
                for side in (spot.first, spot.position):
                    self._disc(frame, side, _MARK, CONTACT)
                    self._disc(frame, side, _MARK - 2, ARM)

    def _write_time(self, frame: Picture, t: float) -> None:
        """Letters of one width, so that the digits stand still."""
        text = f"{t:.1f} s"
        right, base = self._backdrop.head
        for i, letter in enumerate(text):
            position = right - _LETTER * (len(text) - i), base
            font = self._cv.FONT_HERSHEY_SIMPLEX
            self._cv.putText(frame, letter, position, font, 0.6, _colour(INK), 1, self._cv.LINE_AA)

    def _fill(self, frame: Picture, outline: Array, colour: tuple[int, ...], edge: str | None = None) -> None:
        corners = [self._fixed(outline)]
        self._cv.fillPoly(frame, corners, colour, self._cv.LINE_AA, _SHIFT)
        if edge:
            self._cv.polylines(frame, corners, True, _colour(edge), 1, self._cv.LINE_AA, _SHIFT)

    def _line(self, frame: Picture, points: Array, colour: str, width: int) -> None:
        self._cv.polylines(frame, [self._fixed(points)], False, _colour(colour), width, self._cv.LINE_AA, _SHIFT)

    def _disc(self, frame: Picture, position: Array, radius: float, colour: str) -> None:
        x, y = self._fixed(position).tolist()
        self._cv.circle(frame, (x, y), round(radius * _PART), _colour(colour), -1, self._cv.LINE_AA, _SHIFT)

    def _fixed(self, points: Array) -> Any:
        """Places in the picture in parts of a pixel."""
        return np.rint(_PART * self._backdrop.at(points)).astype(np.int32)


@cache
def _colour(name: str, light: float = 0.0) -> tuple[int, ...]:
    """Red, green, blue; `light` mixes white into it."""
    return tuple(round(255 * (part + light * (1 - part))) for part in to_rgb(name))
