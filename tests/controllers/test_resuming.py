"""A behaviour that goes on or begins again: rates fit the path, and no acceleration is above half of the brake's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from granite.config.records import Array, Reference, State
from granite.controllers.behaviours.resuming import SETTLING_S, Resuming

pytestmark = pytest.mark.usefixtures("interpreted")

MOST = np.array([0.04, 0.3])  # largest deceleration of each coordinate
HELD = np.array([0.5, -0.2])
STEP = 2e-3


class Swing:
    """It begins at rest: q = t - sin(t) and 0.1 (2 t - sin(2 t))."""

    def decide(self, state: State) -> Reference:
        t = state.t
        q = np.array([t - math.sin(t), 0.1 * (2 * t - math.sin(2 * t))])
        u = np.array([1 - math.cos(t), 0.2 * (1 - math.cos(2 * t))])
        return Reference(t, q, u, np.array([math.sin(t), 0.4 * math.sin(2 * t)]), True)


class Path:
    """The references of a behaviour that goes on at a time tau of its own, from 10 s on."""

    def __init__(self, tau: float, repeats: bool, most: Array = MOST) -> None:
        resuming = Resuming(Swing(), 2, 2)
        resuming.begin(tau, HELD, most, repeats)
        self.t = 10.0 + STEP * np.arange(8500)
        references = [resuming.decide(State(t, True, HELD, HELD, HELD, HELD)) for t in self.t]
        self.q, self.u, self.a = (np.array([getattr(r, key) for r in references]) for key in ("q", "u", "a"))
        self.done = np.array([r.done for r in references])


@pytest.mark.parametrize(("tau", "repeats"), [(0.0, True), (0.0, False), (2.0, False)])
def test_rates_and_accelerations_are_those_of_the_path(tau: float, repeats: bool) -> None:
    path = Path(tau, repeats)
    np.testing.assert_allclose(path.q[0], HELD, atol=1e-12)
    for values, rates in ((path.q, path.u), (path.u, path.a)):
        np.testing.assert_allclose(rates[1:-1], np.gradient(values, STEP, axis=0)[1:-1], atol=0.3 * STEP)


def test_the_way_back_ends_at_the_first_pose_as_fast_as_half_of_the_brake_allows() -> None:
    """Minimum jerk over d in T has the largest acceleration 10 / sqrt(3) d / T^2: T = 12.0 s for 0.5 m at 0.02 m/s2."""
    path = Path(0.0, repeats=True)
    T = math.sqrt(10 / math.sqrt(3) * HELD[0] / (MOST[0] / 2))
    assert pytest.approx(12.01, abs=0.01) == T
    back = path.t < 10.0 + T
    assert np.abs(path.a[back]).max(axis=0)[0] == pytest.approx(MOST[0] / 2, rel=1e-4)
    assert np.abs(path.a[back]).max(axis=0)[1] < MOST[1] / 2
    waits = (path.t >= 10.0 + T) & (path.t < 10.0 + T + SETTLING_S)
    np.testing.assert_allclose(path.q[waits], 0.0, atol=1e-12)
    assert not path.done[back | waits].any()
    later = path.t > 10.0 + T + SETTLING_S + STEP
    since = path.t[later] - 10.0 - T - SETTLING_S
    np.testing.assert_allclose(path.q[later][:, 0], since - np.sin(since), atol=1e-9)
    assert path.done[later].all()


def test_a_short_way_back_takes_a_second_and_a_coordinate_without_a_limit_is_not_moved() -> None:
    path = Path(0.0, repeats=True, most=np.array([100.0, 0.0]))
    assert path.q[0] == pytest.approx([HELD[0], 0.0])
    assert (path.q[path.t < 10.98, 0] > 0).all()
    np.testing.assert_allclose(path.q[(path.t > 11.001) & (path.t < 12.99)], 0.0, atol=1e-12)
