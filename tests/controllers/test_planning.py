"""Planned paths: their equations, limits between nodes, refusals, cache, and the law that coasts along them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.footprints import guarded_pairs
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.testbed import Testbed
from granite.controllers.behaviours import planned as planned_module
from granite.controllers.behaviours.planned import planned, with_plan
from granite.controllers.behaviours.zone_check import ZoneCheck
from granite.controllers.model import ControlModel
from granite.controllers.planning.momentum import MomentumModel
from granite.controllers.thrusters.geometry import thruster_matrix
from granite.mrds.clearance import Clearances
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit
from tests.support.flyer_pair import flyer_pair

TARGET = {"base_x_m": 2.0, "base_y_m": 1.3, "base_heading_rad": 1.57, "shoulder_rad": -0.2, "elbow_rad": 1.4}
LEVEL = {"simulation.table.ideal": True}


def bed(options: dict[str, Any] | None = None, changes: dict[str, Any] | None = None) -> Testbed:
    behaviour = {"kind": "planned", "target": TARGET, "duration_s": 20.0, "nodes": 40, **(options or {})}
    return load("free-flyer", {"behaviour": behaviour, **(changes or {})})


def test_momentum_coordinates_have_the_motion_of_the_whole_model() -> None:
    model = ControlModel(bed(changes=LEVEL))
    momentum, rng = MomentumModel(model), np.random.default_rng(1)
    inverse = model.compile_inverse()
    for _ in range(5):
        q, u, thrust, bending = rng.normal(size=5), rng.normal(size=5), rng.uniform(0, 1, 8), rng.normal(size=2)
        state = momentum.state(q, u)
        q_again, u_again, a = (np.array(part).ravel() for part in momentum.motion(state, [*thrust, *bending]))
        np.testing.assert_allclose([q_again, u_again], [q, u], atol=1e-12)
        _, _, wrench = inverse(q, u, a)
        (device,) = (momentum.model.bed.devices["thrusters"],)
        np.testing.assert_allclose(wrench, thruster_matrix(device, "planar") @ thrust, atol=1e-9)  # type: ignore[arg-type]
        np.testing.assert_allclose(a[3:], bending, atol=1e-12)


def test_a_step_of_a_path_is_of_fourth_order() -> None:
    model = MomentumModel(ControlModel(bed()))
    x, a, b, h = ca.SX.sym("x", model.n), ca.SX.sym("a", 5), ca.SX.sym("b", 5), ca.SX.sym("h")
    step, rng = ca.Function("step", [x, a, b, h], [model.step(x, a, b, h)]), np.random.default_rng(2)

    def rate(motion: np.ndarray, controls: np.ndarray) -> np.ndarray:
        _, u, a = model.motion(model.state(*np.split(motion, 2)), controls)
        return np.array(ca.vertcat(u, a)).ravel()

    for _ in range(3):
        first, last = (np.array([*rng.uniform(0, 1, 8), *rng.normal(size=2) / 2]) for _ in range(2))
        start = motion = 0.3 * rng.normal(size=10)
        for i in range(100):  # Runge-Kutta of the coordinates themselves, 5 ms a step
            before, middle, after = (first + (last - first) * (i + part) / 100 for part in (0.0, 0.5, 1.0))
            k1 = rate(motion, before)
            k2 = rate(motion + 0.0025 * k1, middle)
            k3 = rate(motion + 0.0025 * k2, middle)
            motion = motion + 0.005 / 6 * (k1 + 2 * k2 + 2 * k3 + rate(motion + 0.005 * k3, after))
        exact, errors = np.array(model.state(*np.split(motion, 2))).ravel(), []
        for parts in (1, 2):
            reached = model.state(*np.split(start, 2))
            for i in range(parts):
                ends = (first + (last - first) * (i + part) / parts for part in (0, 1))
                reached = step(reached, *(ca.vertcat(model.directions @ c[:8], c[8:]) for c in ends), 0.5 / parts)
            errors.append(float(np.abs(np.array(reached).ravel() - exact).max()))
        assert errors[0] < 2e-5
        assert errors[1] < errors[0] / 8


def test_a_planned_move_costs_less_than_a_trapezoid_and_no_less_than_any() -> None:
    plan = planned(bed(changes=LEVEL))
    assert 5.77 < plan.impulse < 8.2  # 9.16 N s on the trapezoid; 5.77 is the least of all trajectories
    assert plan.path.end == 20.0
    np.testing.assert_allclose(plan.path.motions[-1, 0], list(TARGET.values()))
    # Between knots the path is one motion: its rate is the change of its position.
    times = np.linspace(0.0, 20.0, 4001)
    samples = [plan.path.at(t) for t in times]
    moved = np.diff([q for q, _, _ in samples], axis=0) / np.diff(times)[:, None]
    np.testing.assert_allclose(moved[:-1], np.array([u for _, u, _ in samples])[:-2], atol=5e-3)


def test_a_plan_is_kept_and_replaces_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    once = with_plan(bed({"nodes": 20}))
    monkeypatch.setattr(planned_module, "planned", lambda bed: pytest.fail("planned again"))
    assert with_plan(bed({"nodes": 20})) == once  # from the cache
    assert with_plan(once) == once  # as from a log
    with pytest.raises(pytest.fail.Exception, match="planned again"):
        with_plan(once.with_changes({"behaviour.target.base_x_m": 1.9}))


@pytest.mark.parametrize(
    ("options", "changes", "sentence"),
    [
        ({"duration_s": None}, {}, r"duration_s.*for the least propellant"),
        ({"objective": "time"}, {}, r"duration_s.*expected none, because time finds it"),
        ({"target": {"base_z_m": 1.0}}, {}, r"behaviour\.target\.base_z_m: no such coordinate"),
        ({"target": {"base_x_m": 9.0}}, {}, r"behaviour\.target\.base_x_m: expected 0\.3 to 3\.36"),
        pytest.param(
            {"duration_s": 4.0, "nodes": 20}, {}, "no path was found.*a longer duration_s", marks=pytest.mark.slow
        ),
        (
            {},
            {"safety.keep_out": [{"name": "post", "disc": {"position_m": [2.0, 1.8], "radius_m": 0.1}}]},
            r"behaviour\.target: at 20.5 s upper_arm to post: .* inside",
        ),
    ],
)
def test_what_can_not_be_planned_is_refused(options: dict[str, Any], changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        planned(bed(options, changes))


@pytest.mark.slow
def test_a_plan_around_zones_keeps_its_clearance_between_nodes_and_when_it_is_flown() -> None:
    zones = [
        {"name": "post", "disc": {"position_m": [1.9, 0.85], "radius_m": 0.12}},
        {"name": "wall", "polygon_m": [[1.0, 1.5], [1.3, 1.5], [1.3, 1.9], [1.0, 1.9]]},
    ]
    testbed = bed({"duration_s": 30.0}, {"safety.keep_out": zones, "loop.duration_s": 33.0})
    plan = planned(testbed)
    clearances = Clearances(guarded_pairs(testbed), testbed.known)
    q = ca.SX.sym("q", 5)
    distances = ca.Function("distances", [q], [clearances.distances(q)])
    poses = np.array([plan.path.at(t)[0] for t in np.arange(0.0, 30.0, 0.01)])
    assert np.array(distances(poses.T)).min() >= testbed.safety.clearance_m - 1e-6
    log = simulate_in_memory(testbed)
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert np.array(distances(log.rows[:, log.channels.columns("/truth", "q")].T)).min() >= 0.01


@pytest.mark.slow
def test_a_path_that_could_not_be_braked_is_planned_with_its_brakes() -> None:
    """Among these discs no margin about the path alone is enough (problem 15 of `benchmarks planning`)."""
    start, goal = (2.786, 1.378, 0.45, 0.645, -1.665), (0.646, 0.552, -1.573, -0.734, -1.806)
    places = ((2.0701, 1.4873, 0.202), (0.4251, 1.3864, 0.143), (0.4143, 1.9128, 0.284))
    zones = [{"name": f"disc{i}", "disc": {"position_m": [x, y], "radius_m": r}} for i, (x, y, r) in enumerate(places)]
    target, initial = (dict(zip(TARGET, pose, strict=True)) for pose in (goal, start))
    options = {"target": target, "duration_s": 30.0, "nodes": 60, "joint_rate_rad_s": 0.6}
    testbed = bed(
        {**options, "joint_acceleration_rad_s2": 0.5}, {"safety.keep_out": zones, "simulation.initial": initial}
    )
    plan = planned(testbed)
    assert plan.impulse < 11.5
    times = np.arange(0.0, 30.0, 0.02)
    samples = [(t, *plan.path.at(t)[:2]) for t in times.tolist()]
    ZoneCheck(ControlModel(testbed), compiled=False).refuse(samples, 0.65)


def exchanging(**options: Any) -> Testbed:
    """Two free-flyers change places on a line."""
    target = {"a_base_x_m": 4.0, "b_base_x_m": 1.0}
    behaviour = {"kind": "planned", "target": target, "duration_s": 30.0, "nodes": 40, **options}
    return flyer_pair({"behaviour": behaviour, "loop.duration_s": 40.0})


def test_the_second_of_two_robots_is_planned_around_the_path_of_the_first() -> None:
    testbed = exchanging()
    plan = planned(testbed)
    times = np.arange(0.0, 30.0, 0.05)
    poses = np.array([plan.path.at(t)[0] for t in times])
    aside_a, aside_b = np.abs(poses[:, [1, 4]] - 2.0).max(axis=0)
    np.testing.assert_allclose(poses[-1, [0, 1, 3, 4]], [4.0, 2.0, 1.0, 2.0], atol=1e-3)
    assert aside_a < 0.1  # it knows nothing of the other one
    assert aside_b > 0.3
    clearances = Clearances(guarded_pairs(testbed), testbed.known)
    q = ca.SX.sym("q", poses.shape[1])
    distances = ca.Function("distances", [q], [clearances.distances(q)])
    assert np.array(distances(poses.T)).min() >= testbed.safety.clearance_m - 1e-6


def test_several_robots_need_one_duration() -> None:
    with pytest.raises(InputError, match=r"behaviour\.duration_s: several robots move, expected one time"):
        planned(exchanging(objective="time", duration_s=None))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [401, 402, 403])
def test_planned_robots_change_places_without_a_collision(seed: int) -> None:
    log = simulate_in_memory(exchanging().with_changes({"seed": seed}))
    summary, truth = log.summary, log["/truth"]
    assert summary is not None
    assert summary["ended"] == "completed", summary["text"]
    assert not summary.get("collisions")
    ends = [truth[f"{name}_base_{axis}_m"][-1] for name in "ab" for axis in "xy"]
    np.testing.assert_allclose(ends, [4.0, 2.0, 1.0, 2.0], atol=4e-3)


def test_a_flight_that_coasts_is_equal_to_the_bit_in_both_forms() -> None:
    coast = {"gains": {"base": {"stiffness_1_s2": 0.08, "damping_1_s": 0.5}}}
    testbed = bed({"nodes": 20}, {"controller.law.coast": coast, "loop.duration_s": 3.0})
    assert assert_equal_to_the_bit(with_plan(testbed)).reason is Reason.PASSED
