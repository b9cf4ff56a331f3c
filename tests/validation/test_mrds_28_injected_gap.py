"""Bonaventura 2002, section 6.4: a gap decays as x'' = -B^c (K_v x' + K_p x) says (acceptance test 28).

Feedback on the contact force, F^c - K_v x' - K_p x with eq. 104 corrected, moves the gap x through B^c = A H^-1 A^T. In
`mrds` it is an acceleration demanded along the constrained modes. Two flexible arms at rest, tips joined but apart.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from granite.mrds.system import System
from tests.support.flexible_arms import Array
from tests.support.random_systems import Referee
from tests.validation.bonaventura_systems import GAINS, UPRIGHT, parallel_arms
from tests.validation.claims import Claims

INJECTED, DURATION, STEP = 1e-4, 4.0, 2e-3


@pytest.fixture(scope="module")
def loop():
    closed = parallel_arms((1.0, 1.0), 2.0)
    return closed, Referee(System(list(closed.modules.values()), closed.contacts), closed)


def mobility(loop, q: Array) -> Array:
    """B^c."""
    closed, referee = loop
    A, H = closed.constraint_matrix(q), referee.mass_and_bias(q, np.zeros(12))[0]
    return A @ np.linalg.solve(H, A.T)


def gaps(loop, gains: tuple[float, float]) -> Array:
    """Of every step, from rest with the tips apart."""
    closed, _ = loop
    q, u = UPRIGHT.copy(), np.zeros(12)
    q[[0, 6]] += INJECTED, -2 * INJECTED
    sizes = [closed.errors(q, u)[0]]
    B = mobility(loop, q)  # all stays where it is but for the gap

    def rate(x: Array) -> Array:
        gap, slip = closed.errors(x[:12], x[12:])
        pulled = -B @ (gains[0] * slip + gains[1] * gap)
        return np.concatenate([x[12:], closed.accelerate(x[:12], x[12:], np.zeros(12), prescribed=pulled).acceleration])

    x = np.concatenate([q, u])
    for _ in range(round(DURATION / STEP)):
        k1 = rate(x)
        k2 = rate(x + STEP / 2 * k1)
        k3 = rate(x + STEP / 2 * k2)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + STEP * k3))
        sizes.append(closed.errors(x[:12], x[12:])[0])
    return np.array(sizes)


def test_mrds28_a_gap_decays_as_the_mobility_of_the_contact_says(loop, claims: Claims) -> None:
    """By symmetry B^c is diagonal here: along y the gap creeps back, along x it swings."""
    K_v, K_p = GAINS
    widths, B = gaps(loop, GAINS), mobility(loop, UPRIGHT)
    slow = max(np.roots([1.0, K_v * B[1, 1], K_p * B[1, 1]]))
    rate = np.log(widths[-1, 1] / widths[len(widths) // 2, 1]) / (DURATION / 2)
    claims.near("MRDS 28", "decay of an injected gap along y, by its slower eigenvalue", slow, rate, 0.1, "1/s")
    motion = np.block([[np.zeros((2, 2)), np.eye(2)], [-K_p * B, -K_v * B]])
    left = (expm(motion * DURATION) @ np.concatenate([widths[0], [0.0, 0.0]]))[:2]
    for axis, expected, got in zip("xy", left, widths[-1], strict=True):
        claims.near(
            "MRDS 28", f"what is left after 4 s along {axis}, by x'' = -B^c (K_v x' + K_p x)", expected, got, 0.1, "m"
        )


def test_mrds28_without_feedback_it_stays(loop, claims: Claims) -> None:
    widths = gaps(loop, (0.0, 0.0))
    claims.near(
        "MRDS 28", "the same without feedback", np.linalg.norm(widths[0]), np.linalg.norm(widths[-1]), 1e-6, "m"
    )
