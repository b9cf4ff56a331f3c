"""The reported deviations are those of the errors: NEES of base and joints within the 95 % band of so many seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from granite.config.loader import load
from granite.config.records import Array
from granite.rt.run_in_memory import simulate_in_memory

#: offsets of poses that a lens leaves, and biases of a gyro: the seed draws them
LENS = {"devices.vision.position_offset_m": 3e-4, "devices.vision.heading_offset_rad": 1e-3}
OTHERS = "two-arm-free-flyer", "stanford-free-flyer", "spot", "spot/arm", "atmos", "astrobee", "free-flyer/harsh"
GYRO = {"devices.gyro": {"simulated": {"bias_deviation_rad_s": 0.01, "bias_walk_rad_s_per_rts": 1e-5}}}


def errors_of(bed: str, seeds: int, changes: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Mean over seeds and time of (error / deviation)^2 of each coordinate and of each rate, and rms of the rates."""
    squares, of_rates, rates = [], [], []
    for seed in range(1, seeds + 1):
        loaded = load(bed, {"seed": seed, **changes})
        log = simulate_in_memory(loaded, keep=False)
        rows = log.rows[round(3.0 / loaded.loop.period_s) :]  # velocities are not known at the start
        q, u = (rows[:, log.channels.columns("/truth", entry)] for entry in ("q", "u"))
        q_hat, u_hat, deviation, of_rate = (
            rows[:, log.channels.columns("/state", entry)] for entry in ("q", "u", "deviation", "rate_deviation")
        )
        squares.append((((q_hat - q) / deviation) ** 2).mean(axis=0))
        of_rates.append((((u_hat - u) / of_rate) ** 2).mean(axis=0))
        rates.append(((u_hat - u) ** 2).mean(axis=0))
    return np.mean(squares, axis=0), np.mean(of_rates, axis=0), np.sqrt(np.mean(rates, axis=0))


def band(seeds: int) -> tuple[float, float]:
    """Where the mean of (error / deviation)^2 over the seeds is with 95 % at one instant (Bar-Shalom, 2001, 5.4)."""
    low, high = chi2.ppf([0.025, 0.975], seeds) / seeds
    return float(low), float(high)


def assert_consistent(bed: str, seeds: int, changes: dict[str, Any]) -> Array:
    nees, of_rates, rates = errors_of(bed, seeds, changes)
    low, high = band(seeds)
    print(f"{bed}: NEES {nees} of coordinates, {of_rates} of rates; band {low:.2f} to {high:.2f}")
    known = np.concatenate([nees[:3], of_rates])
    assert ((known > low) & (known < high)).all(), known
    if len(nees) == 3:
        return rates
    # An offset is one number of a run: of n of them the mean square is known to sqrt(2 / n).
    allowed = 3 * np.sqrt(2 / (seeds * len(nees[3:])))
    assert abs(nees[3:].mean() - 1) < allowed, nees
    return rates


def test_deviations_contain_the_offsets_of_joint_sensors() -> None:
    assert_consistent("free-flyer", 60, {"loop.duration_s": 3.1})


@pytest.mark.slow
def test_offsets_beyond_the_stated_deviation_show() -> None:
    worse = {"loop.duration_s": 3.1, "simulation.plant.devices.joint_sensors.angle_offset_rad": 1.6e-3}
    nees, *_ = errors_of("free-flyer", 40, worse)
    assert nees[3:].mean() > 2.5, nees


@pytest.mark.slow
def test_without_friction_rates_of_joints_are_better_than_measured() -> None:
    *_, rates = errors_of("free-flyer/clean", 3, {})
    assert (rates[3:] < load("free-flyer").devices["joint_sensors"].rate_noise_rad_s).all(), rates


@pytest.mark.slow
@pytest.mark.study
@pytest.mark.parametrize(
    ("bed", "changes"),
    [("free-flyer", {}), ("free-flyer", GYRO), ("free-flyer", LENS), *((bed, {}) for bed in OTHERS)],
    ids=["free-flyer", "gyro", "lens", *OTHERS],
)
def test_estimates_of_a_hundred_seeds_are_consistent(bed: str, changes: dict[str, Any]) -> None:
    assert_consistent(bed, 100, changes)


def test_what_a_calibration_leaves_is_in_the_deviation_of_a_pose() -> None:
    assert_consistent("free-flyer", 40, {"loop.duration_s": 4.0, **LENS})


def test_the_deviation_has_no_part_in_the_estimate() -> None:
    """Densities of their own change the deviations of what they are about alone."""
    rows = []
    for scale in (1.0, 5.0):
        own = {
            "controller.estimator.stated_translation_m_s2_per_rthz": 2e-4 * scale,
            "controller.estimator.stated_joint_rad_s2_per_rthz": 0.02 * scale,
            "loop.duration_s": 1.0,
        }
        log = simulate_in_memory(load("free-flyer", own), keep=False)
        rows.append(
            [
                log.rows[:, log.channels.columns("/state", entry)].copy()
                for entry in ("q", "u", "deviation", "rate_deviation")
            ]
        )
    (q, u, small, slow), (q_again, u_again, large, fast) = rows
    assert (q == q_again).all()
    assert (u == u_again).all()
    assert (small[-1, :2] < large[-1, :2]).all()
    assert small[-1, 2] == large[-1, 2]
    assert (slow[-1, [0, 1, 3, 4]] < fast[-1, [0, 1, 3, 4]]).all()
    assert slow[-1, 2] == fast[-1, 2]
