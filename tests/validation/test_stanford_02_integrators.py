"""Stanford report of 1987, section 4.4.3: improved Euler against Runge-Kutta in ten seconds of free motion (test 2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from granite.config.loader import load
from granite.kernels.kernel import Array
from tests.support.dense_model import Model
from tests.validation.claims import Claims

MODEL = Model(load("free-flyer/printed-inertias").modules[0])
START_Q = np.array([0.0, 0.0, np.pi / 6, np.pi / 4, -np.pi / 3])
START_U = np.array([0.1, -0.2, 0.3, 0.1, -0.9])  # absolute rates .3, .4, -.5
DURATION = 10.0
NAMES = {"improved_euler": "improved Euler", "rk4": "Runge-Kutta"}


@cache
def flight(name: str, h: float) -> tuple[Array, Array]:
    """q and u after free motion in steps of h."""
    step: Callable[..., tuple[Array, Array]] = getattr(MODEL, name)
    q, u = START_Q, START_U
    for _ in range(round(DURATION / h)):
        q, u = step(q, u, np.zeros(5), h)
    return q.copy(), u.copy()


@pytest.mark.parametrize(("name", "order", "tolerance"), [("improved_euler", 2.0, 0.05), ("rk4", 4.0, 0.3)])
def test_stanford02_orders(name: str, order: float, tolerance: float, claims: Claims) -> None:
    coarse, middle, fine = (np.concatenate(flight(name, h)) for h in (0.04, 0.02, 0.01))
    measured = np.log2(np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine))
    claims.equal("Stanford 2", f"order of {NAMES[name]}", order, measured, tolerance)


@pytest.mark.parametrize(("name", "bound"), [("improved_euler", 1e-5), ("rk4", 1e-9)])
def test_stanford02_energy_drift_at_ten_milliseconds(name: str, bound: float, claims: Claims) -> None:
    start = MODEL.kinetic_energy(START_Q, START_U)
    drift = abs(MODEL.kinetic_energy(*flight(name, 0.01)) / start - 1)
    claims.below("Stanford 2", f"energy drift in 10 s of free motion at 10 ms, {NAMES[name]}, relative", bound, drift)


def test_stanford02_runge_kutta_keeps_the_momenta(claims: Claims) -> None:
    start = MODEL.momentum(START_Q, START_U).copy()
    drift = np.abs(MODEL.momentum(*flight("rk4", 0.01)) - start).max()
    claims.below("Stanford 2", "momentum drift in the same, Runge-Kutta", 1e-9, drift, "N s, N m s")
