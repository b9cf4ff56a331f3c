"""Runs with some real and some simulated devices: which are refused, and what moves the plant in the others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.records import Frame, Status
from granite.rt.half_real import module_loops, refuse_open_loops, unmeasured_actuators
from granite.sim.mirror import MirroredActuator

DEVICES = ("joint_sensors", "vision", "motors", "thrusters")
APART = "the real module and the plant's would drift apart"
UNMOVED = "nothing moves what is measured"
#: by the devices that are real
VERDICTS: dict[tuple[str, ...], str] = {
    (): "",
    ("motors",): "",
    ("thrusters",): "",
    ("motors", "thrusters"): "",
    DEVICES: "",
    ("joint_sensors",): f"motors and thrusters of 'vehicle' simulated, but joint_sensors real: {UNMOVED}",
    ("vision",): f"motors and thrusters of 'vehicle' simulated, but vision real: {UNMOVED}",
    ("joint_sensors", "vision"): f"but joint_sensors and vision real: {UNMOVED}",
    ("joint_sensors", "motors"): f"thrusters of 'vehicle' simulated, but joint_sensors real: {UNMOVED}",
    ("joint_sensors", "thrusters"): f"motors of 'vehicle' simulated, but joint_sensors real: {UNMOVED}",
    ("vision", "motors"): f"thrusters of 'vehicle' simulated, but vision real: {UNMOVED}",
    ("vision", "thrusters"): f"motors of 'vehicle' simulated, but vision real: {UNMOVED}",
    ("joint_sensors", "vision", "motors"): "thrusters of 'vehicle' simulated",
    ("joint_sensors", "vision", "thrusters"): "motors of 'vehicle' simulated",
    ("joint_sensors", "motors", "thrusters"): f"vision of 'vehicle' simulated, but joint_sensors real: {APART}",
    ("vision", "motors", "thrusters"): f"joint_sensors of 'vehicle' simulated, but vision real: {APART}",
}


def simulated(bed: granite.Testbed, real: tuple[str, ...]) -> list[str]:
    return [name for name in bed.devices if name not in real]


def test_every_combination_of_the_free_flyer_is_decided():
    every = {tuple(d for d in DEVICES if d in real) for n in range(5) for real in itertools.combinations(DEVICES, n)}
    assert every == set(VERDICTS)
    assert sum(not verdict for verdict in VERDICTS.values()) == 5


@pytest.mark.parametrize("real", VERDICTS, ids=lambda real: " ".join(real) or "none")
def test_what_can_not_close_its_loop_is_refused_in_one_sentence(real: tuple[str, ...]):
    bed = granite.load("free-flyer")
    if not VERDICTS[real]:
        refuse_open_loops(bed, simulated(bed, real))
        return
    with pytest.raises(InputError) as refused:
        refuse_open_loops(bed, simulated(bed, real))
    assert VERDICTS[real] in str(refused.value)
    assert str(refused.value).startswith("simulate: ")


def test_a_question_is_asked_where_no_real_sensor_measures_what_moves():
    bed = granite.load("free-flyer")
    for real, verdict in VERDICTS.items():
        if not verdict:
            asked = [] if real == DEVICES else list(real)
            assert unmeasured_actuators(bed, simulated(bed, real)) == asked


def test_before_a_run_every_module_says_what_closes_its_loop():
    bed = granite.load("free-flyer")

    def said(*real: str) -> list[str]:
        return [loop.sentence for loop in module_loops(bed, simulated(bed, real))]

    assert said() == ["vehicle: all simulated: the plant closes the loop"]
    assert said("motors") == [
        "vehicle: what motors report, and simulated thrusters moves the plant, which joint_sensors and vision measure:"
        " the plant closes the loop"
    ]
    assert said(*DEVICES) == [
        "vehicle: joint_sensors and vision and motors and thrusters are real: the robot itself closes the loop"
    ]


def test_a_contact_does_not_join_a_real_module_to_a_simulated_one():
    bed = granite.load("two-arm-catch")
    refuse_open_loops(bed, [])
    target = next(name for name, device in bed.sensors.items() if device.modules(bed) == ("target",))
    with pytest.raises(InputError, match=rf"joins what {target} measures to a simulated module"):
        refuse_open_loops(bed, simulated(bed, (target,)))


def test_a_real_gauge_of_pressure_and_events_of_real_devices_are_refused():
    bed = granite.load("free-flyer", {"devices.pressure": {}})
    refuse_open_loops(bed, simulated(bed, ("motors", "thrusters", "pressure")))
    refuse_open_loops(bed, simulated(bed, ("motors", "thrusters")))
    with pytest.raises(InputError, match="thrusters simulated, but pressure real"):
        refuse_open_loops(bed, simulated(bed, ("motors", "pressure")))
    events = [{"kind": "fault", "device": "thrusters", "what": "dead", "unit": "r1", "at_s": 1.0}]
    bed = granite.load("free-flyer", {"simulation.events": events})
    with pytest.raises(InputError, match=r"simulation\.events\.0\.device = \"thrusters\""):
        refuse_open_loops(bed, simulated(bed, ("thrusters",)))


class Board:
    """An actuator whose answer comes after `write` has returned."""

    def __init__(self) -> None:
        self.frame = Frame(0.0, 0, Status.NO_FRAME, np.zeros(1))
        self.stopped = False

    def write(self, t: float, setpoint: np.ndarray) -> Frame:
        return self.frame

    def stop(self, t: float) -> Frame:
        self.stopped = True
        return Frame(t, 9, Status.OK, np.zeros(1))

    def report(self, t: float) -> Frame:
        return self.frame


class Twin:
    def __init__(self, board: Board) -> None:
        self.calls: list[tuple[float, float | None]] = []
        self._board = board

    def write(self, t: float, setpoint: np.ndarray) -> None:
        self.calls.append((t, float(setpoint[0])))

    def stop(self, t: float) -> None:
        self.calls.append((t, None))


def test_the_twin_of_a_silent_board_stops_with_the_boards_own_watchdog():
    board = Board()
    twin = Twin(board)
    mirror = MirroredActuator(board, twin, 0.02, lambda: 7.0)
    board.frame = Frame(0.0, 1, Status.OK, np.ones(1))
    mirror.report(0.0)
    assert twin.calls == []  # nothing was commanded: what it reports it did not apply in this run
    mirror.write(0.0, np.ones(1))
    mirror.report(0.005)
    assert twin.calls == [(7.0, 1.0)]
    board.frame = board.frame._replace(status=Status.SILENT)
    for t in (0.010, 0.015, 0.020, 0.024):
        mirror.report(t)
    assert twin.calls == [(7.0, 1.0)]
    mirror.report(0.026)
    mirror.report(0.031)
    assert twin.calls == [(7.0, 1.0), (7.0, None)]
    board.frame = Frame(0.035, 2, Status.OK, np.full(1, 0.5))
    mirror.report(0.036)
    assert twin.calls[-1] == (7.0, 0.5)
    mirror.stop(0.04)
    assert board.stopped
    assert twin.calls[-1] == (7.0, None)
