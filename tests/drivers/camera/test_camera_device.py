"""The driver of a camera: poses from another process, which is started and ended with it, and whose end is noticed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.records import Frame, Status
from granite.drivers.camera.device import CameraDevice
from granite.drivers.camera.sources import SHARED
from granite.drivers.camera.sources.shared_frames import FrameWriter
from granite.drivers.camera.view import view_of
from granite.sim.camera.scene import FilmedScene, sensor_of
from granite.sim.camera.whole_frames import WholeFrames

#: small frames, so that the processes start soon
BED = granite.load("free-flyer/camera", {"devices.vision.size_px": [640, 512]})
POSE = np.array([1.2, 1.0, 0.3])


class FilmedBody:
    """A body at rest that a thread films into shared memory."""

    def __init__(self) -> None:
        camera = BED.devices["vision"]
        frames = WholeFrames(view_of(camera), sensor_of(camera), np.random.default_rng(1))
        self._pixels = frames.render(*FilmedScene(BED, camera).light([(POSE, np.zeros(3))]))
        self.memory = f"granite-test-{os.getpid()}"
        self._writer = FrameWriter(self.memory, camera.size_px)
        self.is_over = False
        self._thread = threading.Thread(target=self._film)
        self._thread.start()

    def _film(self) -> None:
        while not self.is_over:
            self._writer.put(self._pixels, time.monotonic())
            time.sleep(0.01)

    def close(self) -> None:
        self.is_over = True
        self._thread.join()
        self._writer.close()


@pytest.fixture
def filmed() -> Iterator[FilmedBody]:
    made = FilmedBody()
    yield made
    made.close()


def device(source: str) -> CameraDevice:
    return CameraDevice(CameraDevice.Options(kind="camera", source=source), "vision", BED)


def read_until(camera: CameraDevice, began: float, status: Status, number: int = 0) -> Frame:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        frame = camera.read(time.monotonic() - began)
        if frame.status == status and frame.number >= number:
            return frame
        time.sleep(0.005)
    raise AssertionError(f"no such frame: {frame}")


def test_poses_come_with_their_deviations_until_the_process_is_killed(filmed: FilmedBody):
    camera = device(SHARED + filmed.memory)
    camera.open()
    try:
        began = time.monotonic()
        frame = read_until(camera, began, Status.OK, number=3)
        assert (np.abs(frame.values[:3] - POSE) < 6 * frame.values[3:]).all()
        assert 1e-6 < frame.values[3] < 1e-3
        assert 0.0 <= time.monotonic() - began - frame.t < 10.0
        assert filmed.memory in camera.identity
        assert camera.process is not None
        camera.process.kill()
        assert read_until(camera, began, Status.BROKEN).number >= 3
    finally:
        process = camera.process
        camera.close()
    assert process is not None
    assert process.returncode is not None
    assert Path("/dev/shm", filmed.memory).exists()  # it is its writer's


@pytest.mark.slow
def test_a_source_that_is_not_there_is_refused_in_one_sentence():
    camera = device("shared:granite-nobody")
    with pytest.raises(InputError, match=r'source = "shared:granite-nobody": .*no shared memory of this name'):
        camera.open()
    assert camera.process is None


def test_a_device_without_targets_is_refused():
    plain = granite.load("free-flyer")
    with pytest.raises(InputError, match="expected a device of kind camera"):
        CameraDevice(CameraDevice.Options(kind="camera"), "vision", plain)
