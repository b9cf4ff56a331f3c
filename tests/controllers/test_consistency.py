"""The reported deviations are those of the errors: NEES near 1 for each coordinate, and rates better than measured."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.records import Array
from granite.rt.run_in_memory import simulate_in_memory


def errors_of(bed: str, seeds: int, changes: dict[str, float]) -> tuple[Array, Array]:
    """Mean over seeds and time of (error / deviation)^2 of each coordinate, and rms error of each rate."""
    squares, rates = [], []
    for seed in range(1, seeds + 1):
        log = simulate_in_memory(load(bed, {"seed": seed, **changes}), keep=False)
        rows = log.rows[600:]  # velocities are not known at the start
        q, u = (rows[:, log.channels.columns("/truth", entry)] for entry in ("q", "u"))
        q_hat, u_hat, deviation = (rows[:, log.channels.columns("/state", entry)] for entry in ("q", "u", "deviation"))
        squares.append((((q_hat - q) / deviation) ** 2).mean(axis=0))
        rates.append(((u_hat - u) ** 2).mean(axis=0))
    return np.mean(squares, axis=0), np.sqrt(np.mean(rates, axis=0))


def assert_consistent(bed: str, seeds: int, **changes: float) -> Array:
    nees, rates = errors_of(bed, seeds, changes)
    assert ((nees[:3] > 0.4) & (nees[:3] < 1.5)).all(), nees
    # An offset is one number of a run: of n of them the mean square is known to sqrt(2 / n).
    allowed = 3 * np.sqrt(2 / (seeds * len(nees[3:])))
    assert abs(nees[3:].mean() - 1) < allowed, nees
    return rates


def test_deviations_contain_the_offsets_of_joint_sensors() -> None:
    assert_consistent("free-flyer", 60, **{"loop.duration_s": 3.1})


@pytest.mark.slow
def test_offsets_beyond_the_stated_deviation_show() -> None:
    worse = {"loop.duration_s": 3.1, "simulation.plant.devices.joint_sensors.angle_offset_rad": 1.6e-3}
    nees, _ = errors_of("free-flyer", 40, worse)
    assert nees[3:].mean() > 2.5, nees


@pytest.mark.slow
def test_without_friction_rates_of_joints_are_better_than_measured() -> None:
    _, rates = errors_of("free-flyer/clean", 3, {})
    assert (rates[3:] < load("free-flyer").devices["joint_sensors"].rate_noise_rad_s).all(), rates


@pytest.mark.slow
@pytest.mark.study
@pytest.mark.parametrize("bed", ["free-flyer", "two-arm-free-flyer"])
def test_estimates_of_a_hundred_seeds_are_consistent(bed: str) -> None:
    assert_consistent(bed, 100)
