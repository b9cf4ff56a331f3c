"""Every response does what it says: warn, hold, float, stop and stop at once; and people may ask for them."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.responses import FAULTS, RESPONSES
from granite.config.run_modes import Reply, Request, RequestKind, RunMode
from granite.logs.summary import Summary
from granite.rt.recording.recorder_process import counted_ticks
from tests.support.measurements import measured
from tests.support.response_table import TABLE, Row, answer
from tests.support.scripted_operator import ScriptedRun, scripted

#: the base moves at 6 cm/s when its limit is broken
FAST = ["safety.base_speed_m_s=0.06", "loop.duration_s=8"]
STILL = 0.006  # [m/s] with the ripple of the thrusters


def speed(done: ScriptedRun) -> np.ndarray:
    return np.linalg.norm(done.entry("/truth", "u")[:, :2], axis=1)


def answered(response: str, *changes: str) -> ScriptedRun:
    return scripted({}, f"safety.responses.base_too_fast={response}", *FAST, *changes)


def noticed(done: ScriptedRun, reason: Reason = Reason.BASE_TOO_FAST) -> int:
    return int(np.argmax(done.column("/verdict", "reason") == reason))


def test_every_fault_of_the_guard_is_in_the_fault_table_and_every_row_is_a_reason():
    guard = {reason.name.lower() for reason in Reason if 10 <= reason < Reason.OVERRUN}
    names = {reason.name.lower() for reason in Reason}
    assert guard <= set(FAULTS) <= names
    assert all(fault.response in fault.possible for fault in FAULTS.values())


def test_a_warning_changes_nothing_but_the_log():
    done = answered("warn")
    plain = scripted({}, "loop.duration_s=8", "safety.base_speed_m_s=0.5")
    assert done.outcome.reason is Reason.PASSED
    assert noticed(done) > 0
    np.testing.assert_array_equal(done.entry("/truth", "q"), plain.entry("/truth", "q"))


def test_a_hold_brakes_to_rest_and_keeps_the_pose():
    done = answered("hold")
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING]
    assert done.outcome.reason is Reason.BASE_TOO_FAST  # a run that ends in a hold does not end well
    at, q = noticed(done), done.entry("/truth", "q")
    assert speed(done)[at] > 0.05
    assert speed(done)[-200:].max() < STILL
    a = done.run.bed.safety.braking.thrust_ratio * 2.0 / 52.0
    distance = np.hypot(*(q[-1] - q[at])[:2])
    assert distance == pytest.approx(speed(done)[at] ** 2 / (2 * a), rel=0.15)
    np.testing.assert_allclose(q[-200:], np.broadcast_to(q[-1], (200, 5)), atol=3e-3)


@pytest.mark.slow
def test_a_hold_far_from_the_reference_is_no_jump_that_ends_the_run():
    """The reference of a hold begins at the estimate, in the tick after that of the fault."""
    weak = "controller.law.gains.base={stiffness_1_s2=0.001,damping_1_s=0.01}"
    away = [weak, "simulation.table.tilt_g=1e-3", "safety.tracking_error_m=0.06", "safety.monitor.judges_motion=false"]
    done = scripted({}, 'safety.responses.tracking_error="hold"', "loop.duration_s=10", *away)
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING]
    assert done.outcome.reason is Reason.TRACKING_ERROR
    assert noticed(done, Reason.REFERENCE_JUMP) == noticed(done, Reason.TRACKING_ERROR) + 1


def test_floating_closes_the_valves_and_damps_the_joints():
    done = answered("float")
    assert done.modes == [RunMode.RUNNING, RunMode.FLOATING]
    at = noticed(done)
    assert not done.entry("/verdict", "setpoint.thrusters")[at:].any()
    joints, torques = done.entry("/state", "u")[at + 1 :, 3:], done.entry("/verdict", "setpoint.motors")[at + 1 :]
    assert (joints * torques <= 0).all()  # power is taken out
    rates = np.abs(done.entry("/truth", "u")[at:, 3:]).max(axis=1)
    assert rates[-1] < 0.5 * rates[0]


def test_a_stop_brings_the_base_to_rest_before_the_valves_close():
    done = answered("stop")
    assert done.modes == [RunMode.RUNNING, RunMode.STOPPING]
    assert done.outcome.reason is Reason.BASE_TOO_FAST
    assert speed(done)[noticed(done)] > 0.05
    assert speed(done)[-1] < STILL
    assert done.outcome.t < 8 - 0.1


def test_a_stop_is_bounded_in_time():
    done = answered("stop", "safety.braking.time_limit_s=0.5")
    at = noticed(done)
    assert (len(done.rows) - 1 - at) * 0.005 == pytest.approx(0.5, abs=0.011)
    assert done.outcome.reason is Reason.BASE_TOO_FAST


def test_a_stop_at_once_writes_rest_in_the_same_tick():
    done = answered("stop_at_once")
    assert noticed(done) == len(done.rows) - 1
    assert not done.entry("/verdict", "setpoint.thrusters")[-1].any()


@pytest.mark.slow
def test_a_fault_must_last_as_long_as_declared():
    at_once = answered("hold")
    late = answered("{response='hold', lasting_s=0.2}")
    began = [int(np.argmax(done.column("/operation", "mode") == RunMode.HOLDING)) for done in (at_once, late)]
    assert 40 <= began[1] - began[0] <= 60


def test_what_clears_itself_resumes_by_itself_once_the_robot_rests():
    done = answered("{response='hold', cleared_by='itself'}", "loop.duration_s=11")
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING, RunMode.RUNNING]
    held = np.flatnonzero(done.column("/operation", "mode") == RunMode.HOLDING)
    seen = np.flatnonzero(done.column("/verdict", "reason") == Reason.BASE_TOO_FAST)
    assert speed(done)[seen[-1] + 100] > STILL  # half a second after its cause was seen last, it still brakes
    assert speed(done)[held[-1]] < STILL


def test_the_base_stops_before_the_edge_of_the_table():
    done = scripted({}, "safety.table_m=[0.3,0.3,1.5,2.44]", "loop.duration_s=14")
    assert done.outcome.reason is Reason.TABLE_EDGE_AHEAD
    x = done.entry("/truth", "q")[:, 0]
    assert 1.45 < x[-1] < 1.5
    assert x.max() < 1.5
    assert speed(done)[-1] < STILL


@pytest.mark.parametrize(
    ("what", "reason"), [("frozen", Reason.SENSOR_FROZEN), ("not_finite", Reason.SAMPLE_NOT_FINITE)]
)
def test_where_the_sensors_are_not_trusted_the_run_stops_at_once(what, reason):
    event = f"[{{kind='fault', at_s=4, device='joint_sensors', what='{what}'}}]"
    done = scripted({}, f"simulation.events={event}", "loop.duration_s=5")
    assert done.outcome.reason in (reason, Reason.SENSOR_OUTLIERS)
    assert done.modes == [RunMode.RUNNING]
    assert speed(done)[-1] > 0.01


def test_a_second_fault_during_the_brake_ends_it_at_once():
    event = "[{kind='fault', at_s=8.5, device='vision', what='not_finite'}]"
    done = scripted({8.0: RequestKind.STOP}, f"simulation.events={event}")
    assert done.outcome.reason is Reason.SAMPLE_NOT_FINITE
    assert done.outcome.t < 8.7


def test_a_stop_in_a_hold_ends_at_rest():
    done = scripted({8.0: RequestKind.HOLD, 9.0: RequestKind.STOP})
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING, RunMode.STOPPING]
    assert speed(done)[-1] < STILL


def lost() -> Request:
    return Request(RequestKind.REPORT, argument=Reason.OPERATOR_LOST)


def test_who_is_disarmed_stays_at_rest_when_the_operator_is_lost():
    done = scripted({0.0: RequestKind.ATTACH, 0.5: lost(), 2.0: RequestKind.STOP}, "loop.duration_s=3")
    assert set(done.modes) <= {RunMode.RUNNING, RunMode.DISARMED, RunMode.STOPPED}
    for setpoint in ("setpoint.thrusters", "setpoint.motors"):
        assert not done.entry("/verdict", setpoint)[1:].any()


@pytest.mark.parametrize("response", ["hold", "float"])
def test_a_fault_that_clears_itself_starts_nothing_that_nobody_started(response: str):
    clears = f"safety.responses.operator_lost={{response='{response}', cleared_by='itself'}}"
    done = scripted(
        {0.0: RequestKind.ATTACH, 1.5: RequestKind.ARM, 2.0: lost(), 7.0: RequestKind.STOP}, clears, "loop.duration_s=9"
    )
    assert RunMode.RUNNING not in done.modes[1:]
    assert done.modes[1:4] == [
        RunMode.ARMED,
        RunMode.HOLDING if response == "hold" else RunMode.FLOATING,
        RunMode.ARMED,
    ]
    held = np.flatnonzero(done.column("/operation", "mode") == done.modes[2])
    assert (held[-1] - held[0]) * 0.005 == pytest.approx(0.5, abs=0.011)  # at rest throughout, calm for half a second


def test_a_milder_fault_leaves_a_brake_alone():
    done = scripted({8.0: RequestKind.STOP, 8.1: lost()}, "loop.duration_s=14")
    assert done.outcome.reason is Reason.OPERATOR_STOP
    assert np.abs(done.entry("/truth", "u")[-1, :2]).max() < 0.006


def test_a_run_goes_on_after_a_hold_without_a_jump_of_the_reference():
    done = scripted({6.0: RequestKind.HOLD, 10.0: RequestKind.START}, "loop.duration_s=34")
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING, RunMode.RUNNING]
    assert [reply for _, reply, _ in done.script.answers] == [Reply.DONE, Reply.DONE]
    q_ref, u_ref = done.entry("/reference", "q"), done.entry("/reference", "u")
    began = int(np.argmax(done.column("/operation", "mode") == RunMode.HOLDING))
    steps = np.abs(np.diff(q_ref, axis=0) - 0.0025 * (u_ref[1:] + u_ref[:-1]))
    steps[began - 1] = 0.0  # the hold begins where the robot is
    assert steps[20:].max() < 1e-4  # before, the state is not known
    assert done.outcome.reason is Reason.PASSED
    np.testing.assert_allclose(done.entry("/truth", "q")[-1], [2.0, 1.3, np.pi / 2, -0.2, 1.4], atol=0.02)


def test_with_an_operator_the_run_waits_at_rest_until_it_is_armed_and_started():
    done = scripted(
        {0.0: RequestKind.ATTACH, 1.0: RequestKind.START, 3.0: RequestKind.ARM, 4.0: RequestKind.START},
        "loop.duration_s=2",
    )
    assert done.modes == [RunMode.DISARMED, RunMode.ARMED, RunMode.RUNNING]
    assert done.script.answers[1] == (RequestKind.START, Reply.NOT_IN_THIS_MODE, RunMode.DISARMED)
    armed = int(np.argmax(done.column("/operation", "mode") == RunMode.ARMED))
    assert not done.entry("/verdict", "setpoint.motors")[:armed].any()
    assert not done.entry("/verdict", "setpoint.thrusters")[:armed].any()
    assert done.outcome.t == pytest.approx(4.0 + 2.0, abs=0.011)  # the time of the run begins at its start


@pytest.mark.parametrize(
    ("requests", "replies"),
    [
        ({1.0: RequestKind.ARM}, [Reply.NOT_IN_THIS_MODE]),
        ({1.0: RequestKind.RESET}, [Reply.NOT_IN_THIS_MODE]),
        ({0.0: RequestKind.ATTACH, 0.01: RequestKind.ARM}, [Reply.DONE, Reply.NOT_READY]),
        ({8.0: RequestKind.HOLD, 8.1: RequestKind.START}, [Reply.DONE, Reply.NOT_AT_REST]),
        ({1.0: Request(RequestKind.SET_GAIN, 1, 99, 1.0)}, [Reply.NO_SUCH_GAIN]),
        ({1.0: Request(RequestKind.SET_GAIN, 1, 0, 1e6)}, [Reply.OUT_OF_BOUNDS]),
        ({1.0: Request(RequestKind.SET_GAIN, 1, 0, float("nan"))}, [Reply.OUT_OF_BOUNDS]),
    ],
    ids=str,
)
def test_what_is_not_possible_now_is_refused_by_name(requests, replies):
    done = scripted(requests, f"loop.duration_s={max(requests) + 0.1}")
    assert [reply for _, reply, _ in done.script.answers] == replies


def test_a_fault_that_nobody_may_clear_stays():
    hold = "safety.responses.base_too_fast={response='hold', cleared_by='nobody'}"
    done = scripted({7.0: RequestKind.RESET, 7.2: RequestKind.START}, hold, *FAST)
    assert [reply for _, reply, _ in done.script.answers] == [Reply.NOT_CLEARABLE, Reply.NOT_IN_THIS_MODE]


@pytest.mark.slow
def test_the_operator_clears_a_fault_and_the_run_goes_on():
    hold = "safety.responses.base_too_fast={response='hold', cleared_by='operator'}"
    done = scripted({7.0: RequestKind.RESET, 7.2: RequestKind.START}, hold, *FAST)
    assert [reply for _, reply, _ in done.script.answers] == [Reply.DONE, Reply.DONE]
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING, RunMode.ARMED, RunMode.RUNNING]
    assert done.outcome.reason is Reason.PASSED


@pytest.mark.parametrize("mode", [RequestKind.NOTHING, RequestKind.HOLD, RequestKind.FLOAT])
def test_the_emergency_stop_ends_the_run_in_its_tick_from_every_mode(mode):
    requests = {8.2: RequestKind.EMERGENCY_STOP} | ({8.0: mode} if mode else {})
    done = scripted(requests)
    assert done.outcome.reason is Reason.EMERGENCY_STOP
    assert done.outcome.t == pytest.approx(8.2)
    assert not done.entry("/verdict", "setpoint.thrusters")[-1].any()
    assert not done.entry("/verdict", "setpoint.motors")[-1].any()


def test_a_gain_changes_along_a_ramp_and_the_command_does_not_jump():
    bed = load("free-flyer")
    names = [gain.name for gain in bed.control.law.live_gains(bed)]
    gain = names.index("elbow_stiffness")
    done = scripted({3.0: Request(RequestKind.SET_GAIN, 1, gain, 132.0)}, "loop.duration_s=5")
    values = done.column("/operation", "elbow_stiffness_gain")
    assert (values[599], values[-1]) == (100.0, 132.0)
    assert np.abs(np.diff(values)).max() <= 32.0 * 0.005 / 0.5 + 1e-9
    torque = done.column("/verdict", "motors_elbow_torque_n_m")
    assert np.abs(np.diff(torque[590:720])).max() < 2 * np.abs(np.diff(torque[460:590])).max()


@pytest.mark.parametrize("response", RESPONSES)
def test_reports_from_outside_the_tick_get_their_response(response):
    report = Request(RequestKind.REPORT, argument=Reason.RECORDER_LOST)
    done = scripted({2.0: report}, f"safety.responses.recorder_lost={response}", "loop.duration_s=4")
    ends = {"warn": Reason.PASSED}.get(response, Reason.RECORDER_LOST)
    last = {"warn": RunMode.RUNNING, "hold": RunMode.HOLDING, "float": RunMode.FLOATING, "stop": RunMode.STOPPING}
    assert done.outcome.reason is ends
    assert done.modes[-1] == last.get(response, RunMode.STOPPED)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("safety.responses.sensor_stale=hold", 'safety.responses.sensor_stale.response = "hold": not possible when'),
        ("safety.responses.state_not_finite=warn", "expected stop_at_once"),
        ("safety.responses.edge=hold", "no such fault"),
        ("safety.responses.table_edge=brake", "safety.responses.table_edge.response"),
        ("safety.responses.state_not_finite={lasting_s=1}", "no command can be written when"),
    ],
)
def test_a_response_that_is_not_possible_is_refused(change, said):
    with pytest.raises(InputError) as refusal:
        load("free-flyer", [change])
    assert said in str(refusal.value)


def test_a_testbed_without_a_controller_stops_at_once():
    done = scripted({0.05: RequestKind.HOLD, 0.1: RequestKind.STOP}, bed="mrds-1")
    assert [reply for _, reply, _ in done.script.answers] == [Reply.NOT_POSSIBLE, Reply.DONE]
    assert done.outcome.t == pytest.approx(0.1)


@pytest.mark.parametrize("at", [0.0, 3.0])
def test_a_pressed_emergency_stop_ends_the_run_in_its_tick_and_keeps_the_next_from_moving(at):
    button = f"devices.emergency_stop={{simulated={{pressed_at_s={at}}}}}"
    done = scripted({}, button, "loop.duration_s=4")
    assert done.outcome.reason is Reason.EMERGENCY_STOP
    assert done.outcome.t == pytest.approx(max(at, 0.035), abs=0.011)  # from the first tick whose state is ready
    assert not done.entry("/verdict", "setpoint.thrusters")[-1].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "bed", ["spot/arm", "astrobee", "atmos", "two-arm-free-flyer", "stanford-free-flyer", "fixed-dual-arm/carry"]
)
def test_every_platform_comes_to_rest_before_it_stops(bed):
    done = scripted({4.0: RequestKind.STOP}, bed=bed)
    assert done.modes == [RunMode.RUNNING, RunMode.STOPPING]
    assert done.outcome.reason is Reason.OPERATOR_STOP
    units = np.array([0.006 if c.unit == "m/s" else 0.03 for c in done.run.bed.known.velocities])
    u = done.entry("/truth", "u")[:, : len(units)]
    assert (np.abs(u[round(4.0 / done.run.bed.loop.period_s)]) > units).any()
    assert (np.abs(u[-1]) < units).all()


def test_the_summary_names_what_was_reported_from_outside_the_tick_and_what_led_to_a_mode():
    done = scripted(
        {1.0: Request(RequestKind.REPORT, argument=Reason.DISK_FULL), 1.5: RequestKind.FLOAT}, "loop.duration_s=2"
    )
    summary = Summary(done.run.bed, done.channels)
    summary.update(done.rows)
    assert summary.result()["noticed_at_s"] == {"disk_full": 1.0, "operator_float": 1.5}


def test_only_ticks_that_run_move_the_progress_of_a_run_with_an_operator():
    done = scripted({0.0: RequestKind.ATTACH, 0.5: RequestKind.ARM, 2.0: RequestKind.START}, "loop.duration_s=1")
    rows, channels = done.rows, done.channels
    assert counted_ticks(channels, rows, False) == len(rows) > 500
    assert abs(counted_ticks(channels, rows, True) - 200) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_a_fault_gets_its_declared_response_in_time(row: Row) -> None:
    response = answer(row)
    print(f"{row.fault}: {response.after_s:.3f} s")
    assert (response.reason, response.response) == (row.reason, row.response)
    assert response.after_s <= row.within_s


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_the_page_and_the_defaults_have_every_row(row: Row) -> None:
    name = row.reason.name.lower()
    declared = {"fault": row.fault, "reason": name, "response": row.response, "within": f"{row.within_s:g} s"}
    assert any(declared.items() <= said.items() for said in measured("responses"))
    assert name not in FAULTS or FAULTS[name].response == row.response
