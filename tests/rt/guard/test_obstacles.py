"""A robot that is measured and not controlled: braked for, planned around, in both forms, on goals that wait for it."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RequestKind
from granite.config.testbed import Testbed
from granite.controllers.behaviours.motion_limits import motion_limits
from granite.controllers.behaviours.planned import planned
from granite.logs.log import Log
from granite.rt.operator.goal_requests import GoalRequests
from granite.rt.operator.path_planning import planned_path
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit
from tests.support.flyer_pair import beside_an_obstacle, flyer_pair
from tests.support.goals import log_of
from tests.support.scripted_operator import scripted

#: b crosses the way of a, from x = 1 to 4 at y = 2, after 11.7 s
CROSSING = {
    "simulation.initial": {
        "a_base_x_m": 1.0, "a_base_y_m": 2.0, "b_base_x_m": 2.5, "b_base_y_m": 3.4, "b_base_y_m_s": -0.12,
    },
    "simulation.table.ideal": True,
}  # fmt: skip
ACROSS = {"kind": "waypoints", "waypoints": [{"duration_s": 20.0, "ramp_s": 3.0, "target": {"a_base_x_m": 4.0}}]}
#: twice the radius of the disc that covers a base [m]
TOUCHING = 2 * 0.2236


def crossing(behaviour: dict[str, Any], duration_s: float, **more: Any) -> Testbed:
    return beside_an_obstacle({**CROSSING, "behaviour": behaviour, "loop.duration_s": duration_s, **more})


def apart(log: Log) -> np.ndarray:
    truth = log["/truth"]
    return np.hypot(*(truth[f"a_base_{axis}_m"] - truth[f"b_base_{axis}_m"] for axis in "xy"))


@pytest.mark.parametrize("push_n", [0.0, pytest.param(-0.3, marks=pytest.mark.slow)])
def test_a_robot_rests_beside_the_way_of_one_that_it_does_not_control(push_n: float) -> None:
    """Also where that one is pushed, so that it leaves the straight way: its pose is measured."""
    push = {"kind": "push", "at_s": 2.0, "duration_s": 2.0, "module": "b", "body": "base", "force_n": [0.0, push_n]}
    bed = crossing(ACROSS, 22.0, **{"simulation.events": [push] if push_n else []})
    log = simulate_in_memory(bed)
    assert log.summary is not None
    assert log.summary["ended"] == Reason.KEEP_OUT_AHEAD.name.lower(), log.summary["text"]
    assert apart(log).min() > TOUCHING
    assert log["/truth"]["b_base_y_m"].min() < 1.5  # it has passed
    x = log["/truth"]["a_base_x_m"]
    assert 1.2 < x[-1] < 2.5 - TOUCHING
    assert np.ptp(x[-1000:]) < 0.005


@pytest.mark.slow
def test_without_a_tube_it_is_braked_for_later_and_hit() -> None:
    """What the growth, and to look further than the brake, are for."""
    bed = crossing(ACROSS, 13.0)
    known = {"name": "other", "module": "b"}
    log = simulate_in_memory(bed.with_changes({"safety.keep_out": [known], "behaviour.check_moves": False}))
    assert log.summary is not None
    assert log.summary["ended"] == Reason.KEEP_OUT.name.lower()
    assert apart(log).min() < TOUCHING


def test_a_plan_goes_around_the_tube_and_is_flown() -> None:
    bed = crossing({"kind": "planned", "target": {"a_base_x_m": 4.0}, "duration_s": 30.0, "nodes": 40}, 34.0)
    path = planned(bed).path
    for t in np.arange(0.0, 30.0, 0.25):
        q, _, _ = path.at(t)
        since = t + 0.5  # the path begins then
        assert np.hypot(q[0] - 2.5, q[1] - (3.4 - 0.12 * since)) > TOUCHING + 0.02 * since + 0.02 - 1e-6
    log = simulate_in_memory(bed)
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert apart(log).min() > TOUCHING + 0.02
    np.testing.assert_allclose(log["/truth"]["a_base_x_m"][-1], 4.0, atol=4e-3)


def test_a_goal_in_its_way_is_refused_by_its_name() -> None:
    target = {"kind": "planned", "target": {"a_base_x_m": 2.5, "a_base_y_m": 1.0}, "duration_s": 20.0, "nodes": 40}
    with pytest.raises(InputError, match=r"behaviour\.target: at 20.5 s a_base to b_base: .* inside"):
        planned(crossing(target, 34.0))
    with pytest.raises(InputError, match=r"behaviour\.duration_s: .*expected one time"):
        planned(crossing({**target, "duration_s": None, "objective": "time"}, 34.0))


@pytest.mark.slow
def test_goals_are_possible_when_it_has_passed_and_replay() -> None:
    to_other_side = Request(RequestKind.GO, 1, 0, 20.0, numbers=(4.0, *[nan] * 5))
    # The same as a path of two knots, which are handed over in two ticks.
    poses = (1.0, 2.0, 0.0), (4.0, 2.0, 0.0)
    path = [
        Request(RequestKind.KNOT, 1, i, 25.0 * i, numbers=(*pose, 0.0, 0.0, 0.0, *[0.0] * 12))
        for i, pose in enumerate(poses)
    ]
    path.append(Request(RequestKind.FOLLOW, 1, 2, 1.0))
    first, second = ({at + 0.005 * i: one for i, one in enumerate(path)} for at in (1.1, 15.0))
    bed = crossing({"kind": "on_demand"}, 18.0)
    done = scripted({1.0: to_other_side, **first, **second, 17.0: to_other_side}, bed=bed)
    replies = [reply for _, reply, _ in done.script.answers]
    assert replies == [
        Reply.NOT_FEASIBLE, Reply.DONE, Reply.DONE, Reply.NOT_FEASIBLE, Reply.DONE, Reply.DONE, Reply.DONE, Reply.DONE,
    ]  # fmt: skip
    goal = done.entry("/operation", "goal")
    worst = motion_limits(bed)[int(goal[round(1.0 / 0.005), 0])]
    assert worst.sentence(1.2).startswith("the distance a_base to b_base")
    assert replay(log_of(done)).first is None


def test_a_plan_of_a_goal_begins_at_the_motion_of_the_obstacle_and_leaves_it_out() -> None:
    """As the channel orders it: the obstacle moves while the path is planned."""
    bed = crossing({"kind": "on_demand"}, 18.0)
    goals = GoalRequests(to_json(bed), [])
    goals.note([1.0, 2.0, 0.0, 2.5, 3.4, 0.0, *[0.0] * 4, -0.12, 0.0, *[0.0] * 6])
    request = goals.to_plan({"target": {"a_base_x_m": 4.0}, "duration_s": 30.0})
    assert request.rates == [0.0, 0.0, 0.0, 0.0, -0.12, 0.0]
    begins_s = 4.0
    plan = planned_path(bed, request._replace(begins_s=begins_s))
    columns = {key: np.array(column) for key, column in plan["columns"].items()}
    assert not [key for key in columns if key.startswith("b_")]
    since = begins_s + columns["t_s"]
    away = np.hypot(columns["a_base_x_m"] - 2.5, columns["a_base_y_m"] - (3.4 - 0.12 * since))
    assert (away > TOUCHING + 0.02 * since + 0.02 - 1e-6).all()
    *knots, follow = goals.follow({"columns": plan["columns"]})
    assert follow.argument == len(knots) > 3


@pytest.mark.slow
def test_both_forms_are_equal_beside_an_obstacle() -> None:
    assert assert_equal_to_the_bit(crossing(ACROSS, 4.0)).reason is Reason.PASSED


@pytest.mark.parametrize(
    ("bed", "zone", "sentence"),
    [
        (flyer_pair, {"module": "b", "growth_m_s": 0.1}, r"keep_out\.0\.growth_m_s.*a module of controller\.objects"),
        (
            beside_an_obstacle,
            {"disc": {"position_m": [3.0, 3.0], "radius_m": 0.1}, "growth_m_s": 0.1},
            "growth_m_s.*none of a zone that is no module",
        ),
    ],
)
def test_a_tube_needs_a_module_that_is_measured(bed: Any, zone: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        bed({"safety.keep_out": [{"name": "other", **zone}]})
