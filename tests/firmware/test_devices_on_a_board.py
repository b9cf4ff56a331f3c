"""Devices of a testbed on one board: one exchange per tick, armed once, and refused where the board does not fit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.records import Command, Status
from granite.drivers.device_set import DeviceSet
from granite.rt.devices import build_devices
from tests.firmware.emulated import EmulatedBoard, running
from tests.support.waiting import until

ON_BOARD = ("joint_sensors", "motors", "thrusters")
TORQUES = np.array([0.5, -0.25])


@pytest.fixture
def board(tmp_path: Path) -> Iterator[EmulatedBoard]:
    with running("host", tmp_path) as made:
        yield made


def bed_on(board: EmulatedBoard, devices: tuple[str, ...] = ON_BOARD, **changes: Any) -> granite.Testbed:
    driver = {"kind": "board", "port": board.port, "board": "free-flyer", "watchdog_s": 1.0}
    own = {f"devices.{name}.driver": dict(driver) for name in devices}
    return granite.load("free-flyer", own | {"safety.age_s.joint_sensors": 1.0} | changes)


class Ticks:
    """A loop of a few lines around the devices."""

    def __init__(self, devices: DeviceSet) -> None:
        self.devices, self._began = devices, time.monotonic()
        self.sample = devices.read(0.0)

    def tick(self, torques: np.ndarray = TORQUES, openings: np.ndarray | None = None) -> None:
        t = time.monotonic() - self._began
        self.sample = self.devices.read(t)
        openings = np.zeros(8) if openings is None else openings
        self.devices.write(t, Command(t, (torques.copy(), openings.copy()), np.zeros(8)))
        time.sleep(0.003)

    def until(self, condition, **setpoints: np.ndarray) -> None:
        until(lambda: self.tick(**setpoints) or condition(self.sample))


@pytest.fixture
def ticks(board: EmulatedBoard) -> Iterator[Ticks]:
    # A long period: a valve is held for three of them, and this test may be interrupted.
    devices, _ = build_devices(bed_on(board, **{"loop.period_s": 0.1}), simulate=["vision"])
    devices.open()
    yield Ticks(devices)
    devices.close()


def test_sensors_and_actuators_share_one_exchange_per_tick(board: EmulatedBoard, ticks: Ticks):
    board.outside.set((1000, -2000, 40, -80, 0, 0, 0, 0))
    ticks.until(lambda sample: sample.applied[0].status == Status.OK and sample.frames[0].values[0] > 0)
    joints = ticks.sample.frames[0]
    assert joints.values == pytest.approx([0.3834952, -0.7669904, 0.2, -0.4], rel=1e-6)
    (board_link,) = ticks.devices._links
    before, number = board_link.link.counts.sent, joints.number
    for _ in range(20):
        ticks.tick()
    assert board_link.link.counts.sent == before + 20
    assert ticks.sample.frames[0].number > number
    assert ticks.sample.frames[0].t < ticks.sample.t
    assert ticks.sample.applied[0].values == pytest.approx(TORQUES)


def test_a_sample_has_what_the_board_applied_by_the_command_before_it(ticks: Ticks):
    ticks.until(lambda sample: sample.applied[0].status == Status.OK)
    (board,) = ticks.devices._links
    for torque in (0.1, 0.2, 0.3):
        time.sleep(0.1)  # the answer to the last command is there
        ticks.tick(np.array([torque, 0.0]))
        number = board.number
        until(lambda: ticks.devices.read(time.monotonic() - ticks._began) and board.number > number)  # noqa: B023
        assert ticks.devices.applied[0].values == pytest.approx([torque, 0.0])


def test_nothing_acts_before_the_board_is_armed_and_that_is_no_fault(board: EmulatedBoard, ticks: Ticks):
    ticks.tick()
    assert [frame.status for frame in ticks.sample.applied] == [Status.NO_FRAME] * 2
    assert [frame.number for frame in ticks.sample.applied] == [0, 0]
    ticks.until(lambda sample: sample.applied[0].status == Status.OK)
    until(lambda: board.outside.changes[-1][1][8:10] == (5000, -2500))


def test_open_valves_stay_open_and_the_applied_opening_is_measured(board: EmulatedBoard, ticks: Ticks):
    openings = np.array([1.0, 0, 0, 0, 0, 0, 0, 0])
    ticks.until(lambda sample: sample.applied[1].values[0] == 1.0, openings=openings)
    assert ticks.sample.applied[1].values[1:].tolist() == [0.0] * 7
    board.outside.changes.clear()
    for _ in range(20):
        ticks.tick(openings=openings)
    assert all(outputs[0] == 1 for _, outputs in board.outside.changes)
    ticks.until(lambda sample: sample.applied[1].values[0] == 0.0)


def test_a_latch_is_final_for_the_run(board: EmulatedBoard, ticks: Ticks):
    ticks.until(lambda sample: sample.applied[0].status == Status.OK)
    board.outside.set(emergency_stop=True)
    ticks.until(lambda sample: sample.applied[0].status == Status.REFUSED)
    assert ticks.sample.applied[0].values.tolist() == [0.0, 0.0]
    assert ticks.sample.frames[0].status == Status.OK  # the sensors go on
    board.outside.set()
    for _ in range(30):
        ticks.tick()
    assert ticks.sample.applied[0].status == Status.REFUSED
    assert board.outside.changes[-1][1] == (0,) * 12


def test_stop_makes_the_whole_board_safe(board: EmulatedBoard, ticks: Ticks):
    ticks.until(lambda sample: sample.applied[0].status == Status.OK)
    until(lambda: board.outside.changes[-1][1][8] == 5000)
    assert ticks.devices.stop(10.0, paced=True) == {}  # every device confirms it
    until(lambda: board.outside.changes[-1][1] == (0,) * 12)


def test_a_board_that_dies_is_silent(board: EmulatedBoard, ticks: Ticks):
    ticks.until(lambda sample: sample.applied[0].status == Status.OK)
    board.process.kill()
    board.process.wait()
    unconfirmed = ticks.devices.stop(10.0, paced=True)
    assert unconfirmed == dict.fromkeys(("motors", "thrusters"), "status SILENT")
    ticks.until(lambda sample: sample.applied[0].status == sample.frames[0].status == Status.SILENT)


def test_an_emergency_stop_that_is_pressed_from_the_start_is_refused(board: EmulatedBoard, ticks: Ticks):
    board.outside.set(emergency_stop=True)
    ticks.until(lambda sample: sample.applied[0].status == Status.REFUSED)
    assert ticks.sample.t >= 1.0


def test_sensors_alone_are_read_in_every_tick(board: EmulatedBoard):
    devices, _ = build_devices(bed_on(board, ("joint_sensors",)), simulate=["vision", "motors", "thrusters"])
    devices.open()
    ticks = Ticks(devices)
    ticks.until(lambda sample: sample.frames[0].number > 5)
    (board_link,) = devices._links
    before = board_link.link.counts.sent
    for k in range(3):
        devices.read(ticks.sample.t + 1.0 + k)
        devices.write(ticks.sample.t + 1.0 + k, Command(0.0, (TORQUES, np.zeros(8)), np.zeros(8)))
    assert board_link.link.counts.sent == before + 3
    devices.close()


@pytest.mark.slow
def test_a_run_with_real_drivers_completes_and_leaves_the_board_safe(board: EmulatedBoard, tmp_path: Path):
    patient = {"loop.longest_lateness_s": 30.0, "loop.watchdog_s": 30.0}
    bed = bed_on(board, **{"loop.duration_s": 1.0}, **patient)
    outcome = granite.Run(bed, simulate=["vision", "joint_sensors"]).record(tmp_path / "run.mcap", realtime=True)
    assert outcome["ended"] == "completed", outcome
    assert granite.replay(granite.read_log(tmp_path / "run.mcap")).first is None  # bit for bit, without the board
    assert any(outputs[8] != 0 for _, outputs in board.outside.changes)
    until(lambda: board.outside.changes[-1][1] == (0,) * 12)


def refused(bed: granite.Testbed, simulate: tuple[str, ...] = ("vision", "joint_sensors")) -> str:
    try:
        devices, _ = build_devices(bed, simulate)
    except InputError as error:
        return str(error)
    with pytest.raises(InputError) as raised:
        devices.open()
    assert all(board.link.line is None for board in devices._links)  # nothing is left open
    return str(raised.value)


@pytest.mark.slow
def test_what_does_not_fit_the_board_is_refused(board: EmulatedBoard):
    driver = "devices.motors.driver"
    for simulate in (("vision", "joint_sensors"), ("vision",)):  # the sensors are opened before the motors
        twice = refused(bed_on(board, **{f"{driver}.channels": {"elbow_torque": "shoulder"}}), simulate)
        assert twice == (
            "devices.motors.driver.channels.elbow_torque = \"shoulder\": channel 'motor shoulder' is mapped twice, "
            "by motors.shoulder_torque and motors.elbow_torque, expected one signal for each channel"
        )
        assert refused(bed_on(board, **{f"{driver}.channels": {"elbow_torque": "wrist"}}), simulate).startswith(
            "devices.motors.driver.channels"
        )
    crossed = refused(bed_on(board, **{f"{driver}.channels": {"elbow_torque": "encoder elbow"}}), ("vision",))
    assert crossed.startswith('devices.motors.driver.channels.elbow_torque = "elbow": channel')
    assert "by joint_sensors.elbow_angle and motors.elbow_torque" in crossed
    assert "no such signal" in refused(bed_on(board, **{f"{driver}.channels": {"wrist_torque": "a"}}))
    assert "expected NAME or `KIND NAME`" in refused(
        bed_on(board, **{f"{driver}.channels": {"elbow_torque": "engine x"}})
    )
    assert "has no motor of this name" in refused(bed_on(board, **{f"{driver}.channels": {"elbow_torque": "wrist"}}))
    assert "has unit rad, expected unit N m" in refused(
        bed_on(board, **{f"{driver}.channels": {"elbow_torque": "encoder elbow"}})
    )
    assert "within the board's -0.5 to 0.5" in refused(
        bed_on(board, **{f"{driver}.channels": {"elbow_torque": "wheel wheel"}})
    )
    assert "as the other devices on" in refused(bed_on(board, **{f"{driver}.watchdog_s": 0.5}))
    assert "no such port" in refused(
        bed_on(board, **{f"devices.{name}.driver.port": "/dev/ttyNONE" for name in ON_BOARD})
    )
