"""Whole frames at the rate of a camera are those that are rendered pixel by pixel."""

import numpy as np

import granite
from granite.drivers.camera.view import view_of
from granite.sim.camera.render import RenderedFrame
from granite.sim.camera.scene import FilmedScene, sensor_of
from granite.sim.camera.whole_frames import WholeFrames

BED = granite.load("free-flyer/camera", {"devices.vision.size_px": [320, 256]})
CAMERA = BED.devices["vision"]


def test_they_are_equal_and_differ_from_frame_to_frame():
    view, sensor = view_of(CAMERA), sensor_of(CAMERA)
    # Half of the targets are beyond the edge of the image.
    spots, light = FilmedScene(BED, CAMERA).light([(np.array([0.05, 2.7, 0.3]), np.array([0.2, 0.1, 0.3]))])
    frames, same = (WholeFrames(view, sensor, np.random.default_rng(3)) for _ in range(2))
    shown = [frames.render(spots, light) for _ in range(3)]
    rendered = [np.asarray(RenderedFrame(view, spots, sensor, same._noise)) for _ in range(3)]
    for one, other in zip(shown, rendered, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (shown[0] != shown[1]).mean() > 0.3
