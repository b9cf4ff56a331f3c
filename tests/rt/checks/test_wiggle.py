"""The wiggle before a run names wrong actuators, by small motions."""

import pytest

from granite.config.loader import load
from tests.support.wrong_actuators import PRESETS, WrongActuators, wiggled_robot, wrong_motors, wrong_thrusters

FAULT = "{{kind='fault', at_s=0, device='{}', unit='{}', what='{}'{}}}"
#: greatest rate in the wiggle of a right robot, and of a wrong one, as a multiple of its limit
USUAL, MOST = 0.2, 1.2


def wrong(device: str, unit: str, what: str, more: str = "") -> WrongActuators:
    return WrongActuators(what, unit, (FAULT.format(device, unit, what, more),))


def test_a_robot_as_the_model_expects_passes_with_small_motions():
    robot = wiggled_robot("free-flyer")
    assert not robot.failed
    assert len(robot.findings) == 10
    assert robot.rate < USUAL
    assert robot.way_m < 0.03


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (wrong("motors", "elbow", "torque_factor", ", value=-1"), "elbow has the wrong sign"),
        pytest.param(
            wrong("motors", "shoulder", "torque_factor", ", value=0"),
            "shoulder does not move the robot",
            marks=pytest.mark.slow,
        ),
        (wrong("motors", "elbow", "torque_factor", ", value=20"), "elbow is too strong: "),
        pytest.param(
            wrong("thrusters", "t1", "exchanged", ", other='t6'"),
            "t1 acts as t6: they are exchanged",
            marks=pytest.mark.slow,
        ),
        pytest.param(wrong("thrusters", "t3", "dead"), "t3 does not move the robot", marks=pytest.mark.slow),
    ],
    ids=["sign", "dead motor", "strong", "exchanged", "dead thruster"],
)
def test_a_wrong_actuator_is_named_and_the_outputs_are_zero(fault, sentence):
    robot = wiggled_robot("spot" if "thrusters" in fault.events[0] else "free-flyer", fault)
    assert robot.failed[0].startswith(sentence)
    assert robot.rate < MOST
    assert robot.is_stopped


@pytest.mark.slow
def test_friction_that_the_model_knows_is_no_fault():
    joints = "modules.vehicle.joints"
    friction = [f"{joints}.shoulder.friction_n_m=0.1", f"{joints}.elbow.friction_n_m=0.05"]
    assert not wiggled_robot("free-flyer", None, *friction, "simulation.joint_friction.sticks=true").failed


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_wrong_actuator_of_a_preset_is_caught_below_its_limits(name):
    bed = load(name)
    for fault in (*wrong_motors(bed), *wrong_thrusters(bed)):
        if fault.what in ("motor x -3", "motor x 5"):  # between others
            continue
        robot = wiggled_robot(name, fault)
        assert robot.failed, fault
        assert robot.rate < MOST, fault


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PRESETS, "leap", "fixed-dual-arm/carry", "spatial-dual-arm/carry"])
def test_no_right_actuator_of_a_preset_is_refused(name):
    for seed in range(301, 303):
        assert not wiggled_robot(name, None, f"seed={seed}").failed
