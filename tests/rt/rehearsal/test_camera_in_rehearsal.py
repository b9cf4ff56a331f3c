"""From pixels to control in a rehearsal: rendered frames, the vision sensor in its own process, and their loss."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.rt.rehearsal import rehearsed_cameras
from granite.rt.rehearsal.rehearsal import rehearsal
from granite.rt.run import Run
from tests.firmware.emulated import need
from tests.support.killed_boards import PATIENT, child_of, running
from tests.support.waiting import is_alive, until

WATCHDOG_S = 1.0
#: how well a rehearsal knows the times of its boards' samples
TIMED = {"devices.joint_sensors.time_deviation_s": 1e-3}
MEMORY = Path("/dev/shm")


def left_behind(pid: int) -> list[str]:
    """Shared memory of a rehearsal of this process."""
    return [path.name for path in MEMORY.glob(f"granite-rehearsal-{pid}-*")]


@pytest.mark.slow
def test_the_free_flyer_flies_from_pixels_through_three_processes(tmp_path: Path):
    need("cc")
    bed = granite.load("free-flyer/camera", {"loop.duration_s": 4.0, "safety.age_s.joint_sensors": 1.0})
    with rehearsal(bed, WATCHDOG_S) as outside:
        assert left_behind(os.getpid())
        summary = Run(bed, rehearsal=outside).record(tmp_path / "run.mcap", realtime=True)
    assert not left_behind(os.getpid())
    assert summary["ended"] == "completed", summary["text"]
    log = granite.read_log(tmp_path / "run.mcap")
    assert log.bed == bed.with_changes(TIMED).model_copy(update={"tuning": None})
    assert granite.replay(log).first is None
    seen, truth = log["/sample"], log["/truth"]
    new = np.diff(seen.vision_number, prepend=0) > 0
    assert new.sum() > 100
    exposed = seen.vision_t_s[new]
    off = seen.vision_base_x_m[new] - np.interp(exposed, truth.t_s, truth.base_x_m)
    assert np.sqrt((off[5:] ** 2).mean()) < 1e-3  # of a field of 3.66 m a quarter of a thousandth
    assert (seen.vision_base_x_deviation_m[new] < 1e-4).all()
    age = seen.t_s[new] - exposed
    assert bed.devices["vision"].latency_s < np.median(age)
    assert summary["links"]["camera vision"]["received"][-1] > 100


@pytest.mark.slow
@pytest.mark.parametrize("what", ["vision", "renderer"])
def test_a_killed_vision_sensor_or_renderer_ends_the_run_by_name_and_leaves_nothing(what: str, tmp_path: Path):
    need("cc")
    bed = granite.load("free-flyer/camera", PATIENT)
    with rehearsal(bed, WATCHDOG_S) as outside:
        with running(bed, outside, tmp_path / "run.mcap") as run:
            vision = child_of(run.pid, "vision_process")
            if what == "vision":
                os.kill(vision, signal.SIGKILL)
            else:
                outside.cameras.processes["vision"].kill()
            summary = run.summary()
        assert summary["ended"] == ("sensor_fault" if what == "vision" else "sensor_stale"), summary["text"]
        assert "vision" in summary["text"]
        until(lambda: bool(outside.outputs()[0, 1]))
        until(lambda: not is_alive(vision))
    assert not left_behind(os.getpid())


@pytest.mark.slow
def test_a_killed_loop_takes_the_vision_sensor_with_it(tmp_path: Path):
    need("cc")
    bed = granite.load("free-flyer/camera", PATIENT)
    with rehearsal(bed, WATCHDOG_S) as outside, running(bed, outside, tmp_path / "run.mcap") as run:
        vision = child_of(run.pid, "vision_process")
        os.kill(run.pid, signal.SIGKILL)
        run.process.join()
        until(lambda: not is_alive(vision))
        until(lambda: bool(outside.outputs()[0, 1]))


def test_memory_of_a_killed_rehearsal_is_removed_and_that_of_a_running_one_kept():
    prefix = f"granite-test-{os.getpid()}-"
    killed, running_one = MEMORY / f"{prefix}4194305-x-vision", MEMORY / f"{prefix}{os.getpid()}-x-vision"
    try:
        for path in (killed, running_one):
            path.touch()
        for memory in rehearsed_cameras.left_behind(MEMORY, prefix):
            memory.unlink()
        assert not killed.exists()
        assert running_one.exists()
    finally:
        for path in (killed, running_one):
            path.unlink(missing_ok=True)


def test_a_fault_of_values_can_not_be_rehearsed_behind_pixels():
    event = {"kind": "fault", "device": "vision", "what": "silent", "at_s": 1.0}
    bed = granite.load("free-flyer/camera", {"simulation.events": [event]})
    with pytest.raises(InputError, match="the poses of a camera come from its frames"), rehearsal(bed):
        raise AssertionError


def test_a_pose_sensor_without_targets_can_not_be_rehearsed_from_pixels():
    bed = granite.load("free-flyer", {"devices.vision.driver": "camera"})
    with pytest.raises(InputError, match=r"devices.vision.driver.* expected a device of kind camera"), rehearsal(bed):
        raise AssertionError
