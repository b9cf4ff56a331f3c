"""Stanford report of 1987, section 4.4.4: the fifth-order reference (acceptance test 4, with erratum E8)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from tests.validation.claims import Claims

AMPLITUDE, DURATION = np.array([1.0, 0.5, np.pi / 2, -0.6, 0.5]), 20.0
SEGMENT = MinimumJerk(np.zeros(5), AMPLITUDE, 0.0, DURATION)


def test_the_path_is_the_printed_polynomial():
    for tau in np.linspace(0.0, 1.0, 101):
        q, u, a = SEGMENT.at(float(tau * DURATION))
        assert q == pytest.approx(AMPLITUDE * (6 * tau**5 - 15 * tau**4 + 10 * tau**3), abs=1e-14)
        rate = AMPLITUDE / DURATION * (30 * tau**4 - 60 * tau**3 + 30 * tau**2)
        assert u == pytest.approx(rate, abs=1e-14)
        acceleration = AMPLITUDE / DURATION**2 * (120 * tau**3 - 180 * tau**2 + 60 * tau)
        assert a == pytest.approx(acceleration, abs=1e-14)


def test_stanford04_rate_and_acceleration_vanish_at_the_ends(claims: Claims):
    for t in (1e-9, DURATION - 1e-9):
        _, u, a = SEGMENT.at(t)
        assert u == pytest.approx(np.zeros(5), abs=1e-12)
        assert a == pytest.approx(np.zeros(5), abs=1e-10)
    rates, accelerations = (np.array([SEGMENT.at(t)[k] for t in (0.0, DURATION)]) for k in (1, 2))
    claims.below("Stanford 4", "minimum jerk: rate at both ends", 1e-12, np.abs(rates).max())
    claims.below("Stanford 4", "minimum jerk: acceleration at both ends", 1e-12, np.abs(accelerations).max())


def test_stanford04_the_rate_peaks_half_way_at_1_875(claims: Claims):
    rates = np.array([SEGMENT.at(t)[1] for t in np.linspace(0, DURATION, 2001).tolist()])
    peaks = np.abs(rates).max(axis=0) * DURATION / np.abs(AMPLITUDE)
    claims.equal("Stanford 4", "minimum jerk: peak rate", 1.875, peaks.max(), 1e-6)
    assert peaks == pytest.approx(np.full(5, 1.875), abs=1e-6)
    assert SEGMENT.at(0.5 * DURATION)[1] == pytest.approx(1.875 * AMPLITUDE / DURATION, abs=1e-12)


def test_stanford04_the_acceleration_peaks_at_5_773503(claims: Claims):
    scale = DURATION**2 / AMPLITUDE
    assert SEGMENT.at(0.211325 * DURATION)[2] * scale == pytest.approx(np.full(5, 5.773503), abs=1e-6)
    assert SEGMENT.at(0.788675 * DURATION)[2] * scale == pytest.approx(np.full(5, -5.773503), abs=1e-6)
    peak = max(np.abs(SEGMENT.at(t)[2] * scale).max() for t in np.linspace(0, DURATION, 4001).tolist())
    claims.equal("Stanford 4", "minimum jerk: peak acceleration", 5.773503, peak, 1e-6)
