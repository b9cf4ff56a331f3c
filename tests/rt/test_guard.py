"""Every limit has a name, and beyond it nothing but rest goes out."""

import math

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.records import Applied, Command, Reference, Sample, State
from granite.rt.guard import Guard
from granite.rt.reasons import Reason

GRIP = "[{name='grip', kind='revolute', first={position_m=[2.0, 1.0]}, second={module='vehicle', point='tip'}}]"
HOLDS = "[{from_s=0, closed=[]}, {from_s=5, closed=['grip']}]"
BED = load("free-flyer", [f"contacts={GRIP}", f"behaviour.holds={HOLDS}"])
Q = np.array([1.0, 0.8, 0.0, 0.4, 0.9])


def situation(**changes):
    """A healthy tick, with changes by name: `q3=5.0` sets an entry, other names set a field."""
    t = changes.pop("t", 10.0)
    sample = {"joint_angle": np.array([0.4, 0.9]), "joint_rate": np.zeros(2), "pose": Q[:3].copy()}
    state = {"q": Q.copy(), "u": np.zeros(5)}
    reference = {"q": Q.copy()}
    command = {"torque": np.array([0.1, -0.1]), "opening": np.array([0.0, 1.0] * 4), "thrust": np.ones(8)}
    command["grip"] = np.ones(1)
    ages = {"pose_age": 0.04, "joint_age": 0.0, "ready": True}
    for name, value in changes.items():
        if name in ages:
            ages[name] = value
            continue
        record, field, i = name.split("_", 1)[0], *name.split("_", 1)[1].rsplit("_", 1)
        {"sample": sample, "state": state, "reference": reference, "command": command}[record][field][int(i)] = value
    applied = Applied(t, np.zeros(2), np.zeros(8), np.ones(1))
    return (
        Sample(t, t, 1.0, sample["joint_angle"], sample["joint_rate"], t - 0.04, 1.0, sample["pose"], applied),
        State(t, ages["ready"], state["q"], state["u"], np.zeros(5), ages["pose_age"], ages["joint_age"]),
        Reference(t, reference["q"], np.zeros(5), np.zeros(5), False),
        Command(t, command["torque"], command["opening"], command["thrust"], command["grip"]),
    )


def test_a_healthy_command_passes_unchanged():
    case = situation()
    verdict = Guard(BED).check(*case)
    assert verdict.reason is Reason.PASSED
    assert verdict.command is case[3]
    assert not verdict.stop


NAN, INF = math.nan, math.inf
REFUSALS = [
    ({"sample_joint_angle_0": NAN}, Reason.SAMPLE_NOT_FINITE),
    ({"sample_joint_rate_1": INF}, Reason.SAMPLE_NOT_FINITE),
    ({"sample_pose_2": NAN}, Reason.SAMPLE_NOT_FINITE),
    ({"state_q_4": NAN}, Reason.STATE_NOT_FINITE),
    ({"state_u_0": -INF}, Reason.STATE_NOT_FINITE),
    ({"command_torque_0": NAN}, Reason.COMMAND_NOT_FINITE),
    ({"command_opening_7": NAN}, Reason.COMMAND_NOT_FINITE),
    ({"joint_age": 0.06}, Reason.JOINT_SENSORS_STALE),
    ({"joint_age": NAN}, Reason.JOINT_SENSORS_STALE),
    ({"pose_age": 0.51}, Reason.VISION_STALE),
    ({"state_q_0": 0.29, "reference_q_0": 0.29}, Reason.TABLE_EDGE),
    ({"state_q_1": 2.5, "reference_q_1": 2.5}, Reason.TABLE_EDGE),
    ({"state_q_3": 1.95, "reference_q_3": 1.95}, Reason.JOINT_LIMIT),
    ({"state_q_4": -2.7, "reference_q_4": -2.7}, Reason.JOINT_LIMIT),
    ({"state_u_3": 3.1}, Reason.JOINT_TOO_FAST),
    ({"state_u_2": -1.1}, Reason.BASE_TOO_FAST),
    ({"state_u_0": 0.4, "state_u_1": -0.4}, Reason.BASE_TOO_FAST),
    ({"reference_q_0": 1.31}, Reason.TRACKING_ERROR),
    ({"reference_q_3": -0.21}, Reason.TRACKING_ERROR),
    ({"reference_q_2": NAN}, Reason.REFERENCE_NOT_FINITE),
    ({"command_opening_0": 1.01}, Reason.OPENING_OUT_OF_RANGE),
    ({"command_opening_0": -0.01}, Reason.OPENING_OUT_OF_RANGE),
    ({"command_grip_0": 0.5}, Reason.GRIP_OUT_OF_RANGE),
    ({"command_grip_0": NAN}, Reason.COMMAND_NOT_FINITE),
    ({"ready": False, "t": 2.1}, Reason.SENSORS_NEVER_REPORTED),
]


@pytest.mark.parametrize(("changes", "reason"), REFUSALS, ids=lambda v: v.name if isinstance(v, Reason) else "")
def test_beyond_a_limit_the_run_ends_at_rest_with_the_name_of_it(changes, reason):
    verdict = Guard(BED).check(*situation(**changes))
    assert verdict.reason is reason
    assert verdict.stop
    assert not verdict.command.torque.any()
    assert not verdict.command.opening.any()
    assert verdict.command.grip.tolist() == [1.0]  # what is held is not dropped


def test_every_reason_the_guard_can_give_is_tested_above():
    go_on = {reason for reason in Reason if not reason.stops}
    by_the_loop = {Reason.OVERRUN, Reason.OPERATOR_STOP, Reason.FAULT, Reason.PLANT_LOST}
    assert {reason for _, reason in REFUSALS} == set(Reason) - go_on - by_the_loop
    assert all(reason.text for reason in Reason)


def test_just_inside_every_limit_the_command_passes():
    inside = situation(
        state_q_0=0.301, reference_q_0=0.4, state_q_3=1.89, reference_q_3=1.5, state_u_3=2.99, state_u_2=0.99,
        state_u_1=0.49, joint_age=0.049, pose_age=0.499,
    )  # fmt: skip
    assert Guard(BED).check(*inside).reason is Reason.PASSED


def test_before_the_sensors_report_the_actuators_rest_and_the_run_goes_on():
    verdict = Guard(BED).check(*situation(ready=False, t=0.5))
    assert verdict.reason is Reason.WAITING_FOR_SENSORS
    assert not verdict.stop
    assert not verdict.command.opening.any()


def test_a_torque_beyond_the_motor_is_clamped_and_named_and_the_valves_stay():
    case = situation(command_torque_0=-2.5)
    verdict = Guard(BED).check(*case)
    assert verdict.reason is Reason.TORQUE_CLAMPED
    assert not verdict.stop
    np.testing.assert_array_equal(verdict.command.torque, [-2.0, -0.1])
    np.testing.assert_array_equal(verdict.command.opening, case[3].opening)
