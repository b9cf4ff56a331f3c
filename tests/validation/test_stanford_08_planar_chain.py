"""Stanford report of 1987, chapter 3 and appendix B: the serial planar chain (acceptance test 8).

The report's algorithm is written out here as corrected, in its own terms: links i = 1..n with absolute angles phi_i,
speeds u_1..u_n the absolute rates, u_n+1 and u_n+2 the velocity of a reference point in world axes;

    M u' = -N u + F,   m_rs = sum_i m_i v_r^i* . v_s^i* + delta_rs I_r,   n_rs = sum_i m_i v_r^i* . v_s'^i*.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from granite.config.modules import Body, Joint, Module
from granite.kernels.kernel import Array
from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.validation.claims import Claims
from tests.validation.leap import Leap
from tests.validation.stanford_chain import Chain, J, absolute_rates, module_of, random_chain, recursion, turned


def closed_form(chain: Chain, phi: Array, u: Array) -> tuple[Array, Array]:
    """The rotational block of M and N from the start of link 1 (appendix B, corrected)."""
    n = chain.n
    beyond = np.array([chain.mass[k + 1 :].sum() for k in range(n)])
    v = [J @ turned(phi[r], np.array([chain.length[r], 0.0])) for r in range(n)]
    v_dot = [-u[r] * turned(phi[r], np.array([chain.length[r], 0.0])) for r in range(n)]
    x = [turned(phi[r], chain.centre[r]) for r in range(n)]
    M, N = np.zeros((n, n)), np.zeros((n, n))
    for r in range(n):
        M[r, r] = (
            beyond[r] * chain.length[r] ** 2 + chain.mass[r] * chain.centre[r] @ chain.centre[r] + chain.inertia[r]
        )
        for s in set(range(n)) - {r}:
            k, j = max(r, s), min(r, s)
            M[r, s] = beyond[k] * v[r] @ v[s] + chain.mass[k] * (J @ x[k]) @ v[j]
            N[r, s] = beyond[k] * v[r] @ v_dot[s]
            N[r, s] += chain.mass[k] * (J @ x[k]) @ v_dot[s] if r > s else -chain.mass[k] * u[k] * x[k] @ v[r]
    return M, N


def printed_form(chain: Chain, phi: Array, u: Array) -> tuple[Array, Array]:
    """The same as printed (erratum E5): v_r in every cross term, kept at r = s; v_r' and v_r the wrong way round."""
    n = chain.n
    v = [J @ turned(phi[r], np.array([chain.length[r], 0.0])) for r in range(n)]
    v_dot = [-u[r] * turned(phi[r], np.array([chain.length[r], 0.0])) for r in range(n)]
    x = [turned(phi[r], chain.centre[r]) for r in range(n)]
    M, N = np.diag(chain.mass * (chain.centre**2).sum(axis=1) + chain.inertia), np.zeros((n, n))
    for r in range(n):
        for s in range(n):
            k = max(r, s)
            beyond = chain.mass[k + 1 :].sum()
            M[r, s] += beyond * v[r] @ v[s] + chain.mass[k] * (J @ x[k]) @ v[r]
            N[r, s] = beyond * v[r] @ v_dot[s]
            if s > r:
                N[r, s] += chain.mass[k] * (J @ x[k]) @ v_dot[r]
            elif r > s:
                N[r, s] -= chain.mass[k] * u[k] * x[k] @ v[r]
    return M, N


# --- the same chain as a module of ours


def ours(chain: Chain, phi: Array, u: Array) -> tuple[Array, Array]:
    """M and N u of our model in the report's speeds."""
    model = interpreted(module_of(chain))
    back = np.linalg.inv(absolute_rates(chain.n))
    q = np.concatenate([[0.3, -0.2], np.diff(phi, prepend=0.0)])
    return back.T @ model.mass_matrix(q) @ back, back.T @ model.bias(q, back @ u)


def random_motion(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-3, 3, n), rng.normal(size=n + 2)


def far(actual: Array, expected: Array, floor: float) -> float:
    """Greatest difference, relative to each number; those below the floor count as if they were as large."""
    return float((np.abs(actual - expected) / np.maximum(np.abs(expected), floor)).max())


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_stanford08_the_recursion_is_our_model(n: int, claims: Claims) -> None:
    chain, off = random_chain(n, n), 0.0
    for seed in range(20):
        phi, u = random_motion(n, seed)
        M, N = recursion(chain, phi, u)
        mass, bias = ours(chain, phi, u)
        off = max(off, far(mass, M, 1.0), far(bias, N @ u, 1.0))
    claims.below("Stanford 8", f"chain of {n} links: our model against the report's recursion", 1e-10, off)


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_stanford08_the_closed_form_is_the_recursion(n: int, claims: Claims) -> None:
    chain, off = random_chain(n, n), 0.0
    for seed in range(20):
        phi, u = random_motion(n, seed)
        M, N = recursion(chain, phi, u)
        closed_M, closed_N = closed_form(chain, phi, u[:n])
        off = max(off, far(closed_M, M[:n, :n], 1e-2), far(closed_N, N[:n, :n], 1e-2))
    claims.below("Stanford 8", f"chain of {n} links: closed form against the recursion", 1e-10, off)


@pytest.mark.parametrize("n", [2, 3, pytest.param(5, marks=pytest.mark.slow)])
def test_stanford08_a_lagrangian_gives_the_same(n: int, claims: Claims) -> None:
    """d/dt dT/dq' - dT/dq for q = (phi_1..phi_n, x, y), by symbolic differentiation."""
    chain = random_chain(n, n)
    q, w = sp.symbols(f"q:{n + 2}"), sp.symbols(f"w:{n + 2}")
    place, T = sp.Matrix(q[n:]), sp.Integer(0)
    for i in range(n):
        R = sp.Matrix([[sp.cos(q[i]), -sp.sin(q[i])], [sp.sin(q[i]), sp.cos(q[i])]])
        velocity = (place + R * sp.Matrix(chain.centre[i])).jacobian(q) * sp.Matrix(w)
        T += (chain.mass[i] * velocity.dot(velocity) + chain.inertia[i] * w[i] ** 2) / 2
        place += R * sp.Matrix([chain.length[i], 0.0])
    momentum = sp.Matrix([T]).jacobian(w)
    bias = momentum.jacobian(q) * sp.Matrix(w) - sp.Matrix([T]).jacobian(q).T
    lagrangian, off = sp.lambdify([*q, *w], [momentum.jacobian(w), bias], "numpy"), 0.0
    for seed in range(10):
        phi, u = random_motion(n, seed)
        M, h = lagrangian(*phi, 0.3, -0.2, *u)
        mass, velocity_terms = ours(chain, phi, u)
        off = max(off, far(mass, np.array(M, dtype=float), 1.0), far(velocity_terms, np.ravel(h), 1.0))
    claims.below("Stanford 8", f"chain of {n} links: our model against a Lagrangian", 1e-10, off)


@pytest.mark.parametrize("b", [0, 2, 4])
def test_stanford08_kinetic_energy_does_not_depend_on_the_reference_point(b: int, claims: Claims) -> None:
    chain, off = random_chain(5, 5), 0.0
    for seed in range(20):
        phi, u = random_motion(5, seed)
        arms = [J @ turned(phi[r], np.array([chain.length[r], 0.0])) for r in range(b)] + [
            J @ turned(phi[b], chain.centre[b])
        ]
        moved = u.copy()
        moved[5:] += sum(rate * arm for rate, arm in zip(u, arms, strict=False))  # velocity of link b's mass centre
        from_start, from_middle = recursion(chain, phi, u)[0], recursion(chain, phi, moved, b)[0]
        off = max(off, abs(moved @ from_middle @ moved / (u @ from_start @ u) - 1))
    claims.below("Stanford 8", f"kinetic energy from the centre of link {b + 1}, relative", 1e-12, off)


def test_stanford08_free_motion_of_seven_degrees_of_freedom_keeps_its_hamiltonian(claims: Claims) -> None:
    """The report's own check: five links, ten seconds in steps of 10 ms; energy by the report's formula."""
    chain = random_chain(5, 8)
    phi, u = random_motion(5, 8)
    model, A = Model(module_of(chain, "chain_of_five")), absolute_rates(5)
    q, w = np.concatenate([[0.0, 0.0], np.diff(phi, prepend=0.0)]), np.linalg.solve(A, 0.3 * u)

    def energy() -> float:
        v = A @ w
        return float(0.5 * v @ recursion(chain, np.cumsum(q[2:]), v)[0] @ v)

    start = energy()
    for _ in range(1000):
        q, w = model.rk4(q, w, np.zeros(7), 0.01)
    drift = abs(energy() / start - 1)
    claims.below("Stanford 8", "7-DOF free motion, 10 s at 10 ms: energy drift, relative", 1e-9, drift)


def test_stanford08_the_printed_forms_fail(claims: Claims) -> None:
    """Off by order one in SI units (erratum E5); so is the slip m^j+1 + m^j+3 + ...."""
    chain, off = random_chain(5, 5), np.inf
    for seed in range(10):
        phi, u = random_motion(5, seed)
        mass, bias = ours(chain, phi, u)
        M, N = printed_form(chain, phi, u[:5])
        off = min(off, np.abs(M - mass[:5, :5]).max())
        assert np.abs(N @ u[:5] - bias[:5]).max() > 0.01 * np.abs(bias[:5]).max()
        slipped = mass[0, 0] - chain.mass[2] * chain.length[0] ** 2
        assert abs(slipped - closed_form(chain, phi, u[:5])[0][0, 0]) > 0.01
    claims.above("Stanford 8", "mass matrix of the closed form as printed is off by", 0.1, off, "kg m^2")


# --- appendix C without the wheel: the chain from tip 1 over the base to tip 2

LEAP_L = np.array([0.24, 0.15, 0.025, 0.3, 0.15, 0.025, 0.3, 0.24, 0.15, -0.025, 0.3, 0.15, -0.025, 0.3])
LEAP_M = np.array([45.0, 1.0, 1.0, 1.0, 1.0])
LEAP_I = np.array([1.3, 0.0075, 0.0075, 0.0075, 0.0075])
TH1, TH2 = 2.2, 0.9


def leap(q: Array, u: Array) -> tuple[Array, Array]:
    """M (C.17) and f_I of the vehicle with a wheel that weighs nothing, without the wheel's row."""
    theta = np.array([TH1, TH2, 0.0])
    vehicle = Leap(np.append(LEAP_L, 0.0), np.append(LEAP_M, 0.0), np.append(LEAP_I, 0.0), theta)
    M, f = vehicle.equations(q, u)
    return M[:7, :7], f[:7]


def leap_as_chain() -> tuple[Chain, float]:
    """Forearm 1, upper arm 1, base, upper arm 2, forearm 2, x axes from tip 1 to tip 2; and the angle of the base's."""
    l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14 = LEAP_L
    shoulder1, shoulder2 = turned(TH1, np.array([l1, 0.0])), turned(TH2, np.array([l8, 0.0]))
    across = shoulder2 - shoulder1
    alpha = float(np.arctan2(across[1], across[0]))
    order = [2, 1, 0, 3, 4]
    lengths = np.array([l7, l4, np.hypot(*across), l11, l14])
    centres = np.array([(l7 - l5, -l6), (l4 - l2, -l3), turned(-alpha, -shoulder1), (l9, l10), (l12, l13)])
    return Chain(LEAP_M[order], LEAP_I[order], lengths, centres), alpha


def test_stanford08_the_chain_around_the_base_is_leap_without_its_wheel(claims: Claims) -> None:
    (chain, alpha), off = leap_as_chain(), 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q, u_chain = rng.uniform(-3, 3, 7), rng.normal(size=7)
        q3, q4, q5, q6, q7 = q[2:]
        phi = np.array([q3 + q4 + q5, q3 + q4, q3 + alpha, q3 + q6, q3 + q6 + q7])
        M, N = recursion(chain, phi, u_chain, reference=2)
        # u_leap = S u_chain: body axes, and base, upper arm 1, forearm 1, upper arm 2, forearm 2
        S, S_dot = np.zeros((7, 7)), np.zeros((7, 7))
        S[:2, 5:] = turned(-q3, np.eye(2))
        S_dot[:2, 5:] = -u_chain[2] * J @ S[:2, 5:]
        S[[2, 3, 4, 5, 6], [2, 1, 0, 3, 4]] = 1.0
        leap_M, f_I = leap(q, S @ u_chain)
        off = max(off, far(S.T @ leap_M @ S, M, 1.0))
        off = max(off, far(S.T @ (leap_M @ S_dot @ u_chain - f_I), N @ u_chain, 1.0))
    what = "the two-arm vehicle of appendix C without its wheel is the report's chain"
    claims.below("Stanford 8", what, 1e-12, off)


def test_stanford08_leap_without_its_wheel_is_our_model(claims: Claims) -> None:
    """The same vehicle as a tree: base with two arms."""
    l1, l2, l3, l4, l5, l6, _, l8, l9, l10, l11, l12, l13, _ = LEAP_L
    # arm 1 is measured from -b1: its link axes are turned by pi at the shoulder
    joints = [("base", "upper1", turned(TH1, np.array([l1, 0.0])), np.pi), ("upper1", "fore1", (l4, 0.0), 0.0)]
    joints += [("base", "upper2", turned(TH2, np.array([l8, 0.0])), 0.0), ("upper2", "fore2", (l11, 0.0), 0.0)]
    names, centres = ["base", "upper1", "fore1", "upper2", "fore2"], [(0, 0), (l2, l3), (l5, l6), (l9, l10), (l12, l13)]
    module = Module(
        name="leap_without_wheel",
        dimension="planar",
        base="floating",
        bodies=tuple(
            Body(name=n, mass_kg=m, com_m=c, inertia_kg_m2=float(moment))
            for n, m, c, moment in zip(names, LEAP_M, centres, LEAP_I, strict=True)
        ),
        joints=tuple(
            Joint(name=f"to_{child}", parent=parent, child=child, origin_m=tuple(at), rotation_rad=(0, 0, yaw))
            for parent, child, at, yaw in joints
        ),
    )
    model = interpreted(module)
    assert [v.name for v in model.velocities[3:]] == ["to_upper1", "to_upper2", "to_fore1", "to_fore2"]
    mine = [0, 1, 2, 3, 5, 4, 6]  # the report's q4, q5 of arm 1 before q6, q7 of arm 2
    off = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q, q_dot = rng.uniform(-3, 3, 7), rng.normal(size=7)
        # u = S q' with absolute rates, and base velocity in body axes
        S, S_dot = np.zeros((7, 7)), np.zeros((7, 7))
        S[:2, :2] = turned(-q[2], np.eye(2))
        S_dot[:2, :2] = -q_dot[2] * J @ S[:2, :2]
        S[2:, 2] = 1.0
        S[[3, 4, 4, 5, 6, 6], [3, 3, 4, 5, 5, 6]] = 1.0
        leap_M, f_I = leap(q, S @ q_dot)
        mass = model.mass_matrix(q[mine])[np.ix_(mine, mine)]
        bias = model.bias(q[mine], q_dot[mine])[mine]
        off = max(off, far(mass, S.T @ leap_M @ S, 1.0))
        off = max(off, far(bias, S.T @ (leap_M @ S_dot @ q_dot - f_I), 1.0))
    claims.below("Stanford 8", "the two-arm vehicle of appendix C without its wheel is our model", 1e-12, off)
