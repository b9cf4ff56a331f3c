"""Two arms carry an object by 0.5 m and 90 degrees with imperfect motors: its final pose, its squeeze, the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.controllers.distribution.force_distribution import DistributedForce, ForceDistribution
from granite.controllers.distribution.grasp import Grasp
from granite.controllers.distribution.quadratic_program import Solution
from granite.controllers.laws.object_impedance import ObjectImpedance
from granite.logs.log import Log
from granite.rt.replay import replay
from granite.rt.run import Run
from granite.rt.run_in_memory import simulate_in_memory

SET_POINT, X, Y, HEADING = 2.5, 0.25, 0.28, np.pi / 4


def carried(seed: int, variant: str = "carry") -> tuple[float, float, float]:
    """Final errors of position [m] and heading [rad], and of the squeeze over the last second, relative."""
    log = simulate_in_memory(load(f"fixed-dual-arm/{variant}", {"seed": seed}))
    assert log.summary is not None
    assert log.summary["ended"] == "completed", log.summary["text"]
    assert log.summary["guard"].keys() <= {"passed", "waiting_for_sensors"}  # no grip slips
    truth = log["/truth"]
    position = np.hypot(truth.object_body_x_m[-1] - X, truth.object_body_y_m[-1] - Y)
    return float(position), abs(float(truth.object_body_heading_rad[-1]) - HEADING), squeeze_error(log)


def squeeze_error(log: Log) -> float:
    """By the true contact forces, on the object."""
    truth = log["/truth"]
    along = np.array([np.cos(truth.object_body_heading_rad), np.sin(truth.object_body_heading_rad)])
    left, right = (np.array([truth[f"{s}_grip_fx_n"], truth[f"{s}_grip_fy_n"]]) for s in ("left", "right"))
    squeeze = ((left - right) * along).sum(axis=0) / 2
    return float(np.abs(squeeze[-200:] / SET_POINT - 1).max())


def check(seeds: range, variant: str = "carry", most: float = 0.1) -> None:
    errors = np.array([carried(seed, variant) for seed in seeds])
    position, heading, squeeze = errors.max(axis=0)
    print(
        f"worst of {len(errors)}: {1e3 * position:.2f} mm, {np.degrees(heading):.3f} deg, squeeze {100 * squeeze:.1f} %"
    )
    assert position <= 1e-3
    assert heading <= np.radians(0.3)
    assert squeeze <= most


def test_the_object_arrives_with_the_chosen_squeeze() -> None:
    check(range(1, 3))


@pytest.mark.slow
@pytest.mark.study
def test_the_object_arrives_with_the_chosen_squeeze_for_a_hundred_seeds() -> None:
    check(range(1, 101))


def test_force_gauges_control_the_internal_force() -> None:
    check(range(1, 2), "carry-gauges", 0.03)


@pytest.mark.slow
@pytest.mark.study
def test_force_gauges_control_the_internal_force_for_a_hundred_seeds() -> None:
    check(range(1, 101), "carry-gauges", 0.03)


def test_every_answer_of_the_distribution_is_in_the_log_and_replays() -> None:
    log = simulate_in_memory(load("fixed-dual-arm/carry", {"loop.duration_s": 1.0}))
    demand = log["/demand"]
    assert set(demand.distribution_outcome[20:]) == {0.0}
    assert demand.distribution_iterations.max() <= 200
    for residual in ("primal_residual", "dual_residual", "gap"):
        assert demand[f"distribution_{residual}"][20:].max() < 1e-8
    along = np.array([np.cos(log["/state"].object_body_heading_rad), np.sin(log["/state"].object_body_heading_rad)])
    left, right = (np.array([demand[f"{s}_grip_fx_n"], demand[f"{s}_grip_fy_n"]]) for s in ("left", "right"))
    assert ((left - right) * along).sum(axis=0)[20:] / 2 == pytest.approx(SET_POINT, rel=1e-2)
    assert replay(log).first is None


def test_the_object_follows_the_reference_and_is_judged_by_it(tmp_path: Path) -> None:
    """Not the joints, which follow from it: in the summary of the recorder, in memory, and by the guard."""
    bed = load("fixed-dual-arm/carry", {"loop.duration_s": 2.0})
    names = ["object_body_x", "object_body_y", "object_body_heading"]
    assert list(simulate_in_memory(bed).summary["tracking_error"]) == names
    assert list(Run(bed).record(tmp_path / "run.mcap")["tracking_error"]) == names
    strict = simulate_in_memory(load("fixed-dual-arm/carry", {"safety.tracking_error_m": 1e-3})).summary
    assert strict["ended"] == "tracking_error"
    assert "object_body_" in strict["text"]


def carry_with_gauges(duration_s: float = 1.0, **law: object) -> Log:
    changes = {f"controller.law.{key}": value for key, value in law.items()}
    return simulate_in_memory(load("fixed-dual-arm/carry-gauges", {"loop.duration_s": duration_s, **changes}))


def test_gauges_are_in_the_log_and_replay() -> None:
    log = carry_with_gauges()
    assert log.summary["guard"].keys() <= {"passed", "waiting_for_sensors"}
    assert abs(log["/state"].force_gauges_left_grip_fx_tared_n[:40].mean()) < 0.01
    demand, truth = log["/demand"], log["/truth"]
    for axis in ("fx_n", "fy_n"):
        assert demand[f"left_grip_measured_{axis}"][-1] == pytest.approx(truth[f"left_grip_{axis}"][-1], abs=0.1)
    assert replay(log).first is None


def test_a_grip_beyond_its_friction_cone_is_named_and_the_run_goes_on() -> None:
    """Sideways the gripper has to carry the object's load: with little friction it would slip."""
    log = carry_with_gauges(5.0, **{"friction.coefficient": 1e-3})
    assert log.summary["ended"] == "completed"
    assert log.summary["guard"]["grip_slips"] > 10
    (event,) = [e for e in log.events if e["name"] == "grip_slips"][:1]
    assert event["level"] == "warning"
    assert "grip_friction_excess was" in event["text"]


def test_a_grip_that_pushes_too_little_is_named() -> None:
    assert carry_with_gauges(**{"friction.least_n": 10.0}).summary["guard"]["contact_lost"] > 10


def test_a_force_gauge_at_the_end_of_its_range_ends_the_run() -> None:
    summary = simulate_in_memory(load("fixed-dual-arm/carry-gauges", {"devices.force_gauges.range_n": 1.0})).summary
    assert summary["ended"] == "sensor_saturated"
    assert "grip_f" in summary["text"]


def test_gauges_that_are_missing_are_refused_by_the_grip() -> None:
    units = [{"contact": "left_grip"}]
    with pytest.raises(InputError, match="no force gauge measures fx and fy of grip 'right_grip'"):
        load("fixed-dual-arm/carry-gauges", {"devices.force_gauges.units": units})


def test_a_distribution_without_an_answer_ends_the_run_with_its_own_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = []

    def without_answer(self: ForceDistribution, grasp: Grasp) -> DistributedForce:
        problem = self.build_problem(grasp)
        unsolved = Solution(problem, np.zeros(4), -4, np.zeros(len(problem.upper)), 10)
        failures.append(self._nothing(10, (unsolved,)))
        return failures[-1]

    monkeypatch.setattr(ForceDistribution, "solve", without_answer)
    monkeypatch.delattr(ObjectImpedance, "compiled_form")  # it would not call a solver
    summary = simulate_in_memory(load("fixed-dual-arm/carry")).summary
    assert summary["ended"] == "distribution_failed"
    assert "distribution_status was -4, limit 1" in summary["text"]
    assert failures[-1].failed[0].status == "iteration limit"


@pytest.mark.slow
def test_limits_that_no_wrenches_keep_are_reported_and_the_run_continues() -> None:
    limits = ["torque", {"kind": "gripper_force", "force_n": 1e-3}]
    table = {"objective": ["joint_load_sharing"], "limit": limits}
    log = simulate_in_memory(
        load("fixed-dual-arm/carry", {"controller.law.distribution": table, "loop.duration_s": 2.0})
    )
    assert log.summary["ended"] == "completed"
    assert log.summary["guard"]["distribution_relaxed"] > 300
    event = next(e for e in log.events if e["name"] == "distribution_relaxed")
    assert "distribution_outcome was 1, limit 0" in event["text"]


@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        ({"translation.stiffness_1_s2": -1.0}, "translation.stiffness_1_s2 = -1.0: expected a number greater than 0"),
        ({"rotation.damping_1_s": [1.0, 2.0]}, "rotation.damping_1_s = [1.0, 2.0]: expected a number"),
        ({"internal_force.integral_1_s": -1.0}, "expected a number of at least 0"),
        ({"internal_force.integral_1_s": 300.0}, "expected at most 1 / loop.period_s = 200"),
        ({"friction.coefficient": 0.0}, "expected a number greater than 0"),
        (
            {"distribution.limit": [{"kind": "one_sided", "least_n": 5.0}, {"kind": "gripper_force", "force_n": 2.0}]},
            "distribution.limit.0.least_n = 5.0: contradicts limit.1 (gripper_force), expected at most its force_n = 2",
        ),
    ],
)
def test_gains_and_limits_that_can_not_be_are_refused(law: dict[str, object], sentence: str) -> None:
    changes = {f"controller.law.{key}": value for key, value in law.items()}
    with pytest.raises(InputError) as refusal:
        Run(load("fixed-dual-arm/carry-gauges", changes))
    assert sentence in str(refusal.value)


def test_the_estimate_starts_when_the_joints_report_though_that_is_later_than_the_first_tick() -> None:
    silent = {"kind": "fault", "device": "joint_sensors", "what": "silent", "at_s": 0.0, "duration_s": 0.01}
    log = simulate_in_memory(load("fixed-dual-arm/carry", {"simulation.events": [silent], "loop.duration_s": 0.1}))
    assert log.summary["ended"] == "completed", log.summary["text"]
