"""Moves are checked before they start: too fast ones are refused or stretched, impossible ones refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import State
from granite.controllers.model import ControlModel
from granite.controllers.stack import build_stack
from granite.controllers.thrusters.reach import reach

FAST = "behaviour.waypoints=[{duration_s=8, hold_s=2, target={base_x_m=2.0}}]"


def refusal(*changes: str) -> str:
    with pytest.raises(InputError) as refused:
        build_stack(load("free-flyer", list(changes)))
    return str(refused.value)


def test_every_wrench_of_a_random_thrust_is_in_reach_and_a_larger_one_is_not():
    rng = np.random.default_rng(4)
    for _ in range(20):
        matrix, available = rng.standard_normal((3, 7)), rng.uniform(0.5, 2.0, 7)
        in_reach = reach(matrix, available)
        for _ in range(20):
            wrench = matrix @ (available * rng.uniform(size=7))
            assert in_reach.factor(wrench) >= 1 - 1e-9
        corner = max(np.eye(3), key=lambda n: np.maximum(n @ matrix * available, 0).sum())
        limit = matrix @ (available * (corner @ matrix > 0))
        assert in_reach.factor(limit) == pytest.approx(1.0)


def test_a_move_that_is_too_fast_is_refused_with_its_least_duration():
    text = refusal(FAST)
    assert "behaviour.waypoints.0.duration_s = 8" in text
    assert "times the thrust of thrusters in its direction" in text
    least = float(text.split("at least ")[1].split(",")[0])
    # minimum jerk: peak acceleration 5.7735 A / T^2, two thrusters of 1 N on 52 kg
    assert least == pytest.approx(np.sqrt(5.7735 * 1.0 * 52 / 2), rel=0.1)
    build_stack(load("free-flyer", [FAST.replace("duration_s=8", f"duration_s={least + 0.1}")]))


def test_a_move_that_is_too_fast_is_stretched():
    stack = build_stack(load("free-flyer", [FAST, "behaviour.stretch=true"]))
    q = np.array([1.0, 0.8, 0.0, 0.4, 0.9])
    zero, start = np.zeros(5), 1.0
    at = [stack.behaviour.decide(State(start + t, True, q, zero, zero, np.zeros(2))) for t in (0.0, 8.0, 20.0)]
    assert at[1].q[0] < 1.95
    assert at[2].q[0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("base_x_m=9.0", "target.base_x_m = 9.0: expected 0.3 to 3.36, as safety.table_m allows"),
        ("elbow_rad=2.9", "target.elbow_rad = 2.9: expected -2.6 to 2.6, as safety.joints allows"),
    ],
)
def test_a_target_outside_the_limits_is_refused(target, said):
    assert said in refusal(f"behaviour.waypoints=[{{duration_s=100, target={{{target}}}}}]")


def test_a_move_faster_than_the_guard_allows_is_refused():
    text = refusal("safety.base_speed_m_s=0.02")
    assert "times the speed safety.base_speed_m_s, expected at least" in text


def test_a_layout_without_a_needed_force_is_refused_by_name():
    lost = [f"devices.thrusters.units.{name}.failed=true" for name in ("r4", "r5")]
    assert "thrusters can't produce +fx" in refusal(*lost)


def test_a_stretched_move_uses_the_whole_limit_and_no_more():
    from granite.controllers.behaviours.move_check import MoveCheck
    from granite.controllers.trajectories.leg import Leg

    check = MoveCheck(ControlModel(load("free-flyer")))
    start = np.array([1.0, 0.8, 0.0, 0.4, 0.9])
    leg = Leg(np.array([2.0, 1.3, 1.5, -0.2, 1.4]), 5.0, 0.0, 2.0)
    (longer,) = check.feasible(start, [leg], stretch=True)
    path = longer.segment(start, leg.target, 0.0)
    needed = check.needs([path.at(t) for t in np.linspace(0.0, longer.duration_s, 41)])
    assert max(need.ratio for need in needed) == pytest.approx(1.0, abs=1e-4)
    assert longer.ramp_s == pytest.approx(longer.duration_s * 2 / 5)
