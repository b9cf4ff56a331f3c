"""The search in windows has two forms, in Python and in C: they give the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from granite.drivers.camera.spot_kernel import spot_kernel
from granite.drivers.camera.spots import DARK, SEVERAL, SINGLE, search, spots_at, survey
from granite.drivers.camera.tracker import NO_MEMORY, Tracker
from tests.firmware.emulated import need
from tests.support.moving_bodies import FOUR, OTHER, VIEW, frames, straight

SIDE = 31
MOVING = [
    (FOUR, straight((0.9, 1.0, 0.2), (0.3, 0.1, 0.4))),
    (OTHER, straight((1.3, 1.1, -1.0), (-0.2, 0.15, -0.3))),
]


def both(monkeypatch: pytest.MonkeyPatch, call):
    """The results of the compiled form, and of the one in Python."""
    need("cc")
    assert spot_kernel() is not None
    compiled = call()
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    assert spot_kernel() is None
    plain = call()
    monkeypatch.undo()
    return compiled, plain


def windows(n: int) -> np.ndarray:
    """Windows one below another: dark ones, spots of all sizes and places, pairs, saturated and flat ones."""
    rng = np.random.default_rng(7)
    across, down = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    made = []
    for k in range(n):
        counts = 20 + rng.normal(0, rng.choice([0.0, 1.0, 4.0]), (SIDE, SIDE))
        for _ in range(k % 4):
            x, y = rng.uniform(0, SIDE, 2)
            distance = np.hypot(across - x, down - y) / rng.uniform(2.0, 6.0)
            counts += rng.choice([60.0, 190.0, 400.0]) * np.clip(1 - distance, 0, 1)
        made.append(np.clip(np.rint(counts), 0, 255).astype(np.uint8))
    return np.vstack(made)


@pytest.mark.parametrize("gain", [0.0, 1 / 40])
def test_surveys_are_equal_to_the_bit(gain: float, monkeypatch: pytest.MonkeyPatch):
    n = 400
    pixels = windows(n)
    corners = np.column_stack((np.zeros(n, dtype=int), SIDE * np.arange(n)))
    radii = np.random.default_rng(8).uniform(2.0, 6.0, n)
    compiled, plain = both(monkeypatch, lambda: survey(pixels, corners, (SIDE, SIDE), radii, gain))
    np.testing.assert_array_equal(compiled, plain)
    assert set(compiled[:, 2]) == {DARK, SINGLE, SEVERAL}
    assert np.isfinite(compiled[compiled[:, 2] == SINGLE]).all(axis=1).sum() > 50


def test_spots_searches_and_tracks_are_equal_to_the_bit(monkeypatch: pytest.MonkeyPatch):
    recorded = [(t, np.asarray(frame)) for t, frame in frames(MOVING, 6)]
    centres = VIEW.to_pixel(np.vstack([shape.positions + motion(0.0)[0][:2] for shape, motion in MOVING]))

    def all_of_it():
        memory, poses = NO_MEMORY, []
        tracker = Tracker(VIEW, [FOUR, OTHER], 1 / 40)
        for t, pixels in recorded:
            memory, seen = tracker.see(memory, pixels, t)
            poses += [(*sighting.pose, *sighting.deviation, sighting.targets) for sighting in seen.sightings]
        wide = spots_at(recorded[0][1], centres, 60, np.full(len(centres), 4.2), 1 / 40)[0]
        return poses, wide, search(recorded[0][1], 4.2, 1 / 40)

    compiled, plain = both(monkeypatch, all_of_it)
    assert compiled == plain
    assert len(compiled[0]) == 12
