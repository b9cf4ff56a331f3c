"""Integrators: their order, and that they put the state back where it belongs."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from tests.peers.interpreted import interpreted
from tests.peers.random_trees import Array, has_quaternion, random_module, random_state
from tests.support.dense_model import improved_euler_step, rk4_step

STEPS = {"improved_euler": (improved_euler_step, 2), "rk4": (rk4_step, 4)}


def pendulum() -> ca.Function:
    x, p = ca.SX.sym("x", 2), ca.SX.sym("p", 1)
    return ca.Function("pendulum", [x, p], [ca.vertcat(x[1], p - ca.sin(x[0]))])


def measured_order(end_after: Callable[[int], Array], n: int) -> float:
    """From three grids, each twice as fine: the ratio of their differences."""
    coarse, middle, fine = (end_after(k) for k in (n, 2 * n, 4 * n))
    return float(np.log2(np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine)))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_has_its_order_on_a_pendulum(name: str) -> None:
    make, order = STEPS[name]
    step = make(name, pendulum())

    def end_after(n: int) -> Array:
        x = np.array([1.0, 0.3])
        for _ in range(n):
            x = step(x, 0.2, 2.0 / n).full().ravel()
        return x

    assert measured_order(end_after, 40) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("name", STEPS)
def test_the_coefficients_are_the_printed_ones(name: str) -> None:
    """On x' = a x a step is the Taylor polynomial of exp(a h) up to the order."""
    make, order = STEPS[name]
    x, p, a, h = ca.SX.sym("x"), ca.SX.sym("p"), -1.3, 0.37
    step = make(name, ca.Function("linear", [x, p], [a * x]))
    terms = np.cumprod([1.0, *(a * h / k for k in range(1, order + 1))])
    assert float(step(1.0, 0.0, h)) == pytest.approx(terms.sum(), rel=1e-14)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("base", ["planar", "spatial"])
def test_a_step_has_its_order_on_a_floating_tree(name: str, base: str) -> None:
    module = random_module(700, base, "floating", 2)
    model, state = interpreted(module), random_state(module, np.random.default_rng(14))
    step = getattr(model, name)

    def end_after(n: int) -> Array:
        q, u = state.q, state.u / 2
        for _ in range(n):
            q, u = step(q, u, state.force / 10, 0.2 / n)
        return np.concatenate([q, u])

    assert measured_order(end_after, 64) == pytest.approx(STEPS[name][1], abs=0.2)


@pytest.mark.parametrize("name", STEPS)
def test_the_quaternion_has_unit_length_after_every_step(name: str) -> None:
    module = random_module(701, "spatial", "floating", 2)
    model, (q, u, _, force) = interpreted(module), random_state(module, np.random.default_rng(15))
    assert has_quaternion(module)
    for _ in range(20):
        q, u = getattr(model, name)(q, u, force, 0.02)
        assert np.linalg.norm(q[3:7]) == pytest.approx(1.0, abs=1e-15)


def test_a_step_of_nothing_changes_nothing() -> None:
    module = random_module(702, "planar", "floating", 2)
    model, (q, u, _, force) = interpreted(module), random_state(module, np.random.default_rng(16))
    after_q, after_u = model.rk4(q, u, force, 0.0)
    assert after_q.tolist() == q.tolist()
    assert after_u.tolist() == u.tolist()
