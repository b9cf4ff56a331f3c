"""The boards that a rehearsal derives from a testbed: every signal has its channel, and counts keep its values."""

from __future__ import annotations

import contextlib
from typing import ClassVar

import numpy as np
import pytest

import granite
from granite.config.coordinates import Coordinate
from granite.config.devices.camera import Camera
from granite.config.devices.device import Device
from granite.config.errors import InputError
from granite.drivers.board.board import Board
from granite.drivers.board.description import Channel
from granite.drivers.board.device import BoardDevice
from granite.drivers.board.wire import ChannelKind
from granite.sim.emulation.emulated_lab import emulated_bed, plant_period
from granite.sim.emulation.wiring import is_pose, wire
from tests.support.controlled_plant import CONTROLLED
from tests.support.scripted_board import scripted


@pytest.mark.parametrize("name", CONTROLLED)
def test_every_signal_of_a_controlled_preset_has_a_channel_of_its_own_a_stream_or_frames(name: str):
    bed = granite.load(name)
    boards = wire(bed)
    wired = {device.name: device for board in boards for device in board.devices}
    for device_name, device in (bed.sensors | bed.actuators).items():
        signals = [signal.name for signal in device.signals(bed)]
        if not (is_pose(device, bed) or isinstance(device, Camera)):
            assert [each.signal for each in wired[device_name].wires] == signals
    for board in boards:
        channels = [(each.kind, each.name) for device in board.devices for each in device.wires]
        assert len(set(channels)) == len(channels)
        assert all(len(each) <= 15 for _, each in channels)


#: loops of flexible arms are faster than a serial port
FAST = [name for name in CONTROLLED if granite.load(name).loop.period_s < 1e-3]


@pytest.mark.parametrize("name", FAST)
def test_a_loop_that_is_faster_than_its_serial_port_is_refused(name: str):
    with pytest.raises(InputError, match="too slow"):
        boards_fit(name)


@pytest.mark.parametrize("name", [name for name in CONTROLLED if name not in FAST])
def test_the_boards_of_every_controlled_preset_fit_its_devices(name: str):
    boards_fit(name)


def boards_fit(name: str) -> None:
    bed = granite.load(name)
    for board in wire(bed):
        wires = [each for device in board.devices for each in device.wires]
        channels = tuple(Channel(i, *each[1:]) for i, each in enumerate(wires))
        with scripted(name=board.name, channels=channels) as made:
            for device in board.devices:
                mapped = {each.signal: f"{each.kind.name.lower()} {each.name}" for each in device.wires}
                link = {"port": made.port, "board": board.name, "watchdog_s": 0.1}
                options = BoardDevice.Options(kind="board", channels=mapped, **link)
                with contextlib.closing(Board(options, bed.loop.period_s)) as shared:
                    BoardDevice(options, device.name, bed, shared).open()


def test_a_wheel_has_the_channel_that_its_device_looks_for_by_itself():
    bed = granite.load("stanford-free-flyer/yaw-wheel")
    wires = [each for device in wire(bed)[0].devices for each in device.wires]
    assert [(each.kind, each.name) for each in wires if each.signal == "wheel_torque"] == [(ChannelKind.WHEEL, "wheel")]
    channels = tuple(Channel(i, *each[1:]) for i, each in enumerate(wires))
    with scripted(name="rehearsal-1", channels=channels) as made:
        for own in ({}, {"wheel_torque": "wheel"}, {"wheel_torque": "wheel wheel"}):
            link = {"port": made.port, "board": "rehearsal-1", "watchdog_s": 0.1}
            options = BoardDevice.Options(kind="board", channels=own, **link)
            with contextlib.closing(Board(options, bed.loop.period_s)) as shared:
                BoardDevice(options, "motors", bed, shared).open()


def test_counts_keep_the_values_and_stay_within_the_bounds():
    bed = granite.load("free-flyer")
    joints, motors, thrusters = wire(bed)[0].devices
    angles = np.array([0.3, -1.7, 0.25, -0.011])
    step = bed.devices["joint_sensors"].range_rad / 2 ** bed.devices["joint_sensors"].converter_bits
    angles_back = joints.values(joints.counts(angles))
    assert abs(angles_back - angles)[:2].max() <= 0.5001 * step
    assert angles_back[2:] == pytest.approx(angles[2:], abs=1e-6)
    limits = np.array([high for _, high in bed.devices["motors"].bounds(bed)])
    applied = motors.values(motors.counts(2 * limits))
    assert (applied <= limits).all()
    assert applied == pytest.approx(limits, rel=1e-6)
    assert thrusters.values(np.array([1, 0, 0, 0, 0, 0, 0, 1])).tolist() == [1.0, 0, 0, 0, 0, 0, 0, 1.0]
    assert joints.counts(np.array([np.nan, np.inf, 0.0, 0.0])).tolist() == [0, 2**30, 0, 0]


def test_a_board_keeps_the_shortest_pulse_and_the_plant_does_not():
    bed = granite.load("free-flyer")
    assert {each.low for each in wire(bed)[0].devices[2].wires} == {1000}  # 10 ms
    assert emulated_bed(bed).devices["thrusters"].valve.minimum_on_s == 0.0
    assert emulated_bed(bed).devices["thrusters"].valve.delay_s == bed.devices["thrusters"].valve.delay_s
    ideal = wire(granite.load("free-flyer/ideal"))[0].devices[2]
    assert {each.low for each in ideal.wires} == {0}


class Vents(Device):
    """Valves of a user's own kind, which has no shortest pulse."""

    role: ClassVar = "actuator"

    def signals(self, bed: granite.Testbed) -> tuple[Coordinate, ...]:
        return (Coordinate("tank_opening", "1"),)

    def bounds(self, bed: granite.Testbed) -> tuple[tuple[float, float], ...]:
        return ((0.0, 1.0),)


def test_valves_of_an_own_kind_have_the_counts_of_valves():
    bed = granite.load("free-flyer")
    bed = bed.model_copy(update={"devices": {"vents": Vents(kind="own.py:Vents")}})
    (only,) = wire(bed)[0].devices[0].wires
    assert only[1:] == (ChannelKind.VALVE, "tank", "s", 1e-5, 0, 65535)


@pytest.mark.parametrize(
    ("period_s", "step_s", "expected"), [(0.005, 0.001, 1e-3), (0.001, 0.0005, 5e-4), (0.002, 0.0001, 1e-3)]
)
def test_sensors_are_measured_at_least_twice_in_a_tick(period_s: float, step_s: float, expected: float):
    changes = {"loop.period_s": period_s, "simulation.physics_step_s": step_s}
    assert plant_period(granite.load("free-flyer", changes)) == pytest.approx(expected)


def test_a_device_with_more_signals_than_a_board_reports_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("granite.sim.emulation.wiring._MOST", 3)
    with pytest.raises(InputError, match="4 signals, expected at most 3 signals, which one board reports"):
        wire(granite.load("free-flyer"))


def test_a_testbed_with_many_channels_gets_several_boards(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("granite.sim.emulation.wiring._MOST", 9)
    boards = wire(granite.load("free-flyer"))
    assert [board.name for board in boards] == ["rehearsal-1", "rehearsal-2"]
    assert [[device.name for device in board.devices] for board in boards] == [
        ["joint_sensors", "motors"],
        ["thrusters"],
    ]
