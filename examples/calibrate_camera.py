"""Calibrate a camera: lens and plane from a frame of a plate of dots, written as a table with a map of its residuals.

The frame is rendered here, through a lens that bends; for a real camera take one from `granite.drivers.camera.sources`.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

import granite
from granite.drivers.camera.calibration import calibrate
from granite.drivers.camera.calibration_file import draw_residuals, write_view
from granite.drivers.camera.plate import Plate, find_dots
from granite.drivers.camera.pose import placed
from granite.drivers.camera.view import view_of
from granite.sim.camera.render import ImageSensor, LightSpot, NoiseBank, RenderedFrame

camera = granite.load("free-flyer/camera").devices["vision"]
nominal = view_of(camera)
true = replace(nominal, lens=nominal.lens._replace(distortion=(-0.05, 0.0, 0.0, 0.0, 0.0)))

plate, pose = Plate(columns=16, rows=12, pitch=0.2), (0.35, 0.25, 0.0)  # its first dot on the table, and its heading
dots = [LightSpot(x, y, radius=0.015, peak=190.0) for x, y in placed(plate.points, np.array(pose))]
noise = NoiseBank(camera.size_px, np.random.default_rng(1))
frame = np.asarray(RenderedFrame(true, dots, ImageSensor(), noise))

calibration = calibrate([find_dots(frame, plate)], camera.size_px, pose)
write_view(calibration, Path("view.toml"), date="2026-01-01")
draw_residuals(calibration, Path("residuals.png"))

pixels = np.array([(x, y) for x in range(100, 1200, 100) for y in range(100, 1000, 100)], dtype=float)
true_points = true.to_plane(pixels)
before, after = (np.hypot(*(v.to_plane(pixels) - true_points).T).max() * 1e3 for v in (nominal, calibration.view))
print(f"rms {calibration.view.residual:.3f} pixel; largest error {before:.1f} mm before, {after:.2f} mm after")
