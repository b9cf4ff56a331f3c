"""Segments of all kinds, and paths through waypoints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.quintic import Quintic
from granite.controllers.trajectories.sine_ramps import SineRamps
from granite.controllers.trajectories.trapezoidal import Trapezoidal

START, END = np.array([1.0, -2.0, 0.5]), np.array([3.0, -2.0, -0.25])


def test_a_segment_is_at_rest_before_it_begins_and_after_it_ends():
    segment = MinimumJerk(START, END, 2.0, 4.0)
    for t, where in ((-10.0, START), (2.0, START), (6.0, END), (100.0, END)):
        q, u, a = segment.at(t)
        np.testing.assert_array_equal(q, where)
        assert not u.any()
        assert not a.any()


def test_half_way_in_time_is_half_way_in_space():
    q, _, a = MinimumJerk(START, END, 2.0, 4.0).at(4.0)
    assert q == pytest.approx(0.5 * (START + END))
    assert a == pytest.approx(np.zeros(3), abs=1e-15)


@given(t=st.floats(2.01, 5.99))
def test_rate_and_acceleration_are_the_derivatives(t):
    segment, h = MinimumJerk(START, END, 2.0, 4.0), 1e-5
    before, now, after = segment.at(t - h), segment.at(t), segment.at(t + h)
    assert now[1] == pytest.approx((after[0] - before[0]) / (2 * h), abs=1e-8)
    assert now[2] == pytest.approx((after[1] - before[1]) / (2 * h), abs=1e-8)


@given(t=st.floats(2.01, 5.99), ramp=st.floats(0.2, 2.0))
def test_sine_ramps_have_the_velocity_and_acceleration_of_their_position(t, ramp):
    segment, h = SineRamps(START, END, 2.0, 4.0, ramp), 1e-5
    before, now, after = segment.at(t - h), segment.at(t), segment.at(t + h)
    assert now[1] == pytest.approx((after[0] - before[0]) / (2 * h), abs=1e-8)
    assume(all(abs(t - kink) > 2 * h for kink in (2.0 + ramp, 6.0 - ramp)))
    assert now[2] == pytest.approx((after[1] - before[1]) / (2 * h), abs=1e-6)


def test_sine_ramps_without_a_coast_are_the_turn_of_sun():
    """(4.52) to (4.54)."""
    segment = SineRamps(np.array([np.pi / 4]), np.array([-np.pi / 4]), 0.0, 2.0, 1.0)
    for t in np.linspace(0.01, 1.99, 23):
        q, u, a = (x[0] for x in segment.at(t))
        assert q == pytest.approx(np.pi / 4 - np.pi / 4 * (t - np.sin(np.pi * t) / np.pi), abs=1e-14)
        assert u == pytest.approx(-np.pi / 4 * (1 - np.cos(np.pi * t)), abs=1e-14)
        assert a == pytest.approx(-((np.pi / 2) ** 2) * np.sin(np.pi * t), abs=1e-14)


@given(t=st.floats(2.01, 5.99), ramp=st.floats(0.2, 2.0))
def test_a_trapezoidal_velocity_is_the_derivative_of_its_position(t, ramp):
    segment, h = Trapezoidal(START, END, 2.0, 4.0, ramp), 1e-6
    assume(all(abs(t - kink) > 2 * h for kink in (2.0 + ramp, 6.0 - ramp)))
    before, now, after = segment.at(t - h), segment.at(t), segment.at(t + h)
    assert now[1] == pytest.approx((after[0] - before[0]) / (2 * h), abs=1e-8)
    assert now[2] == pytest.approx((after[1] - before[1]) / (2 * h), abs=1e-6)


@pytest.mark.parametrize("ramp", [0.5, 2.0])
def test_a_trapezoidal_velocity_costs_the_impulse_of_its_coast(ramp):
    """Twice the velocity of the coast, which is A / (t_f - t_ramp)."""
    segment = Trapezoidal(START, END, 0.0, 4.0, ramp)
    t = np.linspace(0.0, 4.0, 40001)
    change = np.trapezoid([np.abs(segment.at(x)[2]) for x in t], t, axis=0)
    assert change == pytest.approx(2 * np.abs(END - START) / (4.0 - ramp), rel=1e-3)


def test_the_arguments_may_change_afterwards():
    start, end = START.copy(), END.copy()
    segment = MinimumJerk(start, end, 0.0, 1.0)
    start[:] = end[:] = 99.0
    np.testing.assert_array_equal(segment.at(0.0)[0], START)
    np.testing.assert_array_equal(segment.at(1.0)[0], END)


def test_both_ends_and_the_derivatives_in_between_are_right() -> None:
    rng = np.random.default_rng(1)
    start, end = (tuple(rng.standard_normal((3, 2))) for _ in range(2))
    path = Quintic(1.0, 2.5, start, end)  # type: ignore[arg-type]
    assert np.abs(np.array(path.at(1.0)) - start).max() < 1e-12
    assert np.abs(np.array(path.at(3.5)) - end).max() < 1e-12
    h = 1e-5
    for t in (1.3, 2.0, 3.1):
        (x0, v0, _), (x1, v1, a1), (x2, v2, _) = (path.at(t + d) for d in (-h, 0.0, h))
        assert (x2 - x0) / (2 * h) == pytest.approx(v1, abs=1e-7)
        assert (v2 - v0) / (2 * h) == pytest.approx(a1, abs=1e-7)
        assert (x2 - 2 * x1 + x0) / h**2 == pytest.approx(a1, abs=1e-3)


def test_a_change_of_speed_has_no_overshoot() -> None:
    path = Quintic.speed_change(0.0, 4.0, np.zeros(1), np.zeros(1), np.array([0.12]))
    rates = [float(path.at(t)[1][0]) for t in np.linspace(-1, 6, 200)]
    assert min(rates) >= -1e-15
    assert max(rates) <= 0.12 + 1e-15
    assert path.at(4.0)[0] == pytest.approx([0.24])
    assert path.at(6.0)[0] == pytest.approx([0.48])
