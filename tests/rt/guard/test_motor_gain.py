"""A motor with a wrong gain is told from friction, cogging, and joints at rest; a doubted model is no end at once."""

from __future__ import annotations

from typing import Any

import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.run_modes import RequestKind
from granite.logs.log import Log
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.fault_table import MOVE
from tests.support.scripted_operator import scripted

HARSH = "free-flyer/harsh"


def fly(bed: str, *events: dict[str, Any], **changes: Any) -> Log:
    """A run with events."""
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    return simulate_in_memory(load(bed, {"simulation.events": [*events], **keys}))


def quick(seed: int, *events: dict[str, Any], **changes: Any) -> Log:
    """The quick move in a harsh lab."""
    usual = {"behaviour__waypoints": MOVE, "behaviour__check_moves": False, "loop__duration_s": 10.0, "seed": seed}
    return fly(HARSH, *events, **{**usual, **changes})


def gain(joint: str, value: float, at: float) -> dict[str, Any]:
    return {"kind": "fault", "at_s": at, "device": "motors", "what": "torque_factor", "unit": joint, "value": value}


@pytest.mark.parametrize("joint", [pytest.param("shoulder", marks=pytest.mark.slow), "elbow"])
@pytest.mark.parametrize(("value", "within"), [(0.5, 2.0), (0.0, 0.5), (-1.0, 0.2)])
def test_a_wrong_gain_is_found_among_friction_and_cogging(joint: str, value: float, within: float) -> None:
    log = quick(7, gain(joint, value, 5.0))
    assert log.summary is not None
    assert log.summary["ended"] in ("motor_gain", "sensor_outliers")
    assert log.summary["ended_at_s"] - 5.0 <= within + 1e-9


def test_the_estimated_gain_is_that_of_the_motor() -> None:
    """In the first ticks of the fault the windows still have what was before: it comes down to the limit, 0.7."""
    log = quick(7, gain("elbow", 0.5, 5.0), safety__responses={"motor_gain": "warn"})
    at_6_s = round(6.5 / 0.005)
    values = log.columns([log.channels.column("/verdict", key) for key in ("reason", "value")])[at_6_s:]
    gains = values[values[:, 0] == Reason.MOTOR_GAIN, 1]
    assert len(gains) > 20
    assert gains.mean() == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("seed", [21, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (22, 23))])
def test_friction_and_cogging_are_no_wrong_gain(seed: int) -> None:
    log = quick(seed, loop__duration_s=15.0)
    assert log.summary is not None
    assert log.summary["ended"] == "completed"


def test_a_joint_that_sticks_at_rest_is_no_dead_motor() -> None:
    """Nothing moves, and the motor gives up to what static friction holds: nothing can be said of its gain."""
    log = fly(HARSH, gain("elbow", 0.0, 5.0), behaviour__waypoints=[], loop__duration_s=12.0)
    assert log.summary is not None
    assert "motor_gain" not in log.summary["guard"]


def test_a_motor_whose_torque_hardly_changes_is_not_judged() -> None:
    """Swapped valves shake a robot without friction at rest: rounding of a vanishing torque explains anything."""
    units = "simulation__plant__devices__thrusters__units__"
    r1 = {f"{units}r1__position_m": [-0.13, 0.13], f"{units}r1__direction": [0.0, -1.0]}
    r3 = {f"{units}r3__position_m": [0.13, 0.13], f"{units}r3__direction": [-1.0, 0.0]}
    log = fly("free-flyer/clean", **r1, **r3, loop__duration_s=25.0)
    assert log.summary is not None
    assert log.summary["ended"] == "completed"


PUSH = {"kind": "push", "at_s": 3.0, "body": "base"}


def names(log: Log) -> list[str]:
    return [event["name"] for event in log.events if event["level"] != "info"]


def test_a_doubted_model_is_a_warning_then_a_hold_and_the_run_goes_on() -> None:
    """A push of 0.6 thrusters for a few seconds: nothing is dangerous."""
    log = fly("free-flyer", {**PUSH, "duration_s": 7.0, "force_n": [0.6, 0.0]}, loop__duration_s=20.0)
    assert names(log)[:2] == ["model_doubted", "holding"]
    warned, held = (next(e["t_s"] for e in log.events if e["name"] == name) for name in ("model_doubted", "holding"))
    assert held - warned == pytest.approx(2.0, abs=0.02)
    assert log.summary is not None
    assert log.summary["ended"] == "completed"
    assert "running" in [event["name"] for event in log.events]


def test_a_doubt_that_stays_ends_the_run_after_ten_seconds_of_hold() -> None:
    log = fly("free-flyer", {**PUSH, "duration_s": 40.0, "force_n": [0.5, 0.0]}, loop__duration_s=35.0)
    assert names(log)[:3] == ["model_doubted", "holding", "stopping"]
    held, stopped = (next(e["t_s"] for e in log.events if e["name"] == name) for name in ("holding", "stopping"))
    assert stopped - held == pytest.approx(10.0, abs=0.02)
    assert log.summary is not None
    assert log.summary["ended"] == "model_doubted"


def test_twice_the_limit_ends_the_run_at_once() -> None:
    log = fly("free-flyer", {**PUSH, "duration_s": 20.0, "force_n": [0.9, 0.0]}, loop__duration_s=25.0)
    assert names(log)[-1] == "motion_unexplained"
    assert log.summary is not None
    assert log.summary["ended"] == "motion_unexplained"


def test_the_warning_can_be_all() -> None:
    responses = {"model_doubted": {"response": "warn"}}
    push = {**PUSH, "duration_s": 7.0, "force_n": [0.6, 0.0]}
    log = fly("free-flyer", push, loop__duration_s=15.0, safety__responses=responses)
    assert set(names(log)) == {"model_doubted"}


@pytest.mark.parametrize(("bed", "seed"), [("free-flyer", 8105), (HARSH, 8101)])
def test_right_motors_are_not_doubted_where_a_robot_floats_and_begins_to_move_again(bed: str, seed: int) -> None:
    asked = {3.0: RequestKind.HOLD, 6.0: RequestKind.START, 9.0: RequestKind.FLOAT, 13.0: RequestKind.HOLD}
    flight = scripted(asked, "loop.duration_s=15", f"seed={seed}", bed=bed)
    assert flight.outcome.reason is Reason.PASSED
