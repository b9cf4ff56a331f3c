"""The demo's move on its planned path: propellant and errors, in the honest lab and without friction of the joints.

`pytest tests/rt/whole_runs/test_planned_move.py -m study -s` prints what 100 seeds reach.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory

JOINTS = "modules.vehicle.joints"
#: those of `free-flyer/clean`
CLEAN: dict[str, Any] = {
    f"{JOINTS}.shoulder.friction_n_m": 0.0,
    f"{JOINTS}.elbow.friction_n_m": 0.0,
    "simulation.joint_friction": {"spread": 0.0, "sticks": False, "static_ratio": 1.0},
    "controller.estimator.joint_rad_s2_per_rthz": 0.02,
    "controller.estimator.disturbance.joint_time_s": 1.0,
    "controller.law.gains.joints": {"stiffness_1_s2": 16.0, "damping_1_s": 8.0},
}
#: of the approach and the path [s]
MOVE_S = 20.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(1, 3), pytest.param(range(2001, 2101), marks=pytest.mark.study)],
    ids=["two", "hundred"],
)  # fmt: skip
@pytest.mark.parametrize("lab", [{}, CLEAN], ids=["honest", "clean"])
def test_the_planned_move_takes_little_propellant_and_ends_near_its_target(lab: dict[str, Any], seeds: range) -> None:
    numbers = []
    for seed in seeds:
        log = simulate_in_memory(load("free-flyer/planned", {"seed": seed, **lab}))
        summary, truth = log.summary, log["/truth"]
        assert summary is not None
        assert summary["ended"] == "completed", summary["text"]
        last = {name: error["max_in_last_5_s"] for name, error in summary["tracking_error"].items()}
        moves = truth["t_s"] <= MOVE_S
        thrust = sum(truth[f"thrusters_r{i}_thrust_n"][moves].sum() for i in range(1, 9))
        numbers.append((thrust * 0.005, np.hypot(last["base_x"], last["base_y"]), last["base_heading"]))
    impulse = float(np.mean([first for first, _, _ in numbers]))
    metres, radians = np.percentile([rest for _, *rest in numbers], 95, axis=0)
    print(f"{len(seeds)} seeds: {impulse:.2f} N s in the mean; 95 %: {1e3 * metres:.2f} mm, {1e3 * radians:.2f} mrad")
    assert impulse <= 8.7
    assert metres <= 0.6e-3
    assert radians <= 1.2e-3
