"""Sun 1996, chapters 2 to 4: one flexible arm whose hand is led, by formula and by contact forces (tests 1 and 2).

Given the acceleration of the hand, torques and accelerations are affine in the wrench on the object (4.7 to 4.9). Here
the object is the ground, which leads the hand: what our contacts find must obey the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from granite.config.contacts import Contact, Side
from granite.kernels.kernel import Array
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.support.quick_cases import quick
from tests.validation.claims import Claims
from tests.validation.sun_testbed import BASES, LEFT, Arm, Matrices, arm, jacobian, motions

pytestmark = pytest.mark.usefixtures("interpreted")

SETUPS = ["FRR", "RFR", "FFR"]


@dataclass(frozen=True)
class LedArm:
    """An arm in motion, and what happens when its hand is led and its joints are driven."""

    matrices: Matrices
    f_r: Array  #: velocity, strain and damping terms on the joints
    f_e: Array  #: and on the elements
    a: Array  #: acceleration of the hand less its velocity terms
    torque: Array
    q_r: Array  #: accelerations that our contacts find
    q_e: Array
    on_arm: Array  #: wrench of the ground on the hand


@cache
def sets(links: str) -> tuple[Arm, ContactSet, ContactSet]:
    """The arm, and its contact sets with the hand free and with the hand led by the ground."""
    straight = arm(links, LEFT, BASES[0])
    tip = Side(module=straight.grip[0], point=straight.grip[1])
    grip = Contact(name="grip", kind="rigid_grasp", first=Side(), second=tip)
    system = System(list(straight.system.modules.values()), [*straight.system.contacts.values(), grip])
    return straight, straight.closed, system.contact_set()


def led(links: str, seed: int, driven: bool) -> LedArm:
    """A bent arm in motion, led by its hand."""
    rng = np.random.default_rng(seed)
    straight, free, held = sets(links)
    q = straight.pose.copy()
    q[list(straight.amplitudes)] = 1e-3 * rng.normal(size=len(straight.amplitudes))
    q, _ = free.project(q, np.zeros(straight.system.n_u))
    here = Arm(straight.system, straight.grip, q, straight.joints, straight.amplitudes)
    kept, n = [*here.joints, *here.amplitudes], len(here.joints)
    T = motions(here, kept, free.constraint_matrix(q))
    u = T @ rng.normal(size=len(kept))
    M, drift, at = np.zeros((len(u), len(u))), np.zeros(3), 0
    for name, module in here.system.modules.items():
        model = interpreted(module)
        part = slice(at, at + model.n_u)
        M[part, part] = model.mass_matrix(q[part])
        if name == here.grip[0]:
            drift = model.point(here.grip[1], q[part], u[part]).drift[[0, 1, 5]].copy()
        at += model.n_u
    J_all = jacobian(here, *here.grip)
    J = J_all @ T
    matrices = Matrices(T.T @ M @ T, np.zeros((len(kept), len(kept))), J, n)
    # Without torque and hold: what is not acceleration is force.
    alone = free.accelerate(q, u, np.zeros(len(u))).acceleration
    force = matrices.M @ alone[kept]
    wanted, torque = 10 * rng.normal(size=3), 100 * rng.normal(size=n) if driven else np.zeros(n)
    a = wanted - (J_all @ alone + drift - J @ alone[kept])
    prescribed, push = np.zeros(held.n_held), np.zeros(len(u))
    prescribed[held.rows["grip"]], push[list(here.joints)] = wanted, torque
    motion = held.accelerate(q, u, push, prescribed=prescribed)
    acceleration = motion.acceleration[kept]
    return LedArm(
        matrices, force[:n], force[n:], a, torque, acceleration[:n], acceleration[n:], motion.force[held.rows["grip"]]
    )


def drawn(seed: int) -> LedArm:
    """Random matrices in place of an arm, and a direct solve of (4.1), (4.2) and (3.49) in place of contacts."""
    rng = np.random.default_rng(seed)
    n_r, n_e = 3, 4
    n, root = n_r + n_e, rng.normal(size=(n_r + n_e, n_r + n_e))
    matrices = Matrices(root @ root.T + np.eye(n), np.zeros((n, n)), rng.normal(size=(n_r, n)), n_r)
    f, a, on_arm = rng.normal(size=n), rng.normal(size=n_r), rng.normal(size=n_r)
    J = matrices.J
    select = np.vstack([np.eye(n_r), np.zeros((n_e, n_r))])
    K = np.block([[matrices.M, -select], [J, np.zeros((n_r, n_r))]])
    x = np.linalg.solve(K, np.concatenate([f + J.T @ on_arm, a]))
    return LedArm(matrices, f[:n_r], f[n_r:], a, x[n:], x[:n_r], x[n_r:n], on_arm)


def drawn_loose(seed: int) -> LedArm:
    """The same with loose joints, the wrench unknown."""
    x = drawn(seed)
    M, J, n = x.matrices.M, x.matrices.J, len(x.matrices.M)
    K = np.block([[M, -J.T], [J, np.zeros((3, 3))]])
    y = np.linalg.solve(K, np.concatenate([x.f_r, x.f_e, x.a]))
    return LedArm(x.matrices, x.f_r, x.f_e, x.a, np.zeros(3), y[:3], y[3:n], y[n:])


def affine(x: LedArm, sign: float = 1.0) -> tuple[tuple[Array, Array], ...]:
    """Torques, joint and elastic accelerations (4.7 to 4.9), and how much of each is the wrench's."""
    M_rr, M_re, _, _, J_r, J_e = x.matrices.blocks
    hat_re, hat_ee = x.matrices.hat
    w = -sign * x.on_arm  # the source's wrench acts on the object
    direct = np.linalg.solve(J_r, x.a)
    q_e0 = np.linalg.solve(hat_ee, x.f_e - M_re.T @ direct)
    q_r0 = np.linalg.solve(J_r, x.a - J_e @ q_e0)
    torque0 = hat_re @ q_e0 + M_rr @ direct - x.f_r
    J3T = -np.linalg.solve(hat_ee, J_e.T)
    J2T, J1T = np.linalg.solve(J_r, -J_e @ J3T), J_r.T + hat_re @ J3T
    parts = (torque0, J1T @ w), (q_r0, J2T @ w), (q_e0, J3T @ w)
    return tuple((without + wrench, wrench) for without, wrench in parts)


def missed(x: LedArm, sign: float = 1.0) -> Array:
    """Of the three, against the wrench's part: on a real arm strain makes it thousands of times the sum."""
    expected = x.torque, x.q_r, x.q_e
    parts = affine(x, sign)
    return np.array([np.abs(f - e).max() / np.abs(part).max() for (f, part), e in zip(parts, expected, strict=True)])


def test_sun01_torque_and_accelerations_are_affine_in_the_wrench(claims: Claims) -> None:
    """(4.6) to (4.9), with (3.52) to (3.55) for the part without wrench."""
    errors = np.max([missed(drawn(seed)) for seed in range(20)], axis=0)
    for name, error in zip(("torques", "joint accelerations", "elastic accelerations"), errors, strict=True):
        claims.below(
            "Sun 1", f"{name} affine in the hand's wrench, random matrices against a direct solve", 1e-10, error
        )
    # (6.2) and (6.26) print the other sign of J_e^T w.
    wrong = min(missed(drawn(seed), -1.0)[2] for seed in range(20))
    claims.above("Sun 1", "elastic accelerations with the sign of the wrench in (6.2) as printed are off", 1e-2, wrong)


@pytest.mark.parametrize("links", quick(SETUPS, "FRR"))
def test_sun01_an_arm_whose_hand_our_contacts_lead_obeys_the_affine_maps(links: str, claims: Claims) -> None:
    error = max(missed(led(links, seed, driven=True)).max() for seed in range(3))
    claims.below("Sun 1", f"the affine maps against our contacts, arm {links} bent and in motion", 1e-8, error)


def off(actual: Array, expected: Array) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def loose(x: LedArm) -> tuple[float, float, float]:
    """Errors of the corrected (3.64) to (3.66), of the inertia's other forms, and of (3.66) as printed."""
    M_rr, M_re, M_ee, _, J_r, J_e = x.matrices.blocks
    (hat_re, hat_ee), tilde = x.matrices.hat, x.matrices.tilde
    direct, X = np.linalg.solve(J_r, x.a), np.linalg.solve(J_r, J_e)
    q_e = np.linalg.solve(tilde, x.f_e - hat_re.T @ direct - X.T @ x.f_r)
    q_r = np.linalg.solve(J_r, x.a - J_e @ q_e)
    w_d = np.linalg.solve(J_r.T, hat_re @ q_e + M_rr @ direct - x.f_r)
    same = hat_ee.T - hat_re.T @ X, M_ee - M_re.T @ X - X.T @ M_re + X.T @ M_rr @ X  # (6.14), (6.11)
    skew = max(off(other, tilde) for other in (tilde.T, *same))
    printed = np.linalg.solve(tilde, x.f_e - M_re.T @ direct) + X.T @ x.f_r
    return max(off(q_e, x.q_e), off(q_r, x.q_r), off(w_d, x.on_arm)), skew, off(printed, x.q_e)


def test_sun02_a_hand_that_is_led_with_loose_joints_obeys_the_corrected_formulas(claims: Claims) -> None:
    """The printed (3.66) adds what it should multiply, and has M_re for M^_re."""
    right, skew, printed = zip(*(loose(drawn_loose(seed)) for seed in range(20)), strict=True)
    what = "hand led with loose joints"
    claims.below("Sun 2", f"{what}: corrected formulas, random matrices against a direct solve", 1e-10, max(right))
    claims.below("Sun 2", f"{what}: inertia by (6.9), (6.11), (6.14), and its transpose", 1e-10, max(skew))
    claims.above("Sun 2", f"{what}: elastic accelerations by (3.66) as printed are off", 1e-2, min(printed))


@pytest.mark.parametrize("links", SETUPS)
def test_sun02_an_arm_with_loose_joints_whose_hand_our_contacts_lead_obeys_them_too(links: str, claims: Claims) -> None:
    right, skew, printed = zip(*(loose(led(links, seed, driven=False)) for seed in range(3)), strict=True)
    claims.below(
        "Sun 2", f"hand led by our contacts with loose joints, arm {links}: corrected formulas", 1e-8, max(right)
    )
    assert max(skew) < 1e-10
    assert min(printed) > 1e-2
