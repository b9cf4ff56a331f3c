"""Lilly and Orin 1991, acceptance tests 15 to 17: drift of the contacts, drift feedback, energy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.random_systems import Array, Referee, closed_chains, split
from tests.validation.claims import Claims


@pytest.fixture(scope="module")
def mechanism():
    """Three six-joint chains hold a body with hard points; everything falls."""
    system, q, u = closed_chains(3, 6, "hard_point", seed=36)
    closed = system.contact_set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        q, u = closed.project(q, 0.3 * u)
        referee = Referee(system, closed)
        referee.energy(q, u)
        closed.rk4(q, u, 0 * u, 1e-3)  # built here, while the compiler is off
    return closed, referee, q, u


def _run(mechanism, h: float, **how) -> tuple[float, Array, Array]:
    """The greatest gap after a second, and the state."""
    closed, _, q, u = mechanism
    for _ in range(round(1 / h)):
        q, u = closed.rk4(q, u, np.zeros_like(u), h, **how)
    return float(np.abs(closed.errors(q, u)[0]).max()), q, u


def test_l15_l17_drift_falls_with_the_fourth_power_of_the_step_and_energy_stays(mechanism, claims: Claims) -> None:
    (coarse, *_), (fine, q, u) = _run(mechanism, 2e-3), _run(mechanism, 1e-3)
    order = np.log2(coarse / fine)
    claims.between("Lilly-Orin L15", "order of the gap of the contacts in the step, 2 and 1 ms", 3.5, 4.5, order)
    _, referee, q0, u0 = mechanism
    kinetic = sum(m.kinetic_energy(x, v) for m, x, v in _by_module(referee, q, u))
    drift = abs(referee.energy(q, u) - referee.energy(q0, u0)) / kinetic
    claims.below("Lilly-Orin L17", "energy drift in 1 s at 1 ms, of the kinetic energy", 1e-6, drift)


def _by_module(referee: Referee, q: Array, u: Array):
    qs, us = split(referee.system, q, "q"), split(referee.system, u, "u")
    return [(model, qs[name], us[name]) for name, model in referee.models.items()]


@pytest.mark.slow
def test_l16_drift_feedback_is_at_least_three_times_better(mechanism, claims: Claims) -> None:
    without, with_feedback = _run(mechanism, 2e-3)[0], _run(mechanism, 2e-3, feedback=(40.0, 400.0))[0]
    claims.above("Lilly-Orin L16", "gap without feedback over that with 20 /s, 2 ms", 3.0, without / with_feedback)


def test_l16_projection_leaves_no_drift_at_all(mechanism, claims: Claims) -> None:
    worst, q, u = _run(mechanism, 2e-3, project=True)
    claims.below("Lilly-Orin L16", "gap where every step is projected, 2 ms", 1e-12, worst, "m")
    assert np.abs(mechanism[0].errors(q, u)[1]).max() < 1e-12


@pytest.mark.slow
def test_l16_drift_feedback_keeps_the_gap_bounded_for_ten_seconds(mechanism, claims: Claims) -> None:
    closed, _, q, u = mechanism
    worst = []
    for _ in range(10):
        peak = 0.0
        for _ in range(500):
            q, u = closed.rk4(q, u, -0.5 * u, 2e-3, feedback=(40.0, 400.0))
            peak = max(peak, float(np.abs(closed.errors(q, u)[0]).max()))
        worst.append(peak)
    claims.below("Lilly-Orin L16", "largest gap in 10 s with feedback, 2 ms", 1e-4, max(worst), "m")
    assert worst[-1] <= max(worst[:3])
