"""Stanford report of 1987, acceptance tests 14, 15 and 17: LEAP takes hold and lets go, flies, and stays pinned."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.dense_model import Model
from tests.validation.claims import Claims
from tests.validation.leap import K1, OURS, TAU, U_CLOSED, U_FREE, Q, mine, order, speeds


@pytest.fixture(scope="module")
def leap():
    """System, module, and the regression state in our coordinates: pose, free and closed speeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        system = OURS.system(Q)
        module = system.modules["leap"]
        model, both = Model(module), system.contact_set()
        S = speeds(Q, np.zeros(8))[0]
        q, free, closed = (mine(module, x) for x in (Q, np.linalg.solve(S, U_FREE), np.linalg.solve(S, U_CLOSED)))
        model.kinetic_energy(q, free)
        both.project(q, closed)
        both.rk4(q, closed, np.zeros(8), 1e-3)  # built here, while the compiler is off
    return system, model, both, q, free, closed


def in_report(model: Model, q_dot):
    return speeds(Q, np.zeros(8))[0] @ q_dot[order(model.module)]


# --- 14


def test_stanford14_a_catch_with_both_hands_is_the_regression(leap, claims: Claims) -> None:
    _, model, both, q, free, _ = leap
    caught = both.catch(q, free)
    S = speeds(Q, np.zeros(8))[0]
    M = S.T @ OURS.equations(Q, U_FREE)[0] @ S
    slip = np.abs(both.errors(q, caught.u)[1]).max()
    claims.below("Stanford 14", "catch with both hands: their speed after", 1e-12, slip, "m/s")
    after = in_report(model, caught.u)
    _, A, _ = OURS.contact(Q, U_FREE)
    report_M = OURS.equations(Q, U_FREE)[0]
    expected = U_FREE - np.linalg.solve(report_M, A.T @ np.linalg.solve(A @ np.linalg.solve(report_M, A.T), A @ U_FREE))
    off = np.abs(after - expected).max()
    claims.below("Stanford 14", "catch with both hands: all speeds against a plastic impact", 1e-12, off)
    claims.equal("Stanford 14", "catch with both hands: speed of the wheel", U_FREE[7], after[7], 1e-12, "rad/s")
    before, then = model.kinetic_energy(q, free), model.kinetic_energy(q, caught.u)
    assert then <= before
    assert caught.energy_lost == pytest.approx(before - then, abs=1e-12)
    assert 0.5 * free[order(model.module)] @ M @ free[order(model.module)] == pytest.approx(before)
    energies = [0.34876494931841046, 0.331947953810929]
    claims.equal("Stanford 14", "kinetic energy before and after the catch", energies, [before, then], 1e-9, "J")
    assert after == pytest.approx(
        [0.02849106279805115, 0.048608390083527526, 0.021484506396768084, 0.21697931121171096, -0.10726798360252451,
         -0.1911004509942688, 0.26610673235681703, 5.0], abs=1e-9,
    )  # fmt: skip
    c, s = np.cos(Q[2]), np.sin(Q[2])
    in_body = np.kron(np.eye(2), np.array([[c, s], [-s, c]])) @ caught.impulse
    assert in_body == pytest.approx(
        [0.020056087114311262, 0.05806141217494026, 0.13985030257114747, -0.15886735288578935], abs=1e-9
    )


def test_stanford14_release_goes_on_with_the_same_speeds(leap, monkeypatch: pytest.MonkeyPatch, claims: Claims) -> None:
    """Letting go is choosing the open set: it asks nothing of u, and a catch of what is caught does nothing."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    system, model, both, q, _, closed = leap
    assert both.catch(q, closed).u == pytest.approx(closed, abs=1e-12)
    free = system.contact_set([])
    jump = np.abs(free.catch(q, closed).u - closed).max()
    claims.equal("Stanford 14", "jump of the speeds at release", 0.0, jump, 0)
    force = mine(model.module, speeds(Q, np.zeros(8))[0].T @ K1 @ TAU)
    assert free.accelerate(q, closed, force).acceleration == pytest.approx(model.forward_dynamics(q, closed, force))


# --- 15


@pytest.mark.parametrize(
    ("part", "step", "what"),
    [
        (0.02, 0.005, "10 s of flight under five torques at 5 ms"),
        pytest.param(1.0, 1.25e-4, "10 s of flight under five unscaled torques at 0.125 ms", marks=pytest.mark.slow),
    ],
    ids=["a fiftieth", "unscaled"],
)
def test_stanford15_free_flight_keeps_momentum(leap, part: float, step: float, what: str, claims: Claims) -> None:
    """The whole torques turn the links many times a second: at 5 ms momentum is off by 0.017 N m s."""
    _, model, _, q, u, _ = leap
    torque = mine(model.module, speeds(Q, np.zeros(8))[0].T @ K1 @ (part * TAU))
    centre, momentum = model.centre_of_mass(q, u)[1].copy(), model.momentum(q, u).copy()
    for _ in range(round(10 / step)):
        q, u = model.rk4(q, u, torque, step)
    drift = np.abs(model.centre_of_mass(q, u)[1] - centre).max()
    claims.below("Stanford 15", f"{what}: change of the mass centre's velocity", 1e-8, drift, "m/s")
    drift = abs(model.momentum(q, u)[5] - momentum[5])
    claims.below("Stanford 15", f"{what}: change of angular momentum", 1e-8, drift, "N m s")


# --- 17


def test_stanford17_pinned_hands_stay_and_energy_stays_without_any_feedback(leap, claims: Claims) -> None:
    _, model, both, q, _, u = leap
    before, q_before = model.kinetic_energy(q, u), q
    for _ in range(300):
        q, u = both.rk4(q, u, np.zeros(8), 0.01)
    assert np.abs(q - q_before).max() > 0.1
    drift = np.abs(both.errors(q, u)[0]).max()
    claims.below("Stanford 17", "pinned hands, 3 s at 10 ms without feedback: drift", 1e-10, drift, "m")
    drift = abs(model.kinetic_energy(q, u) / before - 1)
    claims.below("Stanford 17", "their energy drift, relative", 1e-11, drift)
