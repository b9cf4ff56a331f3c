"""Every limit has a name, and beyond it nothing but rest goes out."""

import math

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Command, Demand, Frame, Reference, Sample, State, Status
from granite.config.verdict_subjects import sentence, subjects
from granite.kernels.c_compiler import find_compiler
from granite.rt.guard.guard import Guard
from granite.rt.guard.limits import limits_of

GRIP = "[{name='grip', kind='revolute', first={position_m=[2.0, 1.0]}, second={module='vehicle', point='tip'}}]"
HOLDS = "[{from_s=0, closed=[]}, {from_s=5, closed=['grip']}]"
BED = load("free-flyer", [f"contacts={GRIP}", f"behaviour.holds={HOLDS}"])
Q = np.array([1.0, 0.8, 0.0, 0.4, 0.9])


#: sensors, then actuators
DEVICES = ("joint_sensors", "vision", "motors", "thrusters", "grips")


def situation(t=10.0, ready=True, **changes):
    """A healthy tick, with changes by name: `state_q_3=5.0` or `motors_0=nan` set an entry, `vision_age`,
    `vision_number` and `vision_status` what stands beside the values of a device."""
    arrays = {
        "innovation": np.zeros(7),
        "correction": np.zeros(5),
        "disturbance": np.zeros(5),
        "faults": np.zeros(8),
        "reference_u": np.zeros(5),
        "reference_a": np.zeros(5),
        "acceleration": np.zeros(5),
        "force": np.zeros(5),
        "wrench": np.zeros(3),
        "thrust": np.ones(8),
        "applied_motors": np.zeros(2),
        "applied_thrusters": np.zeros(8),
        "applied_grips": np.ones(1),
        "joint_sensors": np.array([0.4, 0.9, 0.0, 0.0]),
        "vision": Q[:3].copy(),
        "state_q": Q.copy(),
        "state_u": np.zeros(5),
        "reference_q": Q.copy(),
        "motors": np.array([0.1, -0.1]),
        "thrusters": np.array([0.0, 1.0] * 4),
        "grips": np.ones(1),
    }
    times = {"joint_sensors_t": t, "vision_t": t - 0.04}
    ages = {"joint_sensors_age": 0.0, "vision_age": 0.04}
    numbers = {f"{name}_number": 1 for name in DEVICES}
    statuses = {f"{name}_status": Status.OK for name in DEVICES}
    for name, value in changes.items():
        beside = [table for table in (times, ages, numbers, statuses) if name in table]
        if beside:
            beside[0][name] = value
        else:
            array, _, i = name.rpartition("_")
            arrays[array][int(i)] = value
    frames = [
        Frame(
            times.get(f"{name}_t", t), numbers[f"{name}_number"], statuses[f"{name}_status"],
            arrays.get(f"applied_{name}", arrays[name]),
        )
        for name in DEVICES
    ]  # fmt: skip
    state = arrays["state_q"], arrays["state_u"], np.zeros(5), np.array(list(ages.values()))
    reference = arrays["reference_q"], arrays["reference_u"], arrays["reference_a"]
    return (
        Sample(t, tuple(frames[:2]), tuple(frames[2:])),
        State(
            t,
            ready,
            *state,
            *(arrays[name] for name in ("innovation", "correction", "disturbance", "faults")),
            bias=np.full(len(arrays["innovation"]), np.nan),
        ),
        Reference(t, *reference, False, (arrays["grips"],)),
        Demand(t, arrays["acceleration"], arrays["force"], arrays["wrench"]),
        Command(t, (arrays["motors"], arrays["thrusters"], arrays["grips"]), arrays["thrust"]),
    )


def test_a_healthy_command_passes_unchanged():
    case = situation()
    verdict = Guard(BED).check(*case)
    assert verdict.reason is Reason.PASSED
    assert verdict.command is case[4]
    assert not verdict.stop


NAN, INF = math.nan, math.inf
#: what is wrong, the reason, and what the sentence says of it: subject, value, limit
REFUSALS = [
    ({"joint_sensors_0": NAN}, Reason.SAMPLE_NOT_FINITE, "joint_sensors shoulder_angle was nan rad"),
    ({"joint_sensors_3": INF}, Reason.SAMPLE_NOT_FINITE, "joint_sensors elbow_rate was inf rad/s"),
    ({"vision_2": NAN}, Reason.SAMPLE_NOT_FINITE, "vision base_heading was nan rad"),
    ({"state_q_4": NAN}, Reason.STATE_NOT_FINITE, "elbow was nan rad"),
    ({"state_u_0": -INF}, Reason.STATE_NOT_FINITE, "base_x rate was -inf m/s"),
    ({"motors_0": NAN}, Reason.COMMAND_NOT_FINITE, "motors shoulder_torque was nan N m"),
    ({"thrusters_7": NAN}, Reason.COMMAND_NOT_FINITE, "thrusters r8_opening was nan"),
    ({"grips_0": NAN}, Reason.COMMAND_NOT_FINITE, "grips grip_grip was nan"),
    ({"joint_sensors_t": 1e6 + 10}, Reason.SENSOR_AHEAD, "joint_sensors was 1e+06 s, limit 0.005 s"),
    ({"vision_t": 10.1}, Reason.SENSOR_AHEAD, "vision was 0.1 s, limit 0.005 s"),
    ({"joint_sensors_age": 0.06}, Reason.SENSOR_STALE, "joint_sensors was 0.06 s, limit 0.05 s"),
    ({"joint_sensors_age": NAN}, Reason.SENSOR_STALE, "joint_sensors was nan s, limit 0.05 s"),
    ({"vision_age": 0.51}, Reason.SENSOR_STALE, "vision was 0.51 s, limit 0.5 s"),
    ({"vision_status": Status.BROKEN}, Reason.SENSOR_FAULT, "vision, status BROKEN"),
    ({"joint_sensors_status": Status.BROKEN}, Reason.SENSOR_FAULT, "joint_sensors, status BROKEN"),
    ({"motors_status": Status.SILENT}, Reason.ACTUATOR_FAULT, "motors, status SILENT"),
    ({"thrusters_status": Status.REFUSED}, Reason.ACTUATOR_FAULT, "thrusters, status REFUSED"),
    ({"grips_status": Status.BROKEN}, Reason.ACTUATOR_FAULT, "grips, status BROKEN"),
    ({"state_q_0": 0.29, "reference_q_0": 0.29}, Reason.TABLE_EDGE, "base_x was 0.29 m, limit 0.3 m"),
    ({"state_q_1": 2.5, "reference_q_1": 2.5}, Reason.TABLE_EDGE, "base_y was 2.5 m, limit 2.44 m"),
    ({"state_q_3": 1.95, "reference_q_3": 1.95}, Reason.JOINT_LIMIT, "shoulder was 1.95 rad, limit 1.9 rad"),
    ({"state_q_4": -2.7, "reference_q_4": -2.7}, Reason.JOINT_LIMIT, "elbow was -2.7 rad, limit -2.6 rad"),
    ({"state_u_3": 3.1}, Reason.JOINT_TOO_FAST, "shoulder rate was 3.1 rad/s, limit 3 rad/s"),
    ({"state_u_2": -1.1}, Reason.BASE_TOO_FAST, "base_heading rate was -1.1 rad/s, limit -1 rad/s"),
    ({"state_u_0": 0.4, "state_u_1": -0.4}, Reason.BASE_TOO_FAST, "base_x rate was 0.565685 m/s, limit 0.5 m/s"),
    ({"reference_q_0": 1.31}, Reason.TRACKING_ERROR, "base_x was 0.31 m, limit 0.3 m"),
    ({"reference_q_3": -0.21}, Reason.TRACKING_ERROR, "shoulder was -0.61 rad, limit 0.6 rad"),
    (
        {"state_q_0": 3.0, "reference_q_0": 3.0, "state_u_0": 0.2},
        Reason.TABLE_EDGE_AHEAD,
        "base_x was 3.88667 m, limit 3.36 m",
    ),
    ({"reference_q_2": NAN}, Reason.REFERENCE_NOT_FINITE, "base_heading was nan rad"),
    ({"reference_u_3": INF}, Reason.REFERENCE_NOT_FINITE, "shoulder rate was inf rad/s"),
    ({"reference_a_0": NAN}, Reason.REFERENCE_NOT_FINITE, "base_x acceleration was nan m/s^2"),
    ({"acceleration_1": NAN}, Reason.DEMAND_NOT_FINITE, "base_y acceleration was nan m/s^2"),
    ({"force_4": INF}, Reason.DEMAND_NOT_FINITE, "elbow force was inf N m"),
    ({"wrench_2": NAN}, Reason.DEMAND_NOT_FINITE, "base wrench mz was nan N m"),
    ({"thrust_0": NAN}, Reason.COMMAND_NOT_FINITE, "thrusters_r1 thrust was nan N"),
    ({"applied_motors_0": NAN}, Reason.APPLIED_NOT_FINITE, "motors shoulder_torque was nan N m"),
    ({"applied_motors_0": 1e6}, Reason.APPLIED_OUT_OF_RANGE, "motors shoulder_torque was 1e+06 N m, limit 2.04 N m"),
    ({"applied_thrusters_2": -0.1}, Reason.APPLIED_OUT_OF_RANGE, "thrusters r3_opening was -0.1, limit -0.01"),
    ({"motors_0": 1.1}, Reason.TORQUE_STEP, "motors shoulder_torque was 1.1 N m, limit 1 N m"),
    ({"thrusters_0": 1.01}, Reason.SETPOINT_OUT_OF_RANGE, "thrusters r1_opening was 1.01, limit 1"),
    ({"thrusters_0": -0.01}, Reason.SETPOINT_OUT_OF_RANGE, "thrusters r1_opening was -0.01, limit 0"),
    ({"grips_0": 0.5}, Reason.SETPOINT_OUT_OF_RANGE, "grips grip_grip was 0.5, limit 1"),
    ({"ready": False, "t": 2.1}, Reason.SENSORS_NEVER_REPORTED, None),
    ({"ready": False, "t": 2.1, "vision_age": NAN}, Reason.SENSORS_NEVER_REPORTED, "vision"),
    (
        {"ready": False, "t": 0.0, "joint_sensors_1": NAN},
        Reason.SAMPLE_NOT_FINITE,
        "joint_sensors elbow_angle was nan rad",
    ),
    ({"ready": False, "t": 0.0, "vision_2": NAN}, Reason.SAMPLE_NOT_FINITE, "vision base_heading was nan rad"),
    ({"ready": False, "t": 0.0, "vision_status": Status.BROKEN}, Reason.SENSOR_FAULT, "vision, status BROKEN"),
    ({"vision_number": 0, "t": 2.1}, Reason.SENSORS_NEVER_REPORTED, "vision"),
]


PLAIN = load("free-flyer")


def ticks(n, **changes):
    """Healthy ticks, the changes as functions of the number of the tick; every sensor has a new frame in each.

    Without contacts, whose forces the model would not know.
    """
    guard, rng = Guard(PLAIN), np.random.default_rng(1)
    for k in range(n):
        usual = {"joint_sensors_number": k + 1, "vision_number": k + 1, "t": 2 + k * 0.005}
        for name, size in (("joint_sensors", 4), ("vision", 3)):
            usual |= {f"{name}_{i}": rng.uniform(-1.0, 1.0) for i in range(size)}
        usual |= {f"joint_sensors_{i}": 0.1 * usual[f"joint_sensors_{i}"] for i in (2, 3)}  # rates do not jump
        made = {name: change(k) for name, change in changes.items()}
        sample, *others, command = situation(**{**usual, **made})
        yield guard.check(
            sample._replace(applied=sample.applied[:2]), *others, command._replace(setpoints=command.setpoints[:2])
        )


#: the first tick after safety.monitor.settling_s
SETTLED = 401
#: what goes wrong over several ticks, the reason, and what the sentence says of it
SUCCESSIONS = [
    ({"vision_number": lambda k: 9 - k}, Reason.SENSOR_COUNTER, "vision counter was -1 frames, limit 0 frames"),
    (
        {"vision_number": lambda k: 9 * (k != 2)},
        Reason.SENSOR_COUNTER, "vision counter was -9 frames, limit 0 frames",
    ),
    (
        {"joint_sensors_number": lambda k: 5 + k + 200 * (k == 2)},
        Reason.SENSOR_COUNTER, "joint_sensors counter was 201 frames, limit 100 frames",
    ),
    (
        {"joint_sensors_t": lambda k: 2.0 - 0.5 * (k == 2)},
        Reason.SENSOR_TIME_BACK, "joint_sensors interval was -0.5 s, limit 0 s",
    ),
    (
        {"joint_sensors_1": lambda k: 0.5},
        Reason.SENSOR_FROZEN, "joint_sensors elbow_angle repetition was 15 frames, limit 14 frames",
    ),
    (
        {"vision_2": lambda k: 0.5},
        Reason.SENSOR_FROZEN, "vision base_heading repetition was 23 frames, limit 22 frames",
    ),
    (
        {"innovation_4": lambda k: 9.5 * (k > SETTLED)},
        Reason.SENSOR_OUTLIERS, "vision base_x innovation was 9.5 sigma, limit 8 sigma",
    ),
    (
        {"innovation_1": lambda k: 2.0 * (k > SETTLED)},
        Reason.SENSOR_BIASED, "joint_sensors elbow_angle mean innovation was 15",
    ),
    (
        {"innovation_1": lambda k: 17.0 * (k in (20, 30, 31))},
        Reason.SENSOR_OUTLIERS, "joint_sensors elbow_angle innovation was 17 sigma, limit 8 sigma",
    ),
    (
        {"joint_sensors_3": lambda k: 0.01 * (k % 2) + 0.8 * (k >= 10)},
        Reason.BRAKE_FAILS, "joint_sensors elbow_rate was 5.54 rad/s, limit 4.25",
    ),
    ({"correction_1": lambda k: 1e-4 * (k > SETTLED)}, Reason.MOTION_UNEXPLAINED, "base_y residual was 0.50"),
    (
        {"reference_q_0": lambda k: 1.0 + 0.06 * (k > 9)},
        Reason.REFERENCE_JUMP, "base_x reference step was 0.06 m, limit 0.05 m",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "reason", "about"), SUCCESSIONS, ids=lambda v: getattr(v, "name", ""))
def test_what_no_healthy_sequence_of_ticks_has_ends_the_run_with_the_name_of_it(changes, reason, about):
    stopped = next(verdict for verdict in ticks(700, **changes) if verdict.stop)
    assert stopped.reason is reason
    assert sentence(subjects(PLAIN), stopped).startswith(f"{reason.text}: {about}")
    assert not stopped.command.setpoints[0].any()


def test_a_single_outlier_is_named_and_the_run_goes_on():
    verdicts = list(ticks(600, innovation_4=lambda k: 200.0 * (k == 500)))
    assert not any(verdict.stop for verdict in verdicts)
    (refused,) = (verdict for verdict in verdicts if verdict.reason != Reason.PASSED)
    assert refused.reason is Reason.MEASUREMENT_REFUSED
    assert refused.command.setpoints[0].any()
    assert sentence(subjects(PLAIN), refused).endswith("vision base_x innovation was 200 sigma, limit 8 sigma")


def test_a_reference_that_moves_as_its_velocity_says_does_not_jump():
    moving = {"reference_q_3": lambda k: 0.4 + 0.11 * k, "reference_u_3": lambda k: 22.0}
    assert {verdict.reason for verdict in ticks(5, **moving)} == {Reason.PASSED}


def test_an_innovation_or_correction_that_is_not_known_is_not_judged():
    unknown = [f"innovation_{i}" for i in range(7)] + [f"correction_{i}" for i in range(5)]
    assert {verdict.reason for verdict in ticks(600, **dict.fromkeys(unknown, lambda k: NAN))} == {Reason.PASSED}


@pytest.mark.parametrize(
    ("changes", "reason", "about"), REFUSALS, ids=lambda v: v.name if isinstance(v, Reason) else ""
)
def test_beyond_a_limit_the_run_ends_at_rest_with_the_name_of_it(changes, reason, about):
    verdict = Guard(BED).check(*situation(**changes))
    assert verdict.reason is reason
    assert verdict.stop
    motors, thrusters, grips = verdict.command.setpoints
    assert not motors.any()
    assert not thrusters.any()
    assert not verdict.command.thrust.any()
    assert grips.tolist() == [1.0]  # what is held is not dropped
    said = sentence(subjects(BED), verdict)
    if about is None:
        assert said == reason.text
    else:
        assert said == f"{reason.text}: {about}"


def test_every_reason_the_guard_can_give_is_tested_above():
    go_on = {reason for reason in Reason if not reason.stops}
    by_the_loop = {reason for reason in Reason if reason >= Reason.OVERRUN} - {Reason.BRAKE_FAILS}
    need_a_tick_before = {case[1] for case in SUCCESSIONS}
    of_carrying = {Reason.SENSOR_SATURATED, Reason.DISTRIBUTION_FAILED}  # in test_carry
    of_a_gyro = {Reason.SENSORS_DISAGREE}  # in test_gyro_and_pressure
    tested = {reason for _, reason, _ in REFUSALS} | need_a_tick_before | of_carrying | of_a_gyro
    assert tested == set(Reason) - go_on - by_the_loop
    assert all(reason.text for reason in Reason)


def test_just_inside_every_limit_the_command_passes():
    inside = situation(
        state_q_0=0.301, reference_q_0=0.4, state_q_3=1.89, reference_q_3=1.5, state_u_3=2.99, state_u_2=0.99,
        state_u_1=0.2, joint_sensors_age=0.049, vision_age=0.499,
    )  # fmt: skip
    assert Guard(BED).check(*inside).reason is Reason.PASSED


@pytest.mark.parametrize("missing", [{"ready": False}, {"joint_sensors_number": 0}, {"vision_number": 0}], ids=str)
def test_before_the_sensors_report_the_actuators_rest_and_the_run_goes_on(missing):
    verdict = Guard(BED).check(*situation(t=0.5, **missing))
    assert verdict.reason is Reason.WAITING_FOR_SENSORS
    assert not verdict.stop
    motors, thrusters, grips = verdict.command.setpoints
    assert not motors.any()
    assert not thrusters.any()
    assert grips.tolist() == [1.0]


@pytest.mark.parametrize("report", [NAN, 1e6])
def test_a_grip_that_reports_what_is_not_possible_stays_as_it_was_commanded(report):
    guard = Guard(BED)
    assert guard.check(*situation(grips_0=0.0)).reason is Reason.PASSED
    verdict = guard.check(*situation(t=10.005, applied_grips_0=report))
    assert verdict.reason in (Reason.APPLIED_NOT_FINITE, Reason.APPLIED_OUT_OF_RANGE)
    assert verdict.command.setpoints[2].tolist() == [0.0]


@pytest.mark.parametrize("status", [Status.SILENT, Status.NO_FRAME], ids=lambda s: s.name)
def test_a_sensor_that_is_silent_for_a_moment_ends_no_run_before_its_frame_is_stale(status):
    assert Guard(BED).check(*situation(vision_status=status)).reason is Reason.PASSED


def test_an_actuator_that_got_no_set_point_yet_has_no_fault():
    case = situation(motors_status=Status.NO_FRAME)
    before = tuple(frame._replace(number=0) for frame in case[0].applied)
    assert Guard(BED).check(case[0]._replace(applied=before), *case[1:]).reason is Reason.PASSED
    assert Guard(BED).check(*case).reason is Reason.ACTUATOR_FAULT  # it had one, and says that it has none


@pytest.mark.parametrize("status", [-1, 5, 99, Status.REFUSED])
def test_a_status_that_no_healthy_device_has_ends_the_run_with_its_name(status):
    sensor, actuator = (Guard(BED).check(*situation(**{f"{name}_status": status})) for name in ("vision", "motors"))
    assert (sensor.reason, actuator.reason) == (Reason.SENSOR_FAULT, Reason.ACTUATOR_FAULT)
    assert "vision" in sentence(subjects(BED), sensor)
    assert "motors" in sentence(subjects(BED), actuator)


def test_the_rest_that_goes_out_can_not_be_changed_by_a_driver():
    guard = Guard(BED)
    verdict = guard.check(*situation(joint_sensors_age=1.0))
    with pytest.raises(ValueError, match="read-only"):
        verdict.command.setpoints[0][:] = 1.0


def test_a_torque_beyond_the_motor_is_clamped_and_named_and_the_valves_stay():
    case = situation(motors_0=-2.5, applied_motors_0=-1.9)
    verdict = Guard(BED).check(*case)
    assert verdict.reason is Reason.SETPOINT_CLAMPED
    assert not verdict.stop
    motors, thrusters, grips = verdict.command.setpoints
    np.testing.assert_array_equal(motors, [-2.0, -0.1])
    assert thrusters is case[4].setpoints[1]
    assert grips is case[4].setpoints[2]
    assert (verdict.value, verdict.limit) == (-2.5, -2.0)
    assert sentence(subjects(BED), verdict).endswith(": motors shoulder_torque was -2.5 N m, limit -2 N m")


def test_what_ends_the_run_comes_before_what_is_clamped():
    assert (
        Guard(BED).check(*situation(motors_0=-2.5, applied_motors_0=-1.9, thrusters_0=1.01)).reason
        is Reason.SETPOINT_OUT_OF_RANGE
    )


def test_every_subject_has_one_name():
    names = [subject.name for subject in subjects(BED)]
    assert len(set(names)) == len(names)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler here")
def test_limits_that_were_interpreted_are_compiled_where_there_is_a_compiler_again(monkeypatch):
    bed = load("atmos", ["name=alone"])
    with monkeypatch.context() as without:
        without.setenv("GRANITE_NO_COMPILER", "1")
        assert limits_of(bed).checked.library is None
    assert limits_of(bed).checked.library is not None
    assert limits_of(bed) is limits_of(bed)
