"""Stanford report of 1987, appendix C, acceptance tests 10 to 13: the LEAP vehicle, free and holding its bars."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.dense_model import Model
from tests.validation.claims import Claims
from tests.validation.leap import K1, OURS, TAU, U_CLOSED, U_FREE, Array, Leap, Q, mine, order, speeds

pytestmark = pytest.mark.usefixtures("interpreted")


def random_leap(rng: np.random.Generator) -> Leap:
    return Leap(rng.uniform(0.05, 0.5, 15), rng.uniform(0.5, 50, 6), rng.uniform(0.005, 2, 6), rng.uniform(-3, 3, 3))


def in_our_speeds(leap: Leap, q: Array, q_dot: Array) -> tuple[Array, Array]:
    """The printed M and velocity terms in q'."""
    S, S_dot = speeds(q, q_dot)
    M, f = leap.equations(q, S @ q_dot)
    return S.T @ M @ S, S.T @ (M @ S_dot @ q_dot - f)


# --- 10


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 206), marks=pytest.mark.slow)], ids=["6", "200"])
def test_stanford10_the_printed_mass_matrix_and_velocity_terms_are_ours(seeds: range, claims: Claims) -> None:
    off, least = 0.0, np.inf
    for seed in seeds:
        rng = np.random.default_rng(seed)
        leap = random_leap(rng)
        module, model = leap.module(), Model(leap.module())
        where = order(module)
        q, q_dot = rng.uniform(-3, 3, 8), rng.normal(size=8)
        M, h = in_our_speeds(leap, q, q_dot)
        ours = mine(module, q), mine(module, q_dot)
        off = max(off, np.abs(model.mass_matrix(ours[0])[np.ix_(where, where)] - M).max() / M.max())
        off = max(off, np.abs(model.bias(*ours)[where] - h).max() / np.abs(h).max())
        least = min(least, np.linalg.eigvalsh(leap.equations(q, q_dot)[0]).min())
    what = f"LEAP, {len(seeds)} random vehicles"
    claims.below("Stanford 10", f"{what}: printed equations against our model, relative", 1e-10, off)
    claims.above("Stanford 10", f"{what}: least eigenvalue of the printed mass matrix", 1e-6, least)


def test_stanford10_the_inertia_forces_of_the_regression_state(claims: Claims) -> None:
    M, f = OURS.equations(Q, U_FREE)
    expected = [
        0.01310026056956409, 0.10987113246681635, 0.007578701917095944, -0.0029594120980347793, 0.004739496588293628,
        0.009208287729853562, -0.0012281751000844375, 0.0,
    ]  # fmt: skip
    claims.equal("Stanford 10", "LEAP, one fixed state: inertia forces", expected, f, 1e-7)
    assert np.linalg.solve(M, f + K1 @ TAU) == pytest.approx(
        [0.029961168604494826, 0.0198214352686118, -0.7505714545722176, 5.69630613477616, -8.648026947402393,
         3.3983051882620083, -1.7201165835695162, -1.0], abs=1e-9,
    )  # fmt: skip


# --- 11 and 12


def held(q: Array, u: Array, tau: Array, bars: list[str] | None = None):
    """Speeds' rates and tip forces of ours, in the report's terms."""
    system = OURS.system(q)
    module, closed = system.modules["leap"], system.contact_set(bars)
    S = speeds(q, np.zeros(8))[0]
    q_dot = np.linalg.solve(S, u)
    S_dot = speeds(q, q_dot)[1]
    force = mine(module, S.T @ K1 @ tau)
    motion = closed.accelerate(mine(module, q), mine(module, q_dot), force)
    return closed, S @ motion.acceleration[order(module)] + S_dot @ q_dot, motion


def tip_forces(q: Array, force: Array) -> Array:
    """f_T: bar on arms, along -d1, -d2 and -f1, -f2 (positive first component: the forearm is pressed)."""
    d, f = q[2] + q[3] + q[4] + np.pi, q[2] + q[5] + q[6]
    axes = [np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) for a in (d, f)]
    return np.concatenate([-axes[0] @ force[:2], -axes[1] @ force[2:]])


def test_stanford11_both_hands_on_the_bar(claims: Claims) -> None:
    _, u_dot, motion = held(Q, U_CLOSED, TAU)
    K2, A, b = OURS.contact(Q, U_CLOSED)
    M, f_I = OURS.equations(Q, U_CLOSED)
    # tip velocity and acceleration
    what = "LEAP, both hands on the bar"
    claims.below("Stanford 11", f"{what}: velocity of the hands", 1e-12, np.abs(A @ U_CLOSED).max(), "m/s")
    claims.below("Stanford 11", f"{what}: acceleration of the hands", 1e-10, np.abs(A @ u_dot - b).max(), "m/s^2")
    # C.30, and the multipliers of a dense KKT solve
    f_T = tip_forces(Q, motion.force)
    solved = np.linalg.solve(A @ np.linalg.solve(M, K2), b - A @ np.linalg.solve(M, f_I + K1 @ TAU))
    kkt = np.linalg.solve(np.block([[M, -K2], [A, np.zeros((4, 4))]]), np.concatenate([f_I + K1 @ TAU, b]))
    claims.below("Stanford 11", f"{what}: forces against C.30", 1e-9, np.abs(f_T - solved).max(), "N")
    claims.below("Stanford 11", f"{what}: forces against a dense solve", 1e-9, np.abs(f_T - kkt[8:]).max(), "N")
    claims.below("Stanford 11", f"{what}: their power", 1e-9, abs(f_T @ K2.T @ U_CLOSED), "W")
    expected = [-1.5869226713956759, -0.3321251706528124, 0.9889249649114631, 0.15595241131038542]
    claims.equal("Stanford 11", f"{what}, one fixed state: forces", expected, f_T, 1e-6, "N")
    assert u_dot == pytest.approx(
        [0.017960693976943574, 0.014230283450556802, -0.7015114815135315, 0.6134397700610406, 0.019029803253989577,
         0.7604116746002351, -0.1842253099505774, -1.0], abs=1e-9,
    )  # fmt: skip


def test_stanford12_a_straight_elbow_leaves_the_forces_finite_and_the_reduction_not(claims: Claims) -> None:
    q = Q.copy()
    q[4] = 0.0
    _, A, b = OURS.contact(q, np.zeros(8))
    _, u_dot, motion = held(q, np.zeros(8), TAU)
    assert np.isfinite(motion.force).all()
    claims.above("Stanford 12", "straight elbow: sine of the contacts' independence", 1e-3, motion.independence)
    off = np.abs(A @ u_dot - b).max()
    claims.below("Stanford 12", "straight elbow: acceleration of the hands", 1e-10, off, "m/s^2")
    M, _ = OURS.equations(q, np.zeros(8))
    # Expected was less than 100. Along the straight arm the whole vehicle resists, across it a light forearm: 170 is
    # what that ratio makes with the data of LEAP, and still far from singular.
    condition = np.linalg.cond(A @ np.linalg.solve(M, OURS.contact(q, np.zeros(8))[0]))
    claims.below("Stanford 12", "straight elbow: condition of the matrix of C.30", 200, condition)
    assert not np.isfinite(OURS.reduction(q)).all()


# --- 13


@pytest.mark.parametrize(
    ("bars", "freedom", "motors", "squeezes"),
    [(["bar1", "bar2"], 4, 4, 1), (["bar1"], 6, 5, 0), (["bar2"], 6, 5, 0), ([], 8, 5, 0)],
    ids=["both hands", "arm 1", "arm 2", "free"],
)
def test_stanford13_degrees_of_freedom_and_what_the_motors_reach(
    bars: list[str], freedom: int, motors: int, squeezes: int, claims: Claims
) -> None:
    closed, rest, still = held(Q, np.zeros(8), np.zeros(5), bars)
    left = 8 - np.linalg.matrix_rank(closed.constraint_matrix(mine(OURS.module(), Q)), tol=1e-9)
    reached, squeezed = [], []
    for torque in np.eye(5):
        _, u_dot, motion = held(Q, np.zeros(8), torque, bars)
        reached.append(u_dot - rest)
        squeezed.append(motion.force - still.force)
    response = np.array(reached).T
    what = f"LEAP holding {' and '.join(bars) or 'nothing'}: freedoms, and how many the motors reach"
    claims.equal("Stanford 13", what, [freedom, motors], [left, np.linalg.matrix_rank(response, tol=1e-9)], 0)
    idle = np.linalg.svd(response)[2][motors:]
    assert len(idle) == squeezes
    for torque in idle:
        # Torques that move nothing press the hands against each other along the line between them.
        pressed = torque @ np.array(squeezed)
        line = OURS.tips(Q)[1] - OURS.tips(Q)[0]
        assert pressed[:2] == pytest.approx(-pressed[2:], abs=1e-9)
        assert abs(pressed[0] * line[1] - pressed[1] * line[0]) < 1e-9 * np.linalg.norm(pressed)
        assert abs(torque[4]) < 1e-9
