"""A calibration plate under a simulated camera: somebody lays it on the table, and the camera takes pictures of it."""

from __future__ import annotations

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.plate import Plate
from granite.drivers.camera.pose import placed, rotation
from granite.drivers.camera.view import view_of
from granite.sim.camera.render import LightSpot, NoiseBank, RenderedFrame
from granite.sim.camera.scene import sensor_of

#: radius of a dot as a part of the pitch, and at most [m]
_DOT, _DOT_M = 0.2, 0.012
#: samples per pixel along each axis, of the squares of a checkerboard
_SAMPLES = 3
#: for the random numbers of the pictures
_STREAM = 1


class PlatePlant:
    """A plate on the table; `bed` is the plant's own, and its view the true one."""

    def __init__(self, bed: Testbed, name: str) -> None:
        camera = bed.devices[name]
        assert isinstance(camera, Camera)
        self.bed = bed
        self._camera = camera
        self._view = view_of(camera)
        rng = np.random.default_rng(np.random.SeedSequence(bed.seed, spawn_key=(2**31, _STREAM)))
        self._noise = NoiseBank(camera.size_px, rng)
        self._pose: Array = np.zeros(3)

    def advance(self, t: float) -> None:
        """It rests."""

    def lay(self, pose: Array) -> None:
        """Lay the first point of the plate there: x [m], y [m], heading [rad]."""
        self._pose = pose

    def picture(self) -> Pixels:
        """A frame of the plate."""
        camera, table = self._camera, self._camera.plate
        plate = Plate(table.columns, table.rows, table.pitch_m)
        sensor, peak = sensor_of(camera), camera.simulated.peak_counts
        if table.pattern == "checkerboard":
            return np.asarray(RenderedFrame(self._view, [], sensor, self._noise, self._squares(plate, peak)))
        radius = min(_DOT_M, _DOT * plate.pitch)
        dots = [LightSpot(x, y, radius, peak) for x, y in placed(plate.points, self._pose).tolist()]
        return np.asarray(RenderedFrame(self._view, dots, sensor, self._noise))

    def _squares(self, plate: Plate, peak: float) -> Array:
        """Light of a checkerboard with a white edge of one square around it."""
        width, height = self._view.size
        corners = np.array([(x, y) for x in (-2, plate.columns + 1) for y in (-2, plate.rows + 1)]) * plate.pitch
        seen = self._view.to_pixel(placed(corners.astype(float), self._pose))
        left, top = np.maximum(np.floor(seen.min(axis=0)).astype(int) - 2, 0).tolist()
        right, bottom = np.minimum(np.ceil(seen.max(axis=0)).astype(int) + 3, (width, height)).tolist()
        fine = (np.arange(_SAMPLES) + 0.5) / _SAMPLES - 0.5
        columns, rows = np.meshgrid(
            (np.arange(left, right)[:, None] + fine).ravel(), (np.arange(top, bottom)[:, None] + fine).ravel()
        )
        points = self._view.to_plane(np.column_stack((columns.ravel(), rows.ravel()))) - self._pose[:2]
        x, y = (points @ rotation(float(self._pose[2]))).T / plate.pitch
        on_plate = (x > -2) & (x < plate.columns + 1) & (y > -2) & (y < plate.rows + 1)
        on_board = (x > -1) & (x < plate.columns) & (y > -1) & (y < plate.rows)
        white = on_plate & ~(on_board & ((np.floor(x) + np.floor(y)) % 2 == 0))
        shape = (bottom - top, _SAMPLES, right - left, _SAMPLES)
        light = np.zeros((height, width))
        light[top:bottom, left:right] = peak * white.reshape(shape).mean(axis=(1, 3))
        return light
