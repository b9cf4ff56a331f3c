"""The points of a calibration plate in a frame: a grid of bright dots, or the inner corners of a checkerboard.

The plate lies so that its x axis points to the right of the image and its y axis up, each within 45 degrees.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from granite.config.errors import InputError
from granite.config.optional_packages import opencv
from granite.config.records import Array
from granite.drivers.camera.calibration import PlateView
from granite.drivers.camera.centroid import Pixels, levels
from granite.drivers.camera.spots import search

#: a neighbour is where the last step leads, within this part of the step
_OFF = 0.3
#: radius of a cone over that of its pixels above the threshold of half its peak
_CONE_AT_HALF = 2.0


class Plate(NamedTuple):
    """A grid of points: dots or inner corners."""

    columns: int
    rows: int
    pitch: float  #: [m]

    @property
    def points(self) -> Array:
        """Row by row from below, the first at the origin (n, 2) [m]."""
        y, x = np.divmod(np.arange(self.columns * self.rows), self.columns)
        return self.pitch * np.column_stack((x, y)).astype(float)


def find_dots(frame: Pixels, plate: Plate) -> PlateView:
    """The dots of a plate.

    Raises
    ------
    InputError
        Where the frame shows fewer rows or columns than the plate has.
    """
    blobs = search(frame, _radius(frame))
    pixels = np.array([(blob.x, blob.y) for blob in blobs]).reshape(-1, 2)
    grid_of = _numbered(pixels) if len(pixels) >= 4 else {}
    grid = np.array(list(grid_of.values()), dtype=int).reshape(-1, 2)
    if len(grid):
        grid -= grid.min(axis=0)
    columns, rows = (grid.max(axis=0) + 1).tolist() if len(grid) else (0, 0)
    if (columns, rows) != (plate.columns, plate.rows):
        problem = f"a grid of {columns} x {rows} dots, of {len(pixels)} spots"
        raise InputError(problem, key="plate", expected=f"{plate.columns} x {plate.rows}")
    return PlateView(plate.pitch * grid.astype(float), pixels[list(grid_of)])


def find_corners(frame: Pixels, plate: Plate) -> PlateView:
    """The inner corners of a checkerboard, by OpenCV.

    Raises
    ------
    InputError
        Where OpenCV is not installed, or finds no such board.
    """
    cv2 = opencv()
    is_complete, corners = cv2.findChessboardCornersSB(np.ascontiguousarray(frame), (plate.columns, plate.rows))
    if not is_complete:
        raise InputError("no checkerboard found", key="plate", expected=f"{plate.columns} x {plate.rows} inner corners")
    pixels = np.asarray(corners, dtype=float).reshape(plate.rows, plate.columns, 2)
    if pixels[0, -1, 0] < pixels[0, 0, 0]:
        pixels = pixels[:, ::-1]
    if pixels[-1, 0, 1] > pixels[0, 0, 1]:  # rows of an image run downwards
        pixels = pixels[::-1]
    return PlateView(plate.points, pixels.reshape(-1, 2))


def _radius(frame: Pixels) -> float:
    """Radius of most spots [pixel], from the area above half of the brightest pixel."""
    background = levels(np.ascontiguousarray(frame[::8, ::8])[np.newaxis])[0][0]
    labels, n = ndimage.label(frame > background + 0.5 * (float(frame.max()) - background))
    if n == 0:
        return 3.0
    area = np.median(np.bincount(labels.ravel())[1:])
    return max(2.0, _CONE_AT_HALF * float(np.sqrt(area / np.pi)))


def _numbered(pixels: Array) -> dict[int, tuple[int, int]]:
    """Column and row of each dot, stepping from neighbour to neighbour from the middle outwards."""
    start = int(np.hypot(*(pixels - pixels.mean(axis=0)).T).argmin())
    offsets = pixels - pixels[start]
    right = _nearest(offsets, lambda x, y: (x > 0) & (np.abs(y) < x))
    up = _nearest(offsets, lambda x, y: (y < 0) & (np.abs(x) < -y))
    if right is None or up is None:
        return {}
    numbers = {start: (0, 0)}
    steps = {start: (offsets[right], offsets[up])}
    waiting = deque([start])
    while waiting:
        k = waiting.popleft()
        column, row = numbers[k]
        along, across = steps[k]
        for step, number in (
            (along, (column + 1, row)), (-along, (column - 1, row)),
            (across, (column, row + 1)), (-across, (column, row - 1)),
        ):  # fmt: skip
            distance = np.hypot(*(pixels - pixels[k] - step).T)
            other = int(distance.argmin())
            if distance[other] > _OFF * np.hypot(*step) or other in numbers:
                continue
            made = pixels[other] - pixels[k]
            numbers[other] = number
            # The last step in its direction, because perspective and lens change it slowly.
            sideways = number[1] == row
            turned = made if np.dot(made, along if sideways else across) > 0 else -made
            steps[other] = (turned, across) if sideways else (along, turned)
            waiting.append(other)
    return numbers


def _nearest(offsets: Array, where: Callable[[Array, Array], NDArray[np.bool_]]) -> int | None:
    chosen = where(offsets[:, 0], offsets[:, 1])
    if not chosen.any():
        return None
    return int(np.where(chosen, np.hypot(*offsets.T), np.inf).argmin())
