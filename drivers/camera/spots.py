"""Bright spots in a window, and in a whole frame: threshold from the pixels themselves, then connected pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from granite.config.records import Array
from granite.drivers.camera.centroid import Blob, Pixels, half_square, levels, measure
from granite.drivers.camera.spot_kernel import spot_kernel
from granite.drivers.camera.thresholds import MARGIN_PX, PART, SIGMAS


class FrameLike(Protocol):
    """A frame: an array of 8-bit grey values, or a rendered one, which computes the pixels that are read.

    `np.asarray` of it gives all pixels.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __getitem__(self, part: Any) -> Any:
        """The pixels of a window."""


#: what a window shows
DARK, SINGLE, SEVERAL = 0, 1, 2
#: side of the blocks in which a whole frame is searched [pixel]
_BLOCK = 4
#: spacing of the pixels from which background and noise of a whole frame are estimated
_SPARSE = 16
#: most spots that are measured in one frame: more is a lamp, not targets
_MOST = 200
#: pixels around a target in which its background is measured
_RING = 3
_EIGHT = np.ones((3, 3), dtype=int)


def spots_at(
    frame: FrameLike, centres: Array, half: int, radii: Array, counts_per_electron: float = 0.0
) -> tuple[list[Blob], NDArray[np.int_]]:
    """The spots in square windows of a frame, each spot once, and first column and row of each window.

    Parameters
    ----------
    frame
        8-bit grey values.
    centres, half
        Of the windows (n, 2), which are moved into the image at its edges, and half their side [pixel].
    radii
        Of the target that is looked for in each (n) [pixel].
    """
    if len(centres) == 0:
        return [], np.zeros((0, 2), dtype=int)
    rows, columns = frame.shape
    size = min(2 * half + 1, rows), min(2 * half + 1, columns)
    corners = np.rint(centres).astype(int) - half
    corners = np.minimum(np.maximum(corners, 0), (columns - size[1], rows - size[0]))
    pixels, read_corners = _read(frame, corners, size)
    blobs: list[Blob] = []
    surveyed = survey(pixels, read_corners, size, radii, counts_per_electron)
    surveyed[:, 3:5] += corners
    states = surveyed[:, 2].tolist()
    _add_new(blobs, surveyed[:, 3:])
    for k in [k for k, state in enumerate(states) if state == SEVERAL]:
        left, top = read_corners[k].tolist()
        window = pixels[top : top + size[0], left : left + size[1]]
        background, noise = surveyed[k, :2].tolist()
        several = _separated(window, window > _threshold(background, noise, float(window.max())), background)
        same = np.ones(len(several))
        windows = np.broadcast_to(window, (len(several), *size))
        measured = measure(windows, several, radii[k] * same, background * same, noise * same, counts_per_electron)
        measured[:, :2] += corners[k]
        _add_new(blobs, measured)
    return blobs, corners


def _read(frame: FrameLike, corners: NDArray[np.int_], size: tuple[int, int]) -> tuple[Pixels, NDArray[np.int_]]:
    """Pixels that contain the windows, and where each is in them: the frame, or windows of it one below another."""
    if isinstance(frame, np.ndarray) and frame.flags.c_contiguous:
        return frame, corners
    height, width = size
    parts = [frame[top : top + height, left : left + width] for left, top in corners.tolist()]
    below = height * np.arange(len(parts))
    return np.vstack(parts), np.column_stack((np.zeros_like(below), below))


def survey(
    pixels: Pixels, corners: NDArray[np.int_], size: tuple[int, int], radii: Array, counts_per_electron: float
) -> Array:
    """What is in windows: background, noise [counts], `DARK`, `SINGLE` or `SEVERAL`, and of a single spot the numbers
    of its `Blob` in the window, otherwise NaN (n, 8); compiled where there is a compiler.

    Parameters
    ----------
    pixels
        8-bit grey values (rows, columns).
    corners, size
        First column and row of each window (n, 2), and their rows and columns.
    radii
        Of the target that is looked for in each (n) [pixel].
    """
    if (kernel := spot_kernel()) is not None:
        return kernel.survey(pixels, corners, size, radii, half_square(radii), counts_per_electron)
    height, width = size
    inside = np.arange(height)[:, np.newaxis] * pixels.shape[1] + np.arange(width)
    first = corners[:, 1] * pixels.shape[1] + corners[:, 0]
    windows = pixels.reshape(-1)[first[:, np.newaxis, np.newaxis] + inside]
    background, noise = levels(windows)
    peak = windows.max(axis=(1, 2)).astype(float)
    bright = windows > _threshold(background, noise, peak)[:, np.newaxis, np.newaxis]
    grey = windows * bright
    across, down = np.arange(width), np.arange(height)
    number = bright.sum(axis=(1, 2))
    total = grey.sum(axis=(1, 2), dtype=float)
    total = total - background * number
    lit = total > 0
    moments = np.array([
        grey.sum(axis=1, dtype=float) @ across - background * (bright.sum(axis=1) @ across),
        grey.sum(axis=2, dtype=float) @ down - background * (bright.sum(axis=2) @ down),
    ])  # fmt: skip
    largest = 2 * radii + 2
    single = lit & (_extent(bright.any(axis=1)) <= largest) & (_extent(bright.any(axis=2)) <= largest)
    surveyed = np.full((len(corners), 8), np.nan)
    surveyed[:, 0] = background
    surveyed[:, 1] = noise
    surveyed[:, 2] = np.where(single, SINGLE, np.where(lit, SEVERAL, DARK))
    if single.any():
        one = np.flatnonzero(single)
        guess = (moments[:, one] / total[one]).T
        surveyed[one, 3:] = measure(windows[one], guess, radii[one], background[one], noise[one], counts_per_electron)
    return surveyed


def _threshold(background: Any, noise: Any, peak: Any) -> Any:
    """Above which a pixel is bright."""
    return background + np.maximum(SIGMAS * noise, PART * (peak - background))


def _extent(on: NDArray[np.bool_]) -> NDArray[np.int_]:
    """From the first to the last bright row or column of each window."""
    return np.asarray(on.shape[1] - on[:, ::-1].argmax(axis=1) - on.argmax(axis=1))


def _separated(window: Pixels, bright: NDArray[np.bool_], background: float) -> Array:
    """Centres of the connected bright areas of a window (n, 2)."""
    labels, n = ndimage.label(bright, _EIGHT)
    centres = ndimage.center_of_mass(window - background, labels, range(1, n + 1))
    return np.array(centres)[:, ::-1]


def _add_new(blobs: list[Blob], measured: Array) -> None:
    """Add the spots that were measured and are not there yet: windows overlap."""
    for row in measured.tolist():
        blob = Blob(*row)
        if blob.x == blob.x and not any(abs(blob.x - b.x) < 1 and abs(blob.y - b.y) < 1 for b in blobs):
            blobs.append(blob)


def search(frame: Pixels, radius: float, counts_per_electron: float = 0.0) -> list[Blob]:
    """All spots in a frame that are not much larger than the targets.

    Parameters
    ----------
    frame
        Grey values (rows, columns).
    radius
        Of the largest target [pixel].
    """
    largest = 2 * (radius + MARGIN_PX) + 2 * _BLOCK
    half = int(np.ceil(radius + MARGIN_PX)) + _RING
    centres = [(x, y) for x, y, width, height in _bright(frame) if max(width, height) <= largest]
    pixels = np.array(centres).reshape(-1, 2)
    radii = np.full(len(centres), radius)
    return spots_at(frame, pixels, half, radii, counts_per_electron)[0]


def _bright(frame: Pixels) -> Iterator[tuple[float, float, int, int]]:
    """Centre and size of each connected bright area, in whole blocks: the frame is read once, and labelled coarsely."""
    rows, columns = (size - size % _BLOCK for size in frame.shape)
    cut = np.ascontiguousarray(frame[:rows, :columns])
    (background,), (noise,) = levels(np.ascontiguousarray(cut[::_SPARSE, ::_SPARSE])[np.newaxis])
    threshold = _threshold(background, noise, float(cut.max()))
    if threshold >= np.iinfo(np.uint8).max:
        return
    # Four pixels of a row are one number of 32 bit: no comparison of single pixels.
    bright = (cut > np.uint8(threshold)).view(np.uint32).reshape(rows // _BLOCK, _BLOCK, columns // _BLOCK)
    blocks = np.bitwise_or.reduce(bright, axis=1) != 0
    labels, _ = ndimage.label(blocks, _EIGHT)
    for down, across in ndimage.find_objects(labels)[:_MOST]:
        height = _BLOCK * (down.stop - down.start)
        width = _BLOCK * (across.stop - across.start)
        x = _BLOCK * (across.start + across.stop) / 2 - 0.5
        y = _BLOCK * (down.start + down.stop) / 2 - 0.5
        yield x, y, width, height
