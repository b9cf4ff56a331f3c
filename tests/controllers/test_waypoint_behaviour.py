"""The behaviour that goes through the waypoints of a testbed."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import State
from granite.controllers.behaviours.waypoints import Waypoint, WaypointBehaviour
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from tests.support.two_vehicles import two_vehicles

Q0 = np.array([1.0, 0.8, 0.1, 0.4, 0.9])
MODEL = ControlModel(load("free-flyer"))


def behaviour(*waypoints: Waypoint, model: ControlModel = MODEL) -> WaypointBehaviour:
    return WaypointBehaviour(WaypointBehaviour.Options(kind="waypoints", waypoints=waypoints, check_moves=False), model)


def state(t: float, q: np.ndarray = Q0, ready: bool = True) -> State:
    return State(t, ready, q, np.full(5, 0.01), np.zeros(5), np.zeros(2))


TURN = Waypoint(duration_s=2.0, hold_s=1.0, target={"base_heading_rad": 1.1})
REACH = Waypoint(duration_s=1.0, target={"base_x_m": 1.5, "elbow_rad": -0.1})


def test_before_it_is_ready_the_reference_is_the_estimate_at_rest():
    move = behaviour(TURN)
    reference = move.decide(state(0.0, np.array([np.nan, np.nan, np.nan, 0.4, 0.9]), ready=False))
    assert reference.q.tolist() == [0.0, 0.0, 0.0, 0.4, 0.9]
    assert not reference.u.any()
    assert not reference.a.any()
    assert not reference.done


def test_it_starts_where_and_when_it_becomes_ready():
    move = behaviour(TURN)
    move.decide(state(0.0, ready=False))
    assert move.decide(state(5.0)).q == pytest.approx(Q0)
    assert move.decide(state(6.0)).q == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.9])


def test_it_visits_the_waypoints_in_turn_by_coordinate_key():
    move = behaviour(TURN, REACH)
    move.decide(state(5.0))
    assert move.decide(state(7.5)).q == pytest.approx([1.0, 0.8, 1.1, 0.4, 0.9])
    half_way = move.decide(state(8.5))
    assert half_way.q == pytest.approx([1.25, 0.8, 1.1, 0.4, 0.4])
    assert half_way.u == pytest.approx([1.875 * 0.5, 0, 0, 0, -1.875])
    assert not half_way.done
    end = move.decide(state(9.0))
    assert end.q == pytest.approx([1.5, 0.8, 1.1, 0.4, -0.1])
    assert end.t == 9.0
    assert end.done


def test_where_the_robot_drifts_later_does_not_move_the_reference():
    move = behaviour(TURN)
    move.decide(state(5.0))
    assert move.decide(state(9.0, Q0 + 0.3, ready=False)).q == pytest.approx([1.0, 0.8, 1.1, 0.4, 0.9])


def test_it_is_done_after_the_last_hold():
    move = behaviour(TURN)
    done = [move.decide(state(t)).done for t in (5.0, 7.0, 7.99, 8.0, 9.0)]
    assert done == [False, False, False, True, True]


def test_a_path_is_smooth_in_position_rate_and_acceleration():
    move = behaviour(TURN, REACH)
    references = [move.decide(state(t)) for t in np.arange(0.0, 5.0, 1e-3).tolist()]
    for name, most in (("q", 3e-3), ("u", 1e-2), ("a", 0.1)):
        values = np.array([getattr(reference, name) for reference in references])
        assert 0 < np.abs(np.diff(values, axis=0)).max() < most


@pytest.mark.parametrize("start", [0.0, 0.035, 0.1, 1.7])
def test_rounding_of_the_start_time_costs_no_tick(start):
    move = behaviour(TURN)
    move.decide(state(start))
    assert move.decide(state(start + 3.0)).done


def test_without_waypoints_it_holds_the_pose_it_starts_in_and_is_never_done():
    move = behaviour()
    move.decide(state(0.0))
    reference = move.decide(state(1e5, Q0 + 1.0))
    assert reference.q == pytest.approx(Q0)
    assert not reference.u.any()
    assert not reference.done


SATELLITE = """
name = "satellite"
title = "A body in space"
loop = { period_s = 0.005, duration_s = 1.0 }
controller = { modules = ["satellite"] }

[[modules]]
name = "satellite"
dimension = "spatial"
base = "floating"
bodies = [{ name = "base", mass_kg = 1.0, com_m = [0, 0, 0], inertia_kg_m2 = [1, 1, 1, 0, 0, 0] }]
"""


def test_a_floating_body_in_space_can_only_hold(tmp_path):
    (tmp_path / "satellite.toml").write_text(SATELLITE)
    model = ControlModel(load(str(tmp_path / "satellite.toml")))
    attitude = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    reference = behaviour(model=model).decide(state(0.0, attitude))
    assert reference.q == pytest.approx(attitude)
    assert reference.u.shape == reference.a.shape == (6,)
    with pytest.raises(InputError, match="'satellite' floats in space") as refusal:
        behaviour(Waypoint(duration_s=1.0, target={"base_x_m": 1.0}), model=model)
    assert refusal.value.key == "behaviour.waypoints"


def test_with_a_ramp_the_base_accelerates_coasts_and_decelerates():
    move = behaviour(Waypoint(duration_s=4.0, ramp_s=1.0, target={"base_x_m": 2.5}))
    move.decide(state(5.0))
    at = {tau: move.decide(state(5.0 + tau)) for tau in (0.5, 2.0, 2.5, 3.5, 4.0)}
    assert [at[tau].a[0] for tau in at] == pytest.approx([0.5, 0.0, 0.0, -0.5, 0.0])
    assert [at[tau].u[0] for tau in at] == pytest.approx([0.25, 0.5, 0.5, 0.25, 0.0])
    assert [at[tau].q[0] for tau in at] == pytest.approx([1.0625, 1.75, 2.0, 2.4375, 2.5])


def test_ramps_longer_than_the_way_are_refused():
    changes = ["behaviour.waypoints.0.ramp_s=11"]
    with pytest.raises(InputError, match=r"ramp_s = 11.*expected at most half of duration_s, 10") as refusal:
        load("free-flyer", changes)
    assert refusal.value.key == "behaviour.waypoints.0.ramp_s"


OWN_LISTS = (
    Waypoint(module="a", duration_s=3.0, hold_s=0.5, target={"a_base_x_m": 1.3}),
    Waypoint(module="b", duration_s=5.0, ramp_s=1.0, target={"b_base_y_m": 2.2, "b_hip_rad": 0.2}),
    Waypoint(module="a", duration_s=2.0, target={"a_base_x_m": 1.1}),
)


def test_each_module_follows_its_own_list_in_its_own_time():
    model = ControlModel(two_vehicles())
    q0, n = np.arange(8.0), model.n
    together = behaviour(*OWN_LISTS, model=model)
    alone = {
        name: behaviour(*(w.model_copy(update={"module": None}) for w in OWN_LISTS if w.module == name), model=model)
        for name in "ab"
    }
    for t in np.linspace(0.0, 7.0, 60):
        now = State(float(t), True, q0, np.zeros(n), np.zeros(n), np.zeros(2))
        reference = together.decide(now)
        for name, one in alone.items():
            expected, own = one.decide(now), model.layout.q[name]
            for got, wanted in zip(reference[1:4], expected[1:4], strict=True):
                np.testing.assert_array_equal(got[own], wanted[own])
        assert reference.done == (t >= 5.5)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"module": None}, "behaviour.waypoints.1.module"),
        ({"module": "c"}, "behaviour.waypoints.1.module"),
        ({"module": "a"}, "behaviour.waypoints.1.target.b_base_y_m"),
    ],
)
def test_a_waypoint_of_another_module_is_refused(change, key):
    first, second, third = OWN_LISTS
    with pytest.raises(InputError) as refusal:
        behaviour(first, second.model_copy(update=change), third, model=ControlModel(two_vehicles()))
    assert refusal.value.key == key


@pytest.mark.usefixtures("interpreted")
def test_a_leg_of_a_modules_own_list_that_is_too_fast_is_named_by_its_waypoint():
    fast = [w.model_dump() for w in OWN_LISTS]
    fast[0]["duration_s"], fast[2]["duration_s"] = 20.0, 0.2
    with pytest.raises(InputError) as refusal:
        build_stack(two_vehicles(behaviour={"waypoints": fast}))
    assert refusal.value.key.startswith("behaviour.waypoints.2.")
