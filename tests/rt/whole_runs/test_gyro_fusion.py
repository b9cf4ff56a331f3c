"""A gyro with a drawn bias over 100 seeds: errors beside those without it, consistency, and the bias that is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import granite

GYRO = {"devices.gyro": {"simulated": {"bias_deviation_rad_s": 0.01, "bias_walk_rad_s_per_rts": 1e-5}}}


def flights(changes: dict[str, Any], seeds: range) -> np.ndarray:
    """Mean squares in the last 5 s: errors of heading and rate, the same by their deviations; error of the bias."""
    rows = []
    for seed in seeds:
        log = granite.simulate(granite.load("free-flyer", {"loop.duration_s": 15.0, "seed": seed, **changes}))
        assert log.summary["ended"] == "completed"
        truth, state, late = log["/truth"], log["/state"], log.t >= 10.0
        heading = (state.base_heading_rad - truth.base_heading_rad)[late]
        rate = (state.base_heading_rad_s - truth.base_heading_rad_s)[late]
        scaled = heading / state.base_heading_deviation_rad[late], rate / state.base_heading_rate_deviation_rad_s[late]
        row = [np.mean(np.square(values)) for values in (heading, rate, *scaled)]
        if changes:
            bias = (log["/sample"].gyro_base_gyro_rad_s - truth.base_heading_rad_s)[1900:2100].mean()
            row.append((state.gyro_base_gyro_bias_rad_s[2000] - bias) ** 2)
        rows.append(row)
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [20, pytest.param(100, marks=pytest.mark.study)], ids=["few", "hundred"])
def test_a_gyro_makes_heading_and_rate_better_and_its_bias_is_found_in_10_s(seeds: int) -> None:
    without, with_gyro = flights({}, range(2000, 2020)), flights(GYRO, range(2000, 2000 + seeds))
    before, after = (1e3 * np.sqrt(part[:, :2].mean(axis=0)) for part in (without, with_gyro))
    print(f"rms of heading [mrad] and rate [mrad/s]: {before} without, {after} with a gyro")
    assert after[0] < 0.4 * before[0]
    assert after[1] < 0.35 * before[1]
    heading, rate = with_gyro[:, 2:4].mean(axis=0)
    print(f"NEES of heading {heading:.2f}, of rate {rate:.2f}; bias {np.sqrt(with_gyro[:, 4].max()):.1e} rad/s at most")
    # Errors of a flight are correlated: about five independent ones in 5 s.
    chance = 3 * np.sqrt(2 / (5 * seeds)) if seeds < 100 else 0.0
    assert 0.74 - chance < heading < 1.3 + chance
    assert 0.74 - chance < rate < 1.3 + chance
    assert with_gyro[:, 4].max() < 3e-4**2
