"""Stanford report of 1987, section 4.4: the single-arm free-flyer with five degrees of freedom (acceptance test 1).

The report moves the bodies with absolute rates, u = Y q', and does not print M and V; the closed form here is
derived for those rates. Ours is M_q = Y^T M Y, h_q = Y^T V u, F_q = Y^T F.
"""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.loader import load
from granite.kernels.kernel import Array
from tests.support.dense_model import Model
from tests.validation.claims import Claims

MODEL = Model(load("free-flyer/printed-inertias").modules[0])
Y = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 1.0]])

# Table 4.1; the shoulder sits at the radius of the base
M_B, M_L1, M_L2 = 50.0, 1.0, 1.0
I_B = I_L1 = I_L2 = 0.13  # as printed, though impossible (erratum E12)
L1 = 0.30
P0, SHOULDER, P1, P2 = (np.array(p) for p in ((0.025, 0.051), (0.24, 0.0), (0.15, 0.025), (0.15, 0.025)))


def turned(angle: float, vector: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ vector


def cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def closed_form(q: Array, u: Array) -> tuple[Array, Array]:
    """M and V of M u' + V u = F, u absolute."""
    a3, a4, a5 = np.cumsum(q[2:])
    w = {
        2: turned(a3, M_B * P0 + (M_L1 + M_L2) * SHOULDER),
        3: turned(a4, M_L1 * P1 + M_L2 * np.array([L1, 0.0])),
        4: turned(a5, M_L2 * P2),
    }
    S, E = turned(a3, SHOULDER), turned(a4, np.array([L1, 0.0]))
    M, V = np.zeros((5, 5)), np.zeros((5, 5))
    M[0, 0] = M[1, 1] = M_B + M_L1 + M_L2
    for k in (2, 3, 4):
        M[:2, k] = M[k, :2] = -w[k][1], w[k][0]
        V[:2, k] = -w[k] * u[k]
    M[2, 2] = I_B + M_B * P0 @ P0 + (M_L1 + M_L2) * SHOULDER @ SHOULDER
    M[3, 3] = I_L1 + M_L1 * P1 @ P1 + M_L2 * L1**2
    M[4, 4] = I_L2 + M_L2 * P2 @ P2
    for i, j, arm in ((2, 3, S), (2, 4, S), (3, 4, E)):
        M[i, j] = M[j, i] = arm @ w[j]
        V[i, j], V[j, i] = -cross(arm, w[j]) * u[j], cross(arm, w[j]) * u[i]
    return M, V


def test_stanford01_mass_matrix_and_velocity_terms_are_the_closed_form(claims: Claims) -> None:
    rng, off_M, off_h = np.random.default_rng(1987), 0.0, 0.0
    for _ in range(100):
        q, q_dot = rng.uniform(-3, 3, 5), rng.normal(size=5)
        M, V = closed_form(q, Y @ q_dot)
        ours, theirs = MODEL.mass_matrix(q), Y.T @ M @ Y
        off_M = max(off_M, np.abs(ours - theirs).max() / np.abs(theirs).max())
        ours, theirs = MODEL.bias(q, q_dot), Y.T @ V @ Y @ q_dot
        off_h = max(off_h, np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))
    what = "of the 5-DOF vehicle, 100 random states, against a closed form, relative"
    claims.below("Stanford 1", f"mass matrix {what}", 1e-10, off_M)
    claims.below("Stanford 1", f"velocity terms {what}", 1e-10, off_h)


def test_stanford01_accelerations_of_the_regression_case(claims: Claims) -> None:
    q = np.array([0.0, 0.0, np.pi / 6, np.pi / 4, -np.pi / 3])
    u = np.array([0.1, -0.2, 0.3, 0.4, -0.5])
    F = np.array([1.0, 0.5, 0.2, 0.1, -0.05])
    u_dot = Y @ MODEL.forward_dynamics(q, np.linalg.solve(Y, u), Y.T @ F)
    golden = [0.09580565343625871, 0.012420618606141163, 1.2546178554124998, 0.2134422589218382, -0.5975396620643214]
    claims.equal("Stanford 1", "accelerations of one fixed case", golden, u_dot, 1e-9)


def test_the_mass_matrix_of_the_regression_case() -> None:
    q = np.array([0.0, 0.0, np.pi / 6, np.pi / 4, -np.pi / 3])
    back = np.linalg.inv(Y)
    golden = [
        [52.0, 0.0, -3.0733647796503183, -0.44113709795764366, -0.06297100242260481],
        [0.0, 52.0, 0.22322394854707925, 0.09232042463890772, 0.13841839781579723],
        [-3.0733647796503183, 0.22322394854707925, 0.4065, 0.07212489168102784, 0.03632624401702158],
        [-0.44113709795764366, 0.09232042463890772, 0.07212489168102784, 0.243125, 0.028995190528383296],
        [-0.06297100242260481, 0.13841839781579723, 0.03632624401702158, 0.028995190528383296, 0.153125],
    ]
    assert back.T @ MODEL.mass_matrix(q) @ back == pytest.approx(np.array(golden), abs=1e-12)
