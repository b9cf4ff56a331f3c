"""The predictive law: its programme against a simulation of its own model, its rows, and flights beside another law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array, Reference, State
from granite.controllers.laws.predictive import PredictiveControl
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory


def law(name: str = "atmos", **changes: Any) -> PredictiveControl:
    bed = load(name, {"controller.law": {"kind": "predictive"}, **changes})
    built = build_stack(bed).law
    assert isinstance(built, PredictiveControl)
    return built


def at(q: Array, u: Array, goal: Array) -> tuple[State, Reference]:
    zero = np.zeros(len(q))
    state = State(0.0, True, q, u, zero, np.zeros(1), disturbance=zero)
    return state, Reference(0.0, goal, zero, zero, False)


def staying(reference: Reference) -> Any:
    return lambda times: [reference._replace(t=t) for t in times]


@pytest.mark.parametrize("seed", range(4))
def test_the_cost_is_that_of_the_predicted_motion(seed: int) -> None:
    """The programme's cost for any thrusts, against the double integrator stepped through them."""
    one, rng = law(), np.random.default_rng(seed)
    q, u, goal = np.array([2.0, 2.0, 0.3]), 0.05 * rng.normal(size=3), np.array([2.1, 1.9, 0.2])
    state, reference = at(q, u, goal)
    prediction = one.predict(state, reference, staying(reference))
    H, f = prediction.programme.H, prediction.programme.f
    options, costs = PredictiveControl.Options(kind="predictive"), []
    thrusts = rng.uniform(0.0, 1.5, size=(2, 12, 8))
    for thrust in thrusts:
        p, v, cost = q.copy(), u.copy(), 0.0
        for k in range(12):
            a = prediction.W[k] @ thrust[k] + prediction.b[k]
            p, v = p + 0.25 * v + a * 0.25**2 / 2, v + 0.25 * a
            cost += options.position_1_m2 * ((p - goal)[:2] ** 2).sum() + options.heading_1_rad2 * (p - goal)[2] ** 2
            cost += options.velocity_s2_m2 * (v[:2] ** 2).sum() + options.rate_s2_rad2 * v[2] ** 2
            cost += options.thrust_1_n2 * (thrust[k] ** 2).sum() + options.propellant_1_n * thrust[k].sum()
        costs.append(cost)
    x, y = thrusts.reshape(2, -1)
    programme = [2 * (z @ H @ z / 2 + f @ z) for z in (x, y)]
    assert programme[0] - programme[1] == pytest.approx(costs[0] - costs[1], rel=1e-9)


def test_the_solution_is_optimal() -> None:
    one = law()
    state, reference = at(np.array([2.0, 2.0, 0.3]), np.array([0.05, 0.0, 0.0]), np.array([2.3, 1.9, 0.0]))
    solution = one.solve(state, reference, staying(reference))
    assert solution.is_optimal
    assert solution.dual_residual < 1e-6
    assert solution.primal_residual < 1e-6


def test_a_goal_behind_a_disc_is_not_reached_through_it() -> None:
    """The rows keep the predicted base outside, at the cost of the goal."""
    post = {"name": "post", "disc": {"position_m": [2.6, 2.0], "radius_m": 0.1}}
    one = law(**{"safety.keep_out": [post], "behaviour.check_moves": False})
    state, reference = at(np.array([2.0, 2.0, 0.0]), np.array([0.1, 0.0, 0.0]), np.array([2.6, 2.0, 0.0]))
    prediction = one.predict(state, reference, staying(reference))
    thrust = prediction.programme.solve(rho_soft=1e-8).x.reshape(12, 8)
    p, v = state.q.copy(), state.u.copy()
    for k in range(12):
        a = prediction.W[k] @ thrust[k] + prediction.b[k]
        p, v = p + 0.25 * v + a * 0.25**2 / 2, v + 0.25 * a
        assert p[0] < 2.6 - 0.1 - 0.2 - 0.02 + 1e-3


def test_a_flight_with_preview_replays() -> None:
    log = simulate_in_memory(load("atmos/clean", {"controller.law": {"kind": "predictive"}, "loop.duration_s": 2.0}))
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert replay(log).first is None


@pytest.mark.slow
def test_a_flight_with_preview_ends_at_the_goal_and_replays() -> None:
    log = simulate_in_memory(load("atmos/clean", {"controller.law": {"kind": "predictive"}, "loop.duration_s": 24.0}))
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    errors = {name: error["max_in_last_5_s"] for name, error in log.summary["tracking_error"].items()}
    assert max(errors["base_x"], errors["base_y"]) < 4e-3
    assert errors["base_heading"] < 10e-3
    assert replay(log).first is None


def test_without_preview_the_reference_goes_on_at_its_rate() -> None:
    one = law()
    state, reference = at(np.array([2.0, 2.0, 0.0]), np.array([0.1, 0.0, 0.0]), np.array([2.0, 2.0, 0.0]))
    moving = reference._replace(u=np.array([0.1, 0.0, 0.0]))
    assert np.abs(one.solve(state, moving, lambda times: None).x).max() < 0.05
    assert np.abs(one.solve(state, reference, staying(reference)).x).max() > 0.5


@pytest.mark.parametrize(
    ("name", "problem"),
    [("two-flyers", "knows 2 modules"), ("two-arm-carry", "knows 2 modules"), ("fixed-dual-arm", "modules")],
)
def test_other_robots_are_refused(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        PredictiveControl(PredictiveControl.Options(kind="predictive"), ControlModel(load(name)))


def test_a_base_that_can_not_stop_at_the_edge_brakes_as_well_as_it_can() -> None:
    """Soft rows that cost too much were infeasible to the solver: 46 of 200 such states."""
    one, rng = law("free-flyer"), np.random.default_rng(0)
    for _ in range(60):
        q, u = np.array([*rng.uniform(1.0, 2.0, 2), *rng.uniform(-3, 3, 3)]), 0.05 * rng.normal(size=5)
        q[1], u[1] = 2.44 - 0.03 * rng.uniform(), 0.1 + 0.05 * rng.uniform()
        state, reference = at(q, u, q + 0.03 * rng.normal(size=5))
        solution = one.solve(state, reference, staying(reference))
        assert solution.is_optimal, solution.status
        prediction = one.predict(state, reference, staying(reference))
        assert (prediction.W[0] @ solution.x[:8])[1] < 0.0  # it brakes
