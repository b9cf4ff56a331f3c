"""Dynamics: symmetric positive mass, forward against inverse, and what free motion must keep."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from granite.config.base import spatial
from granite.config.modules import Module
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import State, has_quaternion, random_module, random_state
from tests.support.dense_model import Model

modules = st.builds(random_module, st.integers(0, 11))
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
thorough = settings(max_examples=30, deadline=None, derandomize=True)


def without_gravity(module: Module) -> Module:
    nothing = tuple(0.0 for _ in module.gravity_m_s2)
    return module.model_copy(update={"gravity_m_s2": nothing, "name": f"{module.name}_free"})


@thorough
@given(modules, generators)
def test_the_mass_matrix_is_symmetric_and_positive(module: Module, rng: np.random.Generator) -> None:
    M = interpreted(module).mass_matrix(random_state(module, rng).q)
    assert pytest.approx(M.T, rel=1e-12, abs=1e-12) == M
    assert np.linalg.eigvalsh(M).min() > 0


@thorough
@given(modules, generators)
def test_forward_undoes_inverse_dynamics(module: Module, rng: np.random.Generator) -> None:
    model, (q, u, acceleration, _) = interpreted(module), random_state(module, rng)
    force = model.inverse_dynamics(q, u, acceleration)
    assert force == pytest.approx(model.mass_matrix(q) @ acceleration + model.bias(q, u), rel=1e-11, abs=1e-10)
    assert model.forward_dynamics(q, u, force) == pytest.approx(acceleration, rel=1e-9, abs=1e-9)


@thorough
@given(modules, generators)
def test_kinetic_energy_is_half_u_m_u(module: Module, rng: np.random.Generator) -> None:
    model, (q, u, *_) = interpreted(module), random_state(module, rng)
    assert model.kinetic_energy(q, u) == pytest.approx(0.5 * u @ model.mass_matrix(q) @ u, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("dimension", "base"), [("planar", "fixed"), ("planar", "floating"), ("spatial", "fixed")])
def test_the_bias_is_that_of_lagranges_equations(dimension: str, base: str, seed: int) -> None:
    """d/dt dT/du - dT/dq + dV/dq, where u = q': the energies know nothing of frames that carry each other."""
    module = random_module(seed, dimension, base)
    tree = Tree(module)
    dynamics = Dynamics(tree)
    T, V = dynamics.kinetic_energy(), dynamics.potential_energy()
    lagrange = ca.jtimes(ca.gradient(T, tree.u), tree.q, tree.u) - ca.gradient(T, tree.q) + ca.gradient(V, tree.q)
    both = ca.Function("both", [tree.q, tree.u], [dynamics.bias, lagrange])
    state = random_state(module, np.random.default_rng(seed))
    bias, expected = (np.array(h).ravel() for h in both(state.q, state.u))
    assert bias == pytest.approx(expected, rel=1e-10, abs=1e-10 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(20))
def test_the_mass_matrix_is_the_second_derivative_of_the_kinetic_energy(seed: int) -> None:
    module = random_module(seed)
    tree = Tree(module)
    dynamics = Dynamics(tree)
    hessian = ca.hessian(dynamics.kinetic_energy(), tree.u)[0]
    both = ca.Function("both", [tree.q], [ca.densify(dynamics.mass_matrix), ca.densify(hessian)])
    mass_matrix, expected = (np.array(M) for M in both(random_state(module, np.random.default_rng(seed)).q))
    assert mass_matrix == pytest.approx(expected, rel=1e-11, abs=1e-12 * np.abs(expected).max())


@thorough
@given(modules, generators)
def test_power_of_all_forces_is_the_rate_of_energy(module: Module, rng: np.random.Generator) -> None:
    model, (q, u, _, force) = interpreted(module), random_state(module, rng)
    q_dot, u_dot = model.position_rate(q, u).copy(), model.forward_dynamics(q, u, force).copy()

    def energy(t: float) -> float:
        return model.kinetic_energy(q + t * q_dot, u + t * u_dot) + model.potential_energy(q + t * q_dot)

    h = 1e-5
    scale = max(1.0, abs(force @ u), model.kinetic_energy(q, u))
    assert (energy(h) - energy(-h)) / (2 * h) == pytest.approx(force @ u, abs=1e-5 * scale)


@thorough
@given(modules, generators)
def test_the_bias_is_gravity_and_terms_quadratic_in_velocity(module: Module, rng: np.random.Generator) -> None:
    model, (q, u, *_) = interpreted(module), random_state(module, rng)
    gravity = model.gravity_force(q).copy()
    assert model.bias(q, np.zeros_like(u)) == pytest.approx(gravity, abs=1e-11)
    once, twice = model.bias(q, u) - gravity, model.bias(q, 2 * u) - gravity
    assert twice == pytest.approx(4 * once, rel=1e-10, abs=1e-10)


@thorough
@given(modules, generators)
def test_external_force_alone_changes_momentum(module: Module, rng: np.random.Generator) -> None:
    """Of a floating module: weight on the mass centre, force on the root, nothing from the joints."""
    if module.base == "fixed":
        return
    model, (q, u, _, force) = interpreted(module), random_state(module, rng)
    n = 2 if module.dimension == "planar" else 3
    q_dot, u_dot = model.position_rate(q, u).copy(), model.forward_dynamics(q, u, force).copy()
    h = 1e-5
    after, before = (model.momentum(q + t * q_dot, u + t * u_dot).copy() for t in (h, -h))
    weight = sum(b.mass_kg for b in module.bodies) * np.array(spatial(module.gravity_m_s2))
    assert ((after - before) / (2 * h))[:n] == pytest.approx(force[:n] + weight[:n], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", [600, 601])
@pytest.mark.parametrize("dimension", ["planar", "spatial"])
def test_free_motion_keeps_energy_and_momentum(seed: int, dimension: str) -> None:
    module = without_gravity(random_module(seed, dimension, "floating", 3))
    model, state = interpreted(module), random_state(module, np.random.default_rng(seed))
    q, u = state.q, state.u / 4
    energy, momentum = model.kinetic_energy(q, u), model.momentum(q, u).copy()
    for _ in range(1000):
        q, u = model.rk4(q, u, np.zeros(model.n_u), 2e-3)
    assert model.kinetic_energy(q, u) == pytest.approx(energy, rel=1e-8)
    assert model.momentum(q, u) == pytest.approx(momentum, abs=1e-8 * max(1.0, np.abs(momentum).max()))
    if has_quaternion(module):
        assert np.linalg.norm(q[3:7]) == pytest.approx(1.0, abs=1e-15)


def test_a_swinging_tree_keeps_its_total_energy() -> None:
    module = random_module(602, "spatial", "fixed", 4)
    model, state = interpreted(module), random_state(module, np.random.default_rng(11))
    assert np.linalg.norm(module.gravity_m_s2) > 1
    q, u = state.q, state.u / 4
    total = model.kinetic_energy(q, u) + model.potential_energy(q)
    for _ in range(1000):
        q, u = model.rk4(q, u, np.zeros(model.n_u), 1e-3)
    after = model.kinetic_energy(q, u) + model.potential_energy(q)
    assert after == pytest.approx(total, abs=1e-8 * max(1.0, model.kinetic_energy(q, u)))


def test_elimination_from_the_tips_fills_no_zero() -> None:
    """Branches that do not carry each other stay apart in the factors (Featherstone's LTL order)."""
    for seed in range(20):
        M = Dynamics(Tree(random_module(seed, "spatial", "floating"))).mass_matrix
        M[:6, :6] = ca.densify(M[:6, :6])  # the root carries all
        backwards = list(range(M.shape[0]))[::-1]
        _, factor, _ = ca.ldl(M[backwards, backwards], False)
        assert factor.nnz() <= ca.tril(M, False).nnz()


def test_a_module_of_one_coordinate_still_has_matrices() -> None:
    model = interpreted(random_module(603, "spatial", "fixed", 1))
    q, u = np.array([0.3]), np.array([0.2])
    assert model.mass_matrix(q).shape == (1, 1)
    assert model.point("point0", q, u).jacobian.shape == (6, 1)


def test_a_model_holds_no_state(  # the same question has the same answer, whatever was asked between
) -> None:
    module = random_module(604, "planar", "floating", 3)
    model: Model = interpreted(module)
    first, second = (random_state(module, np.random.default_rng(s)) for s in (12, 13))

    def accelerate(state: State) -> bytes:
        return model.forward_dynamics(state.q, state.u, state.force).tobytes()

    answer = accelerate(first)
    accelerate(second)
    assert accelerate(first) == answer
