"""Bright spots in a window, and in a whole frame: threshold from the pixels themselves, then connected pixels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from granite.config.records import Array
from granite.drivers.camera.centroid import MARGIN_PX, Blob, level, measure

Pixels = NDArray[np.uint8]

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


def spots_in(
    window: Array, radius: float, counts_per_electron: float = 0.0, corner: tuple[int, int] = (0, 0)
) -> list[Blob]:
    """The spots in a window; `corner` is its first column and row in the frame.

    Parameters
    ----------
    window
        Grey values, most of them background.
    radius
        Of the targets [pixel].
    """
    background, noise = level(window)
    peak = float(window.max())
    threshold = background + max(_SIGMAS * noise, _PART * (peak - background))
    if peak <= threshold:
        return []
    labels, n = ndimage.label(window > threshold, _EIGHT)
    found = []
    for k in range(1, n + 1):
        rows, columns = np.nonzero(labels == k)
        light = window[rows, columns] - background
        total = light.sum()
        x, y = float(columns @ light / total), float(rows @ light / total)
        blob = measure(window, x, y, radius, background, noise, counts_per_electron)
        # Once more about the centroid itself: the guess was made of the brightest pixels only.
        if blob is not None:
            blob = measure(window, blob.x, blob.y, radius, background, noise, counts_per_electron)
        if blob is not None:
            found.append(blob._replace(x=blob.x + corner[0], y=blob.y + corner[1]))
    return found


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
    rows, columns = frame.shape
    found: list[Blob] = []
    for x, y, width, height in _bright(frame):
        if max(width, height) > largest:
            continue
        left, top = max(0, round(x - half)), max(0, round(y - half))
        right, bottom = min(columns, round(x + half) + 1), min(rows, round(y + half) + 1)
        window = frame[top:bottom, left:right].astype(float)
        for blob in spots_in(window, radius, counts_per_electron, (left, top)):
            if not any(abs(blob.x - other.x) < 1 and abs(blob.y - other.y) < 1 for other in found):
                found.append(blob)
    return found


def _bright(frame: Pixels) -> Iterator[tuple[float, float, int, int]]:
    """Centre and size of each connected bright area, in whole blocks: the frame is read once, and labelled coarsely."""
    rows, columns = (size - size % _BLOCK for size in frame.shape)
    cut = np.ascontiguousarray(frame[:rows, :columns])
    background, noise = level(cut[::_SPARSE, ::_SPARSE].astype(float))
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
