"""Whole frames at the rate of a camera: the background is rendered once, and only the targets for every frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.config.records import Array
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.view import PlaneView
from granite.sim.camera.render import ImageSensor, LightSpot, NoiseBank, RenderedFrame, background, read_out


class WholeFrames:
    """Renders all pixels of frames, each equal to its `RenderedFrame`.

    The background depends on the column only, so its noise is shifted by rows: a frame is a part of one prepared
    image, with the pixels around the targets computed anew.
    """

    def __init__(self, view: PlaneView, sensor: ImageSensor, rng: np.random.Generator) -> None:
        self._view = view
        self._sensor = sensor
        self._noise = NoiseBank(view.size, rng, by_rows=True)
        width, height = view.size
        counts = np.tile(background(sensor, width), (2 * height, 1))
        noise = self._noise.part((0, 0), slice(0, 2 * height), slice(0, width))
        self._prepared = read_out(counts, noise, sensor)

    def render(self, spots: Sequence[LightSpot], light: Array | None = None) -> Pixels:
        """The pixels of a frame; `light` adds an image in counts, such as that of a tag."""
        frame = RenderedFrame(self._view, spots, self._sensor, self._noise, light)
        if light is not None:
            return np.asarray(frame)
        height, width = frame.shape
        first = frame.shift[0]
        pixels = self._prepared[first : first + height].copy()
        for top, left, stamp in frame.stamps:
            rows = slice(max(top, 0), max(0, min(top + stamp.shape[0], height)))
            columns = slice(max(left, 0), max(0, min(left + stamp.shape[1], width)))
            if rows.start < rows.stop and columns.start < columns.stop:
                pixels[rows, columns] = frame[rows, columns]
        return pixels
