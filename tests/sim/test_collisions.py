"""Collisions of the plant: restitution, momentum and energy, and how a run reports them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.testbed import Testbed
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.plant import Plant
from tests.support.command_line import Call
from tests.support.command_line import granite as granite
from tests.support.compiled_runs import assert_equal_to_the_bit
from tests.support.flyer_pair import flyer_pair

#: a wall that the controller does not know, 10 mm from the hull of an ATMOS at its start
WALL = {"name": "wall", "polygon_m": [[1.21, 0.0], [1.5, 0.0], [1.5, 3.0], [1.21, 3.0]]}
POST = {"name": "post", "disc": {"position_m": [1.31, 1.0], "radius_m": 0.1}}
#: nothing but the floor, and that is level
FREE = {"controller": None, "devices": {}, "simulation.table.ideal": True}


def atmos(zone: dict[str, Any], speed: float, changes: dict[str, Any] | None = None) -> Testbed:
    start = {"simulation.initial.base_x_m_s": speed, "safety.keep_out": [zone]}
    return load("atmos", {**FREE, "behaviour": {"kind": "waypoints"}, "safety.age_s": {}, **start, **(changes or {})})


@pytest.mark.parametrize(
    ("zone", "speed", "restitution"),
    [
        (WALL, 0.02, 0.2),
        (POST, 0.1, 0.5),
        (WALL, 0.5, 1.0),
        *(pytest.param(*strike, marks=pytest.mark.slow) for strike in ((WALL, 0.02, 0.5), (WALL, 0.02, 1.0))),
        *(pytest.param(*strike, marks=pytest.mark.slow) for strike in ((POST, 0.1, 0.2), (POST, 0.1, 1.0))),
        *(pytest.param(*strike, marks=pytest.mark.slow) for strike in ((WALL, 0.5, 0.2), (WALL, 0.5, 0.5))),
    ],
)
def test_the_restitution_is_that_of_the_key_at_any_speed(
    zone: dict[str, Any], speed: float, restitution: float
) -> None:
    bed = atmos(zone, speed, {"simulation.collisions.restitution": restitution})
    plant = Plant(bed)
    plant.advance(0.01 / speed + 0.2)
    assert -plant.u[0] / speed == pytest.approx(restitution, abs=0.02)
    impulse, touched = plant.struck
    assert impulse == pytest.approx(17.8 * (speed - plant.u[0]), rel=0.01)
    assert touched == pytest.approx(speed, rel=0.02)


def test_an_oblique_collision_of_two_robots_keeps_momentum_and_loses_energy() -> None:
    start = {
        "a_base_x_m": 2.0, "a_base_y_m": 2.0, "a_base_heading_rad": 0.3, "a_base_x_m_s": 0.1,
        "b_base_x_m": 2.5, "b_base_y_m": 2.15, "b_base_heading_rad": 1.0, "b_base_x_m_s": -0.05,
    }  # fmt: skip
    plant = Plant(flyer_pair({"simulation.initial": start, "simulation.table.ideal": True}))
    trees = [Tree(module) for module in plant.bed.modules]
    M = ca.diagcat(*(Dynamics(tree).mass_matrix for tree in trees))
    q, u = (ca.vertcat(*(getattr(tree, name) for tree in trees)) for name in ("q", "u"))
    energy = ca.Function("energy", [q, u], [u.T @ M @ u / 2])

    def balance() -> tuple[float, np.ndarray]:
        x, y, _ = (plant.q.reshape(2, 3)).T
        (vx, vy, w), m = plant.u.reshape(2, 3).T, 17.8
        spin = m * (x * vy - y * vx).sum() + 0.315 * w.sum()
        return float(energy(plant.q, plant.u)), np.array([m * vx.sum(), m * vy.sum(), spin])

    before, momentum = balance()
    plant.advance(4.0)
    after, kept = balance()
    assert plant.struck[0] > 0.1
    np.testing.assert_allclose(kept, momentum, atol=1e-9)
    assert 0.1 * before < after < 0.95 * before


@pytest.mark.slow
def test_both_forms_of_a_run_with_a_collision_are_equal() -> None:
    near = WALL | {"polygon_m": [[1.201, 0.0], [1.5, 0.0], [1.5, 3.0], [1.201, 3.0]]}
    bump = {"simulation.plant": {"safety": {"keep_out": [near]}}, "simulation.initial.base_x_m_s": 0.02}
    bed = load("atmos", {**bump, "behaviour.waypoints": [], "loop.duration_s": 0.4})
    assert assert_equal_to_the_bit(bed).reason is Reason.PASSED
    log = simulate_in_memory(bed)
    assert log.rows[-1, log.channels.columns("/truth", "struck")].min() > 0


@pytest.mark.parametrize("allowed", [False, True])
def test_a_collision_is_in_the_summary_and_the_exit_code(granite: Call, allowed: bool) -> None:
    changes = [
        "controller=none",
        "devices={}",
        "safety.age_s={}",
        "behaviour={kind='waypoints'}",
        "loop.duration_s=0.5",
    ]
    changes += [f"simulation.collisions.allowed={str(allowed).lower()}", "simulation.initial.base_x_m_s=0.1"]
    changes += ["safety.keep_out=[{name='post',disc={position_m=[1.31,1.0],radius_m=0.1}}]"]
    said = granite("sim", "atmos", "--json", *(f"--set={change}" for change in changes))
    assert said.code == (0 if allowed else 7)
    (collision,) = said.json["collisions"]
    assert collision["pair"] == "base to post"
    assert collision["speed_m_s"] == pytest.approx(0.1, rel=0.02)
    assert collision["impulse_n_s"] == pytest.approx(17.8 * 0.15, rel=0.03)
    assert allowed or "bodies collided: base to post at 0.1" in said.err


def test_a_robot_that_pushes_an_unknown_wall_is_noticed() -> None:
    wall = {"name": "wall", "polygon_m": [[1.3, 0.0], [1.5, 0.0], [1.5, 3.0], [1.3, 3.0]]}
    log = simulate_in_memory(load("atmos", {"simulation.plant": {"safety": {"keep_out": [wall]}}}))
    assert log.summary is not None
    touch = log.summary["collisions"][0]["t_s"]
    assert log.summary["ended"] in ("sensor_outliers", "motion_unexplained")
    assert log.summary["ended_at_s"] < touch + 2.0
    assert [event["name"] for event in log.events].count("collision") == len(log.summary["collisions"])


@pytest.mark.slow
def test_a_bumper_out_of_reach_leaves_the_disturbance_observer_on() -> None:
    bumper = {
        "name": "stop", "kind": "bumper", "parameters": {"radius_m": 0.2},
        "first": {"position_m": [4.9, 1.0], "rotation_rad": [0.0, 0.0, 3.14159]},
        "second": {"module": "vehicle", "point": "centre"},
    }  # fmt: skip
    points = [{"name": "centre", "body": "base", "position_m": [0.0, 0.0]}]
    bed = load("atmos/clean", {"contacts": [bumper], "modules.vehicle.points": points, "loop.duration_s": 5.0})
    assert bed.explains_motion
    log = simulate_in_memory(bed)
    disturbance = log.rows[-1, log.channels.columns("/state", "disturbance")]
    slope = 17.8 * 9.81 * 1e-4
    assert np.hypot(*disturbance[:2]) == pytest.approx(slope, rel=0.6)


def test_a_start_inside_a_wall_is_refused() -> None:
    inside = POST | {"disc": {"position_m": [1.1, 1.0], "radius_m": 0.1}}
    with pytest.raises(InputError, match=r"simulation\.initial: begins 0\..* m inside, base to post"):
        Plant(atmos(inside, 0.0))
