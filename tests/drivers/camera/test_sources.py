"""Sources of frames, and the poses that are published from them."""

import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.drivers.camera.sources import live, open_source
from granite.drivers.camera.sources.capture import _frames
from granite.drivers.camera.sources.folder import write_frame
from granite.drivers.camera.sources.shared_frames import FrameWriter, shared_frames
from granite.drivers.camera.tracker import Tracker
from granite.drivers.camera.watch import publish, watch
from granite.drivers.pose_stream.message import PoseMessage
from tests.support.moving_bodies import FOUR, VIEW, frames, straight


class MessageCollector:
    """A sender that keeps the messages."""

    def __init__(self):
        self.messages = []

    def send(self, message):
        self.messages.append(PoseMessage.unpack(message))

    def close(self):
        """Nothing to close."""


MOTION = straight((1.0, 1.0, 0.2), (0.2, 0.1, 0.3))
SMALL = (64, 48)


def test_poses_are_published_with_the_times_of_the_pictures(tmp_path):
    for number, (t, frame) in enumerate(frames([(FOUR, MOTION)], 3), start=1):
        write_frame(tmp_path, np.asarray(frame), t + 100.0, number)
    sent = MessageCollector()
    names = {FOUR.body: "base", "hidden": "other"}
    for image, seen in watch(open_source(str(tmp_path), VIEW.size), Tracker(VIEW, [FOUR])):
        publish(sent, names, image, seen, clock=lambda: 200.0)
    base, other = (sent.messages[k::2] for k in (0, 1))
    assert [(m.body, m.number, m.is_tracked, m.sent) for m in base] == [("base", k, True, 200.0) for k in (1, 2, 3)]
    assert [(m.body, m.number, m.is_tracked) for m in other] == [("other", k, False) for k in (1, 2, 3)]
    for message in base:
        pose = np.array([*message.position[:2], message.heading])
        true = MOTION(message.exposed - 100.0)[0]
        assert np.abs((pose - true) / message.deviation).max() < 5


def test_recorded_pictures_are_live_at_their_pace(tmp_path):
    for number in (1, 2, 3):
        write_frame(tmp_path, np.zeros(SMALL[::-1], np.uint8), 100.0 + 0.02 * number, number)
    began = time.monotonic()
    images = list(live(open_source(str(tmp_path), SMALL), str(tmp_path)))
    assert np.diff([image.t for image in images]) == pytest.approx([0.02, 0.02])
    assert began <= images[0].t
    assert images[-1].t <= time.monotonic()


def test_pictures_without_times_are_a_period_apart(tmp_path):
    for number in (1, 2, 3):
        write_frame(tmp_path, np.full(SMALL[::-1], number, np.uint8), 0.0, number)
    (tmp_path / "times.csv").unlink()
    images = list(open_source(str(tmp_path), SMALL, rate_hz=50.0))
    assert [image.t for image in images] == pytest.approx([0.0, 0.02, 0.04])
    assert [image.pixels[0, 0] for image in images] == [1, 2, 3]


def test_a_video_has_the_times_of_its_frames(tmp_path):
    cv2 = pytest.importorskip("cv2")
    path = str(tmp_path / "seen.avi")
    writer = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 20.0, SMALL)
    for level in (50, 100, 150):
        writer.write(np.full((*SMALL[::-1], 3), level, np.uint8))
    writer.release()
    images = list(open_source(path, SMALL))
    assert np.diff([image.t for image in images]) == pytest.approx([0.05, 0.05], abs=1e-6)
    assert [round(image.pixels.mean(), -1) for image in images] == [50, 100, 150]


@pytest.mark.parametrize(("stamp", "exposed"), [(99.98, 99.98), (3.0, 99.9), (0.0, 99.9)])
def test_a_cameras_own_time_counts_if_it_is_of_the_same_clock(stamp, exposed):
    class Driver:
        frames = 1

        def grab(self):
            self.frames -= 1
            return self.frames >= 0

        def get(self, _):
            return 1e3 * stamp

        def retrieve(self):
            return True, np.zeros(SMALL[::-1], np.uint8)

        def release(self):
            """Nothing to release."""

    (image,) = _frames(SimpleNamespace(CAP_PROP_POS_MSEC=0), Driver(), clock=lambda: 99.9)
    assert image.t == pytest.approx(exposed)


def test_frames_pass_through_shared_memory_whole_and_newest_first():
    name = f"granite_test_frames_{os.getpid()}"
    writer = FrameWriter(name, SMALL)

    def write():
        for k in range(1, 120):
            writer.put(np.full(SMALL[::-1], k, np.uint8), 0.01 * k)
            time.sleep(1e-3)

    try:
        thread = threading.Thread(target=write)
        images = []
        thread.start()
        for image in shared_frames(name, patience_s=30.0):
            images.append(image)
            if image.number == 119:
                break
        again = list(shared_frames(name, patience_s=0.05))  # it ends by itself where no new frame comes
    finally:
        thread.join()
        writer.close()
    numbers = [image.number for image in images]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 119
    assert [image.number for image in again] == [119]
    for image in images:
        assert (image.pixels == image.number).all()
        assert image.t == pytest.approx(0.01 * image.number)


def test_what_can_not_be_read_is_refused(tmp_path):
    cases = {
        str(tmp_path): "no picture in it",
        "nowhere.avi": "no such source of frames",
        "shared:none_such": "no shared",
    }
    for source, sentence in cases.items():
        with pytest.raises(InputError, match=sentence):
            list(open_source(source, SMALL))
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(InputError, match=r"a.png: not a picture"):
        list(open_source(str(tmp_path), SMALL))


def test_a_missing_camera_is_named():
    pytest.importorskip("cv2")
    with pytest.raises(InputError, match="no camera 97, expected the number of a connected camera"):
        list(open_source("97", SMALL))


def test_frames_of_the_wrong_size_are_refused(tmp_path):
    write_frame(tmp_path, np.zeros(SMALL[::-1], np.uint8), 0.0, 1)
    with pytest.raises(InputError, match="a frame of 64x48 pixels, expected 1280x1024, as calibrated"):
        list(open_source(str(tmp_path), (1280, 1024)))


def test_a_time_that_is_missing_is_named(tmp_path):
    write_frame(tmp_path, np.zeros(SMALL[::-1], np.uint8), 0.0, 1)
    (tmp_path / "times.csv").write_text("other.png,0.5\n")
    with pytest.raises(InputError, match=r"no time of '000001.png', expected a line for every picture"):
        list(open_source(str(tmp_path), SMALL))
    (tmp_path / "times.csv").write_text("000001.png,soon\n")
    with pytest.raises(InputError, match="not a table of times"):
        list(open_source(str(tmp_path), SMALL))
