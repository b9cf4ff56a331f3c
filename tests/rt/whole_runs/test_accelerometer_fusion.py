"""An accelerometer with drawn biases, beside runs without one: errors, consistency, biases, and unknown forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import granite

ERRORS = {"bias_deviation_m_s2": 0.02, "bias_walk_m_s2_per_rts": 1e-4}
ACCELEROMETER = {"devices.accelerometer": {"position_m": [0.0, 0.0], "angle_rad": 0.3, "simulated": ERRORS}}
PUSHES = {
    "simulation.events": [
        {"kind": "push", "at_s": t, "duration_s": 0.6, "body": "base", "force_n": [1.0, -0.7]} for t in (7.0, 9.0)
    ]
}
HOSE = {"simulation.hoses": [{"stiffness_n_m": 0.5, "anchor_spread_m": 0.3}]}
SLOPE = {"simulation.table.tilt_g": 1e-4}


def flights(changes: dict[str, Any], seeds: range) -> np.ndarray:
    """Mean squares from 6 s on: errors of x, y and of their rates, the same by deviations; errors of the biases."""
    rows = []
    for seed in seeds:
        log = granite.simulate(granite.load("free-flyer", {"loop.duration_s": 12.0, "seed": seed, **changes}))
        assert log.summary["ended"] == "completed", log.summary["reason"]
        truth, state, late, row = log["/truth"], log["/state"], log.t >= 6.0, []
        for axis in "xy":
            for signal, deviation in (
                (f"base_{axis}_m", f"base_{axis}_deviation_m"),
                (f"base_{axis}_m_s", f"base_{axis}_rate_deviation_m_s"),
            ):
                error = (getattr(state, signal) - getattr(truth, signal))[late]
                row += [np.mean(error**2), np.mean((error / getattr(state, deviation)[late]) ** 2)]
        rows.append(row)
    return np.array(rows)


def compared(changes: dict[str, Any], seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Errors with an accelerometer by those without, and their NEES, of x, its rate, y and its rate."""
    without, fused = (flights({**changes, **more}, seeds) for more in ({}, ACCELEROMETER))
    before, after = (1e3 * np.sqrt(rows[:, ::2].mean(axis=0)) for rows in (without, fused))
    nees = [rows[:, 1::2].mean(axis=0) for rows in (without, fused)]
    print(f"{changes}: rms [mm, mm/s] {before.round(3)} without, {after.round(3)}; NEES {nees[0]}, {nees[1]}")
    return after / before, nees[1]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [20, pytest.param(100, marks=pytest.mark.study)], ids=["few", "hundred"])
def test_an_accelerometer_makes_pose_and_rate_better_and_their_deviations_stay_those_of_the_errors(seeds: int) -> None:
    ratio, nees = compared({}, range(3000, 3000 + seeds))
    assert (ratio[[0, 2]] < 0.9).all()
    assert (ratio[[1, 3]] < 0.8).all()
    # Errors of a flight are correlated: about five independent ones in 6 s.
    chance = 3 * np.sqrt(2 / (5 * seeds)) if seeds < 100 else 0.0
    assert ((nees > 0.74 - chance) & (nees < 1.3 + chance)).all(), nees


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "most"), [(PUSHES, 0.25), (HOSE, 0.8), (SLOPE, 1.0)], ids=["push", "hose", "slope"]
)
def test_a_force_that_the_model_does_not_have_is_seen_at_once(changes: dict[str, Any], most: float) -> None:
    quiet = {"safety.monitor.judges_motion": False} if changes is PUSHES else {}
    ratio, _ = compared({**changes, **quiet}, range(3000, 3012))
    assert (ratio[[1, 3]] < most).all(), ratio


@pytest.mark.slow
def test_biases_are_found() -> None:
    errors = []
    for seed in range(3000, 3020):
        log = granite.simulate(
            granite.load(
                "free-flyer", {"loop.duration_s": 12.0, "seed": seed, "simulation.table.ideal": True, **ACCELEROMETER}
            )
        )
        # What is measured in the mean, less the mean of the true acceleration in the axes of the sensor.
        truth, late = log["/truth"], slice(400, None)
        velocity = np.column_stack((truth.base_x_m_s, truth.base_y_m_s))
        a, heading = np.diff(velocity, axis=0) / 0.005, truth.base_heading_rad
        angle = (heading[1:] + heading[:-1]) / 2 + 0.3
        c, s = np.cos(angle), np.sin(angle)
        true = np.column_stack((c * a[:, 0] + s * a[:, 1], -s * a[:, 0] + c * a[:, 1]))
        sample, state = log["/sample"], log["/state"]
        for i, axis in enumerate("xy"):
            measured = getattr(sample, f"accelerometer_base_{axis}_accelerometer_m_s2")[1:]
            found = getattr(state, f"accelerometer_base_{axis}_accelerometer_bias_m_s2")[2000]
            errors.append(found - (measured - true[:, i])[late].mean())
    rms = np.sqrt(np.mean(np.square(errors)))
    print(f"bias after 10 s: {rms:.1e} m/s2 off (rms of 40)")
    assert rms < 5e-4
