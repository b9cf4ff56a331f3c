"""Lilly and Orin 1991, acceptance tests 3 to 9: m chains of N joints around one body against dense equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.peers.interpreted import interpreted
from tests.support.random_systems import Array, Referee, closed_chains, dense_solve, split
from tests.validation.claims import Claims
from tests.validation.lilly_operational import operational

pytestmark = pytest.mark.usefixtures("interpreted")

#: chains, joints of each, and how they hold the body: six directions or the three of a hard point
CASES = [
    (1, 6, "rigid_grasp"),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in (
        (3, 6, "hard_point"), (3, 6, "rigid_grasp"), (2, 7, "rigid_grasp"), (4, 5, "hard_point"),
        (3, 4, "hard_point"), (5, 8, "hard_point"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("m", "n", "kind"), CASES)
def test_l03_l04_l05_l06_a_full_step_is_one_dense_kkt_solve(m: int, n: int, kind: str, claims: Claims) -> None:
    system, q, u = closed_chains(m, n, kind, seed=10 * m + n)
    closed, rng = system.contact_set(), np.random.default_rng(1)
    force, free = rng.normal(size=system.n_u), rng.normal(size=closed.n_free)
    referee = Referee(system, closed)
    motion = closed.accelerate(q, u, force, free_force=free)
    # Free forces, here moments in the axes of the body's points, push the body back and the chains forward.
    pushed = force + _moments(system, q, free) if len(free) else force
    M, h = referee.mass_and_bias(q, u)
    A, bias = referee.constraints(q, u)
    acceleration, held = dense_solve(M, h, A, bias, pushed)
    what = f"{m} chains of {n} joints, {kind.replace('_', ' ')}"
    for name, ours, expected in (("accelerations", motion.acceleration, acceleration), ("forces", motion.force, held)):
        off = np.abs(ours - expected).max() / np.abs(expected).max()
        claims.below("Lilly-Orin L03", f"{what}: {name} against one dense solve, relative", 1e-9, off)

    # 4 and 6: the body (eq. 43) and every chain (eq. 8) obey their own equations under the forces found
    balance = M @ motion.acceleration + h - pushed - A.T @ motion.force
    balance = np.abs(balance) / max(np.abs(motion.force).max(), np.abs(h).max(), 1)
    claims.below("Lilly-Orin L04", f"{what}: forces on the body that do not balance", 1e-11, balance[-6:].max())
    claims.below("Lilly-Orin L06", f"{what}: forces on the chains that do not balance", 1e-11, balance[:-6].max())
    # 5: the contacts hold (eq. 30)
    held_off = np.abs(A @ motion.acceleration + bias).max()
    unit = "m/s^2, rad/s^2"
    claims.below("Lilly-Orin L05", f"{what}: accelerations that the contacts should hold", 1e-10, held_off, unit)


def _moments(system, q: Array, free: Array) -> Array:
    """The generalised force of moments at hard points, given in the axes of the body's points."""
    qs = split(system, q, "q")
    load, total = (
        system.modules["load"],
        {n: np.zeros(len(x)) for n, x in split(system, np.zeros(system.n_u), "u").items()},
    )
    for k, moment in enumerate(free.reshape(-1, 3)):
        world = Rotation.from_euler("xyz", load.points[k].rotation_rad).apply(moment)  # the body itself is not turned
        name = f"chain{k}"
        J = interpreted(system.modules[name]).point("tip", qs[name], np.zeros(len(total[name]))).jacobian
        total[name] += J[3:].T @ world
        total["load"][3:] -= world
    return np.concatenate(list(total.values()))


@pytest.mark.parametrize(("m", "n", "kind"), CASES[:2])
def test_l07_the_body_has_a_positive_definite_inertia_no_less_than_its_own(
    m: int, n: int, kind: str, claims: Claims
) -> None:
    """7: the coefficient matrix of eq. 45, seen from outside: force on the body over its acceleration."""
    system, q, u = closed_chains(m, n, kind, seed=10 * m + n)
    closed, still = system.contact_set(), np.zeros(system.n_u)
    rest = closed.accelerate(q, u, still).acceleration[-6:]
    pushes = [closed.accelerate(q, u, np.eye(system.n_u)[i]).acceleration[-6:] - rest for i in range(-6, 0)]
    inertia = np.linalg.inv(np.stack(pushes, axis=1))
    alone = interpreted(system.modules["load"]).mass_matrix(q[-7:])
    what = f"{m} chains of {n} joints, {kind.replace('_', ' ')}: effective inertia of the body"
    skew = np.abs(inertia - inertia.T).max() / np.abs(inertia).max()
    claims.below("Lilly-Orin L07", f"{what}, asymmetry, relative", 1e-10, skew)
    more = np.linalg.eigvalsh(inertia - alone).min()
    claims.above("Lilly-Orin L07", f"{what}, least eigenvalue over its own", 0.0, more)


@pytest.mark.slow
def test_l08_rigidly_grasping_six_joint_chains_add_their_operational_inertia(claims: Claims) -> None:
    """8: (I_0 + sum Lambda_k) a_0 = sum Lambda_k x''_open - b_0 + g_0 (eq. 21), at the origin of the body."""
    system, q, u = closed_chains(3, 6, "rigid_grasp", seed=5)
    closed = system.contact_set()
    q, u = closed.project(q, u)
    force = np.random.default_rng(2).normal(size=system.n_u)
    qs, us, fs = split(system, q, "q"), split(system, u, "u"), split(system, force, "u")
    body = interpreted(system.modules["load"])
    inertia, push = body.mass_matrix(qs["load"]).copy(), fs["load"] - body.bias(qs["load"], us["load"])
    for k in range(3):
        name = f"chain{k}"
        Lambda, x_open = operational(interpreted(system.modules[name]), qs[name], us[name], fs[name])
        inertia, push = inertia + Lambda, push + Lambda @ x_open
    expected = np.linalg.solve(inertia, push)
    acceleration = closed.accelerate(q, u, force).acceleration[-6:]
    off = np.abs(acceleration / expected - 1).max()
    claims.below("Lilly-Orin L08", "body held rigidly by 3 chains of 6 joints, by eq. 21, relative", 1e-9, off)


def test_l09_without_chains_the_body_is_free(claims: Claims) -> None:
    """9: I_0 a_0 = g_0 - b_0."""
    system, q, u = closed_chains(2, 6, "rigid_grasp", seed=5)
    body = interpreted(system.modules["load"])
    motion = system.contact_set([]).accelerate(q, u, np.zeros(system.n_u))
    expected = np.linalg.solve(body.mass_matrix(q[-7:]), -body.bias(q[-7:], u[-6:]))
    off = (np.abs(motion.acceleration[-6:] - expected) / np.maximum(1.0, np.abs(expected))).max()
    claims.below("Lilly-Orin L09", "a body that nothing holds, relative", 1e-13, off)
