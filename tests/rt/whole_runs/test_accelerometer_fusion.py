"""An accelerometer with drawn biases, beside runs without one: errors, consistency, biases, and unknown forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import granite
from granite.rt.run_in_memory import simulate_in_memory

ERRORS = {"bias_deviation_m_s2": 0.02, "bias_walk_m_s2_per_rts": 1e-4}
ACCELEROMETER = {"devices.accelerometer": {"position_m": [0.0, 0.0], "angle_rad": 0.3, "simulated": ERRORS}}
LEVER = {"devices.accelerometer": {**ACCELEROMETER["devices.accelerometer"], "position_m": [0.1, 0.0]}}
PUSHES = {
    "safety.monitor.judges_motion": False,
    "simulation.events": [
        {"kind": "push", "at_s": t, "duration_s": 0.6, "body": "base", "force_n": [1.0, -0.7]} for t in (7.0, 9.0)
    ],
}
HOSE = {"simulation.hoses": [{"stiffness_n_m": 0.5, "anchor_spread_m": 0.3}]}
SLOPE = {"simulation.table.tilt_g": 1e-4}


def flights(changes: dict[str, Any], seeds: range) -> np.ndarray:
    """Mean squares from 6 s on, of each seed: errors of x, y, heading and of their rates; the same by deviations."""
    rows = []
    for seed in seeds:
        bed = granite.load("free-flyer", {"loop.duration_s": 12.0, "seed": seed, **changes})
        log = simulate_in_memory(bed, keep=False)
        late = log.rows[1200:]
        assert late[-1, log.channels.columns("/sample", "t")] > 11.9
        truth, state, deviations = (
            np.hstack([late[:, log.channels.columns(topic, entry)][:, :3] for entry in entries])
            for topic, entries in (
                ("/truth", ("q", "u")),
                ("/state", ("q", "u")),
                ("/state", ("deviation", "rate_deviation")),
            )
        )
        squares = (state - truth) ** 2
        rows.append([squares.mean(axis=0), (squares / deviations**2).mean(axis=0)])
    return np.array(rows)


def compared(changes: dict[str, Any], sensor: dict[str, Any], seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Errors with an accelerometer by those without, and their NEES, of x, y, heading and their rates."""
    without, fused = (flights({**changes, **more}, seeds) for more in ({}, sensor))
    before, after = (1e3 * np.sqrt(rows[:, 0].mean(axis=0)) for rows in (without, fused))
    nees = [rows[:, 1].mean(axis=0) for rows in (without, fused)]
    print(f"rms [mm, mrad, mm/s, mrad/s] {before.round(3)} without, {after.round(3)}; NEES {nees[0]}, {nees[1]}")
    return after / before, nees[1]


#: what an accelerometer at the centre, and one beside it, measure of x, y, heading
CENTRE, BESIDE = [0, 1, 3, 4], [0, 1, 2, 3, 4, 5]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [20, pytest.param(100, marks=pytest.mark.study)], ids=["few", "hundred"])
@pytest.mark.parametrize("changes", [{}, PUSHES], ids=["quiet", "pushed"])
@pytest.mark.parametrize(("sensor", "measured"), [(ACCELEROMETER, CENTRE), (LEVER, BESIDE)], ids=["centre", "beside"])
def test_an_accelerometer_makes_pose_and_rate_better_and_their_deviations_stay_those_of_the_errors(
    sensor: dict[str, Any], measured: list[int], changes: dict[str, Any], seeds: int
) -> None:
    ratio, nees = compared(changes, sensor, range(6000, 6000 + seeds))
    assert (ratio[[0, 1]] < 0.9).all()
    assert (ratio[[3, 4]] < (0.2 if changes else 0.8)).all()
    # Errors of a flight are correlated: about five independent ones in 6 s.
    chance = 3 * np.sqrt(2 / (5 * seeds)) if seeds < 100 else 0.0
    assert ((nees > 0.74 - chance) & (nees < 1.3 + chance))[measured].all(), nees


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "most"), [(HOSE, 0.8), (SLOPE, 1.0)], ids=["hose", "slope"])
def test_a_force_that_the_model_does_not_have_is_seen_at_once(changes: dict[str, Any], most: float) -> None:
    ratio, _ = compared(changes, ACCELEROMETER, range(3000, 3012))
    assert (ratio[[3, 4]] < most).all(), ratio


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
            bias = getattr(state, f"accelerometer_base_{axis}_accelerometer_bias_m_s2")[2000]
            errors.append(bias - (measured - true[:, i])[late].mean())
    rms = np.sqrt(np.mean(np.square(errors)))
    print(f"bias after 10 s: {rms:.1e} m/s2 off (rms of 40)")
    assert rms < 5e-4
