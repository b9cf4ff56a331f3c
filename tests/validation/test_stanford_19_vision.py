"""Stanford report, appendix A: the vision sensor as specified, on rendered frames of 440 x 240 pixels at 60 Hz."""

from dataclasses import replace

import numpy as np

from granite.config.devices.camera import Camera
from granite.drivers.camera.calibration import calibrate
from granite.drivers.camera.patterns import Pattern
from granite.drivers.camera.plate import Plate, find_dots
from granite.drivers.camera.pose import placed
from granite.drivers.camera.tracker import NO_MEMORY, Tracker
from granite.drivers.camera.view import PlaneView, view_of
from granite.sim.camera.render import ImageSensor, LightSpot, NoiseBank, RenderedFrame
from granite.sim.camera.scene import spots_of
from tests.validation.claims import Claims

SIZE, RATE_HZ, HEIGHT_PX = (440, 240), 60.0, 240
NOMINAL = view_of(Camera(kind="camera", size_px=SIZE, field_m=(0.0, 0.0, 3.355, 1.83)))
#: 1 % of the field at the corner: 2.4 pixels
TRUE = replace(NOMINAL, lens=NOMINAL.lens._replace(distortion=(-0.03, 0.0, 0.0, 0.0, 0.0)))
#: amplitude 200, noise 2: SNR 100
SENSOR = ImageSensor(0.002, 20.0, 5.0, 2.0)
PEAK, RADIUS = 200.0, 0.026
TARGETS = Pattern("vehicle", np.array([(0.2, 0.19), (-0.22, 0.16), (-0.17, -0.21), (0.1, -0.15)]), np.full(4, RADIUS))
PLATE, PLATE_POSE = Plate(16, 9, 0.2), np.array([0.18, 0.12, 0.0])


def frame(pose, rate, bank):
    return RenderedFrame(TRUE, spots_of(TARGETS, np.array(pose), np.array(rate), PEAK), SENSOR, bank)


def target_errors(view: PlaneView, poses, rates, bank) -> np.ndarray:
    """Of each target in each frame, on the plane, in pixels of the nominal scale (frames, 4, 2)."""
    tracker, memory, errors = Tracker(view, [TARGETS]), NO_MEMORY, []
    for k, (pose, rate) in enumerate(zip(poses, rates, strict=True)):
        memory, seen = tracker.see(memory, frame(pose, rate, bank), k / RATE_HZ)
        if seen.sightings and len(seen.sightings[0].targets) == 4:
            points = view.to_plane(seen.sightings[0].pixels)
            errors.append((points - placed(TARGETS.positions, np.array(pose))) / NOMINAL.metres_per_pixel)
    return np.array(errors)


def test_stanford19_four_targets_at_sixty_hertz(claims: Claims):
    rng = np.random.default_rng(19)
    bank = NoiseBank(SIZE, rng)
    dots = [LightSpot(x, y, RADIUS, PEAK) for x, y in placed(PLATE.points, PLATE_POSE)]
    plate = find_dots(np.asarray(RenderedFrame(TRUE, dots, SENSOR, bank)), PLATE)
    view = calibrate([plate], SIZE, PLATE_POSE).view
    still = (0.0, 0.0, 0.0)
    centres = [(x, y) for x in (0.4, 1.0, 1.7, 2.4, 2.95) for y in (0.4, 0.9, 1.45)]
    jitter, absolute = [], []
    for x, y in centres:
        errors = target_errors(view, [(x, y, 0.4)] * 10, [still] * 10, bank)
        assert len(errors) == 10
        jitter.append(errors.std(axis=0).max())
        absolute.append(np.hypot(*errors.mean(axis=0).T).max())
    rate = np.array([0.4, 0.15, 0.5])
    path = [np.array([0.5, 0.5, 0.0]) + k / RATE_HZ * rate for k in range(240)]
    moving = target_errors(view, path, [rate] * 240, bank)
    assert len(moving) >= 236
    what = "4 targets at 60 Hz, 440 x 240 pixels, lens of 1 % distortion, calibrated"
    claims.below("Stanford 19", f"{what}: static jitter", 0.05, max(jitter), "pixel")
    claims.below("Stanford 19", f"{what}: static error", 0.16, max(absolute), "pixel")
    largest = float(np.hypot(*moving.reshape(-1, 2).T).max())
    claims.below(
        "Stanford 19", f"{what}: largest error in motion, 1:1000 of the field", HEIGHT_PX / 1000, largest, "pixel"
    )
    grid = np.array([(c, r) for c in np.linspace(10, 430, 15) for r in np.linspace(10, 230, 9)])
    off = np.hypot(*(NOMINAL.to_plane(grid) - TRUE.to_plane(grid)).T).max() / NOMINAL.metres_per_pixel
    claims.above("Stanford 19", "the same without compensation of the lens: largest error", 1.0, off, "pixel")
