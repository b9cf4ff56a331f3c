"""Bright spots in a window, and in a whole frame: threshold from the pixels themselves, then connected pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from granite.config.records import Array
from granite.drivers.camera.centroid import MARGIN_PX, Blob, Pixels, levels, measure


class FrameLike(Protocol):
    """A frame: an array of 8-bit grey values, or a rendered one, which computes the pixels that are read.

    `np.asarray` of it gives all pixels.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __getitem__(self, part: Any) -> Any:
        """The pixels of a window."""


#: a pixel is bright above so many deviations of the noise, and above this part of the brightest one
_SIGMAS, _PART = 6.0, 0.35
#: side of the blocks in which a whole frame is searched [pixel]
_BLOCK = 4
#: spacing of the pixels from which background and noise of a whole frame are estimated
_SPARSE = 16
#: most spots that are measured in one frame: more is a lamp, not targets
_MOST = 200
#: pixels around a target in which its background is measured
_RING = 3
_EIGHT = np.ones((3, 3), dtype=int)


def windows_of(frame: FrameLike, centres: Array, half: int) -> tuple[Pixels, NDArray[np.int_]]:
    """Square windows about centres (n, 2), moved into the image at its edges, and first column and row of each."""
    rows, columns = frame.shape
    height, width = min(2 * half + 1, rows), min(2 * half + 1, columns)
    corners = np.rint(centres).astype(int) - half
    corners = np.minimum(np.maximum(corners, 0), (columns - width, rows - height))
    if isinstance(frame, np.ndarray):
        inside = np.arange(height)[:, np.newaxis] * columns + np.arange(width)
        first = corners[:, 1] * columns + corners[:, 0]
        return frame.reshape(-1)[first[:, np.newaxis, np.newaxis] + inside], corners
    parts = [frame[top : top + height, left : left + width] for left, top in corners.tolist()]
    return np.stack(parts), corners


def spots_at(
    frame: FrameLike, centres: Array, half: int, radii: Array, counts_per_electron: float = 0.0
) -> tuple[list[Blob], NDArray[np.int_]]:
    """The spots in square windows of a frame, each spot once, and first column and row of each window.

    Parameters
    ----------
    frame
        8-bit grey values.
    centres, half
        Of the windows (n, 2), and half their side [pixel].
    radii
        Of the target that is looked for in each (n) [pixel].
    """
    if len(centres) == 0:
        return [], np.zeros((0, 2), dtype=int)
    windows, corners = windows_of(frame, centres, half)
    background, noise = levels(windows)
    peak = windows.max(axis=(1, 2))
    threshold = background + np.maximum(_SIGMAS * noise, _PART * (peak - background))
    bright = windows > threshold[:, np.newaxis, np.newaxis]
    light = (windows - background[:, np.newaxis, np.newaxis]) * bright
    down, across = light.sum(axis=2), light.sum(axis=1)
    total = down.sum(axis=1)
    lit = total > 0
    moments = np.array([across @ np.arange(across.shape[1]), down @ np.arange(down.shape[1])])
    guess = (moments / np.where(lit, total, 1.0)).T
    single = lit & (_extent(across) <= 2 * radii + 2) & (_extent(down) <= 2 * radii + 2)
    found: list[Blob] = []
    if single.any():
        one = np.flatnonzero(single)
        measured = measure(windows[one], guess[one], radii[one], background[one], noise[one], counts_per_electron)
        measured[:, :2] += corners[single]
        _add_new(found, measured)
    for k in np.flatnonzero(lit & ~single).tolist():
        several = _separated(windows[k], bright[k], background[k])
        same = np.full(len(several), k)
        measured = measure(windows[same], several, radii[same], background[same], noise[same], counts_per_electron)
        measured[:, :2] += corners[k]
        _add_new(found, measured)
    return found, corners


def _extent(light: Array) -> Array:
    """From the first to the last bright row or column of each window."""
    on = light > 0
    return np.asarray(light.shape[1] - on[:, ::-1].argmax(axis=1) - on.argmax(axis=1))


def _separated(window: Pixels, bright: NDArray[np.bool_], background: float) -> Array:
    """Centres of the connected bright areas of a window (n, 2)."""
    labels, n = ndimage.label(bright, _EIGHT)
    centres = ndimage.center_of_mass(window - background, labels, range(1, n + 1))
    return np.array(centres)[:, ::-1]


def _add_new(found: list[Blob], measured: Array) -> None:
    """Add the spots that were measured and are not there yet: windows overlap."""
    for row in measured.tolist():
        blob = Blob(*row)
        if blob.x == blob.x and not any(abs(blob.x - b.x) < 1 and abs(blob.y - b.y) < 1 for b in found):
            found.append(blob)


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
    places, radii = np.array(centres).reshape(-1, 2), np.full(len(centres), radius)
    return spots_at(frame, places, half, radii, counts_per_electron)[0]


def _bright(frame: Pixels) -> Iterator[tuple[float, float, int, int]]:
    """Centre and size of each connected bright area, in whole blocks: the frame is read once, and labelled coarsely."""
    rows, columns = (size - size % _BLOCK for size in frame.shape)
    cut = np.ascontiguousarray(frame[:rows, :columns])
    (background,), (noise,) = levels(np.ascontiguousarray(cut[::_SPARSE, ::_SPARSE])[np.newaxis])
    threshold = background + max(_SIGMAS * noise, _PART * (float(cut.max()) - background))
    if threshold >= np.iinfo(np.uint8).max:
        return
    # Four pixels of a row are one number of 32 bit: no comparison of single pixels.
    bright = (cut > np.uint8(threshold)).view(np.uint32).reshape(rows // _BLOCK, _BLOCK, columns // _BLOCK)
    blocks = np.bitwise_or.reduce(bright, axis=1) != 0
    labels, _ = ndimage.label(blocks, _EIGHT)
    for down, across in ndimage.find_objects(labels)[:_MOST]:
        height, width = (_BLOCK * (part.stop - part.start) for part in (down, across))
        x, y = (_BLOCK * (part.start + part.stop) / 2 - 0.5 for part in (across, down))
        yield x, y, width, height
