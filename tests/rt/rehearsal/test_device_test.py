"""The test of single devices: every unit gets a small command, what came back is shown, and every way out is safe."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import granite
from granite.cli.report.hardware import device_table
from granite.config.errors import InputError
from granite.config.records import Frame
from granite.rt.checks.device_test import exercises, try_units
from granite.rt.loop.clock import VirtualClock
from granite.rt.rehearsal.rehearsal import rehearsal
from granite.sim.devices.thrusters import SimulatedThrusters
from tests.firmware.emulated import need
from tests.support.waiting import until

# The machine of the tests may be loaded: no tick is too late.
BED = granite.load("free-flyer", {"loop.longest_lateness_s": 30.0})


def test_commands_are_small_and_bounded():
    motors = exercises(BED, "motors", 0.1)
    assert [command.parts for command in motors] == [pytest.approx((0.2, -0.2)), pytest.approx((0.1, -0.1))]
    assert all(set(command.parts) == {1.0} for command in exercises(BED, "thrusters", 0.1))
    assert [command.signal for command in exercises(granite.load("leap"), "grips", 0.1)]


@pytest.mark.parametrize("name", ["motors", "thrusters", "vision", "joint_sensors"])
def test_a_simulated_device_passes(name: str):
    results = list(try_units(BED, name, VirtualClock(), simulate=list(BED.devices)))
    assert [result.unit for result in results] == [signal.name for signal in BED.devices[name].signals(BED)]
    assert all(result.passed for result in results), results
    assert device_table(name, results).row_count == len(results)


def test_a_dead_motor_is_reported_as_it_is():
    event = {"kind": "fault", "device": "motors", "what": "refuses", "at_s": 0.0}
    bed = granite.load("free-flyer", {"simulation.events": [event]})
    (report,) = try_units(bed, "motors", VirtualClock(), simulate=list(bed.devices))
    assert (report.passed, report.applied, report.response) == (False, "status REFUSED", "it did not arm")


def test_a_valve_that_stays_open_fails_with_both_times(monkeypatch: pytest.MonkeyPatch):
    commanded = SimulatedThrusters.write
    until_s = np.zeros(8)

    def stays_open(self: SimulatedThrusters, t: float, setpoint: np.ndarray) -> Frame:
        frame = commanded(self, t, setpoint)
        if setpoint[2]:
            until_s[2] = t + held_s
        return frame._replace(values=np.where(t < until_s - 1e-9, 1.0, frame.values))

    monkeypatch.setattr(SimulatedThrusters, "write", stays_open)
    held_s = BED.devices["thrusters"].valve.minimum_on_s
    assert all(result.passed for result in try_units(BED, "thrusters", VirtualClock(), simulate=list(BED.devices)))
    held_s = 0.05
    results = list(try_units(BED, "thrusters", VirtualClock(), simulate=list(BED.devices)))
    assert [result.unit for result in results if not result.passed] == ["r3_opening"]
    # 0.1 s, a shortest pulse of 10 ms and a tick of 5 ms
    assert results[2].response.startswith("open for 0.145 s, expected at most 0.115 s; ")


def test_names_and_levels_are_checked():
    with pytest.raises(InputError, match="no such device"):
        list(try_units(BED, "motor", VirtualClock()))
    with pytest.raises(InputError, match=r"expected above 0, at most 0.3"):
        list(try_units(BED, "motors", VirtualClock(), level=0.5))
    with pytest.raises(InputError, match="driver is missing"):
        list(try_units(BED, "motors", VirtualClock()))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine: half of the time of a command a report may be on its way, and the next command may be late."""
    monkeypatch.setattr("granite.rt.checks.device_test._PART_S", 0.4)
    monkeypatch.setattr("granite.drivers.board.device._HELD_TICKS", 100)


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
def test_a_board_can_be_tried_while_the_sensors_are_not_there_yet():
    need("cc")
    with rehearsal(BED, 1.0) as outside:
        sensors = outside.bed.devices["joint_sensors"]
        elsewhere = sensors.driver.model_copy(update={"port": "/dev/not-there"})
        absent = {"joint_sensors": sensors.model_copy(update={"driver": elsewhere})}
        bed = outside.bed.model_copy(update={"devices": {**outside.bed.devices, **absent}})
        with pytest.raises(InputError, match="not-there"):
            list(try_units(bed, "thrusters", outside.clock(0.0)))
        results = list(try_units(bed, "thrusters", outside.clock(0.0), ["joint_sensors", "vision"]))
        assert all(result.passed for result in results), results
        assert {result.response for result in results} == {"no sensor was read"}


@pytest.mark.slow
def test_a_sensor_is_read_alone():
    need("cc")
    with rehearsal(BED, 1.0) as outside:
        assert all(result.passed for result in try_units(outside.bed, "vision", outside.clock(0.0)))


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
def test_a_test_that_is_left_in_the_middle_leaves_the_board_safe():
    need("cc")
    with rehearsal(BED, 1.0) as outside:
        results = try_units(outside.bed, "thrusters", outside.clock(0.0))
        first = next(results)
        assert (first.unit, first.passed) == ("r1_opening", True)
        results.close()  # as by an exception or Ctrl-C
        until(lambda: bool(outside.outputs()[0, 1]))
        assert np.isfinite(outside.truth(0.0).q).all()


@pytest.mark.slow
def test_the_command_prints_a_table():
    command = [sys.executable, "-m", "granite.cli", "test-device", "free-flyer", "motors"]
    simulated = [*command, "--simulate", "motors", "--set", "loop.longest_lateness_s=30"]
    done = subprocess.run(simulated, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "0.1, -0.1 N m for 0.05 s each" in done.stdout
    refused = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL
    )
    assert refused.returncode == 2
    assert "nobody can be asked" in refused.stderr
