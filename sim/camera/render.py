"""Frames as a camera would expose them: targets through the lens, blurred by motion, with noise, in 8 bit.

Light of a target is a cone: white at the centre, black at the edge, integrated over the area of each pixel. Around a
target the map from the plane to the image is taken as affine. Photon noise has the variance light/electrons per
count, read-out noise is added, and the sum is rounded to whole counts (Stanford report, appendix A.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite.config.records import Array
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.view import PlaneView

#: samples per pixel along each axis
_SAMPLES = 4
#: a blur is drawn with at least one exposure for each of this part of a pixel
_BLUR_PX = 0.25
#: most of them
_MOST = 64
_WHITE = 255
#: pixels around a spot that are drawn
_AROUND = 2


class LightSpot(NamedTuple):
    """A round spot of light on the plane, in the middle of the exposure."""

    x: float  #: [m]
    y: float
    radius: float  #: [m]
    peak: float  #: counts above the background
    velocity: tuple[float, float] = (0.0, 0.0)  #: [m/s]
    plateau: float = 0.0  #: part of the radius within which it is white


class ImageSensor(NamedTuple):
    """Light and noise of the image sensor."""

    exposure: float = 0.002  #: [s]
    background: float = 20.0  #: [counts]
    slope: float = 0.0  #: of the background over the width of the image [counts]
    read_noise: float = 1.0  #: [counts]
    electrons_per_count: float | None = None  #: None: no photon noise


class NoiseBank:
    """Standard normal noise for the pixels of any frame: one large array, shifted by a random number of pixels.

    So a window of a frame has the same noise whether it is read alone or with the whole frame, and costs no draws.

    Parameters
    ----------
    size
        Width and height of the frames [pixel].
    rng
        Of the noise and its shifts.
    by_rows
        Shift by rows only: the noise of a column is always of that column.
    """

    def __init__(self, size: tuple[int, int], rng: np.random.Generator, by_rows: bool = False) -> None:
        width, height = size
        self._rng = rng
        self._shifts = (height, 1 if by_rows else width)
        # More than the frame: read without wrapping, so that no noise repeats within a frame.
        rows, columns = 2 * height, width if by_rows else 2 * width
        self._values = rng.standard_normal((rows, columns), dtype=np.float32)

    def shift(self) -> tuple[int, int]:
        """Random place of a frame's noise: row and column."""
        row, column = self._rng.integers(0, self._shifts)
        return int(row), int(column)

    def part(self, shift: tuple[int, int], rows: slice, columns: slice) -> Any:
        """Noise of a window of the frame with this shift."""
        row, column = shift
        return self._values[row + rows.start : row + rows.stop, column + columns.start : column + columns.stop]


class RenderedFrame:
    """A frame that computes the pixels that are read: a tracker reads windows, a search reads everything."""

    def __init__(
        self,
        view: PlaneView,
        spots: Sequence[LightSpot],
        sensor: ImageSensor,
        noise: NoiseBank,
        light: Array | None = None,
    ) -> None:
        """`light` adds an image in counts, such as that of a tag."""
        width, height = view.size
        self.shape = (height, width)
        self._sensor = sensor
        self._noise = noise
        self.shift = noise.shift()
        self._light = light
        #: light of the spots: first row, first column, counts
        self.stamps = stamps(view, spots, sensor.exposure)

    def __getitem__(self, part: tuple[slice, slice]) -> Pixels:
        rows, columns = (slice(*s.indices(n)[:2]) for s, n in zip(part, self.shape, strict=True))
        counts = np.tile(background(self._sensor, self.shape[1])[columns], (rows.stop - rows.start, 1))
        if self._light is not None:
            counts += self._light[rows, columns]
        for top, left, stamp in self.stamps:
            down = slice(max(top, rows.start), min(top + stamp.shape[0], rows.stop))
            across = slice(max(left, columns.start), min(left + stamp.shape[1], columns.stop))
            if down.start < down.stop and across.start < across.stop:
                window = _moved(down, -rows.start), _moved(across, -columns.start)
                counts[window] += stamp[_moved(down, -top), _moved(across, -left)]
        return read_out(counts, self._noise.part(self.shift, rows, columns), self._sensor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """All pixels."""
        return np.asarray(self[:, :], dtype=dtype)


def background(sensor: ImageSensor, width: int) -> Array:
    """Counts of each column without targets."""
    return np.asarray(sensor.background + sensor.slope * (np.arange(width) / width - 0.5))


def read_out(counts: Array, noise: Any, sensor: ImageSensor) -> Pixels:
    """Light as grey values: with photon and read-out noise, in whole counts."""
    deviation: Any = sensor.read_noise
    if sensor.electrons_per_count is not None:
        deviation = np.sqrt(sensor.read_noise**2 + np.maximum(counts, 0.0) / sensor.electrons_per_count)
    pixels: Pixels = np.clip(np.rint(counts + noise * deviation), 0, _WHITE).astype(np.uint8)
    return pixels


def _moved(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def stamps(view: PlaneView, spots: Sequence[LightSpot], exposure: float) -> list[tuple[int, int, Array]]:
    """The light of each spot: first row, first column, counts."""
    if not spots:
        return []
    centres = np.array([(spot.x, spot.y) for spot in spots])
    step = 1e-5  # [m]
    n = len(spots)
    seen = view.to_pixel(np.vstack((centres, centres + np.array([step, 0.0]), centres + np.array([0.0, step]))))
    jacobians = np.stack((seen[n : 2 * n] - seen[:n], seen[2 * n :] - seen[:n]), axis=2) / step
    return [_stamp(spot, pixel, J, exposure) for spot, pixel, J in zip(spots, seen[:n], jacobians, strict=True)]


def _stamp(spot: LightSpot, pixel: Array, J: Array, exposure: float) -> tuple[int, int, Array]:
    """One spot; J is the derivative of the pixel by the point of the plane."""
    blur = J @ np.array(spot.velocity) * exposure  # [pixel]
    length = float(np.hypot(*blur))
    n = min(_MOST, 1 + int(np.ceil(length / _BLUR_PX))) if length > 1e-3 else 1
    reach = float(np.linalg.norm(J, 2)) * spot.radius + length / 2 + _AROUND
    left = int(np.floor(pixel[0] - reach))
    right = int(np.ceil(pixel[0] + reach)) + 1
    top = int(np.floor(pixel[1] - reach))
    bottom = int(np.ceil(pixel[1] + reach)) + 1
    fine = (np.arange(_SAMPLES) + 0.5) / _SAMPLES - 0.5
    x = (np.arange(left, right)[:, np.newaxis] + fine).ravel() - pixel[0]
    y = (np.arange(top, bottom)[:, np.newaxis] + fine).ravel() - pixel[1]
    back = np.linalg.inv(J) / spot.radius
    light = np.zeros((len(y), len(x)))
    for part in (np.arange(n) + 0.5) / n - 0.5:
        dx, dy = x - part * blur[0], (y - part * blur[1])[:, np.newaxis]
        distance = np.hypot(back[0, 0] * dx + back[0, 1] * dy, back[1, 0] * dx + back[1, 1] * dy)
        light += np.clip((1.0 - distance) / (1.0 - spot.plateau), 0.0, 1.0)
    light *= spot.peak / n
    rows, columns = bottom - top, right - left
    return top, left, np.asarray(light.reshape(rows, _SAMPLES, columns, _SAMPLES).mean(axis=(1, 3)))
