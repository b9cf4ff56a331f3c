"""Links cut into rigid segments joined by springs: what Bonaventura 2002, appendix B, built in Working Model.

Absolute angles of all segments, Lagrange's equations of a planar chain: large rotations, no modes, no linearisation.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from tests.support.flexible_arms import EI, LINE_DENSITY, Array
from tests.validation.bonaventura_machine import Equations

#: Table 34: springs against EI n / L (eq. 136)
SCALE = {4: 0.60, 6: 0.72, 8: 0.81, 10: 0.83}


def chain(
    lengths: Sequence[float], segments: Sequence[int], tip_mass: float = 0.0, base: tuple[float, float] = (0.0, 0.0)
) -> Equations:
    """Links one after the other on the ground, each in so many segments; one segment is a rigid link."""
    link = np.repeat(np.arange(len(lengths)), segments)
    l = np.array(lengths)[link] / np.array(segments)[link]  # noqa: E741
    m = LINE_DENSITY * l
    after = np.cumsum(m[::-1])[::-1] - m + tip_mass
    n = len(l)
    # Each segment before j carries half the mass of segment j and all segments after it.
    inner = np.minimum.outer(np.arange(n), np.arange(n)), np.maximum.outer(np.arange(n), np.arange(n))
    A = l[inner[0]] * (l * (m / 2 + after))[inner[1]]
    A[np.diag_indices(n)] = l**2 * (m / 3 + after)
    q, u = ca.SX.sym("q", n), ca.SX.sym("u", n)
    c, s = ca.cos(q), ca.sin(q)
    first = np.searchsorted(link, np.arange(len(lengths)))
    push = np.zeros((n, len(lengths)))
    for i, at in enumerate(first):
        push[at, i] = 1.0
        if i:
            push[at - 1, i] = -1.0
    # H_ij = A_ij cos(q_i - q_j), and the same with the sine on the squares of the rates.
    H, turning = A * (c @ c.T + s @ s.T), A * (s @ c.T - c @ s.T)
    rest = turning @ u**2 + stiffness(lengths, segments) @ q
    made = Equations(q, u, H, rest, ca.DM(push), q[first.tolist()], {}, symmetric=True)
    tip = ca.SX(base) + ca.vertcat(ca.dot(l, c), ca.dot(l, s))
    J = ca.vertcat(-(l * s).T, (l * c).T, ca.DM(np.eye(n)[-1:]))
    made.points["tip"] = made.spot(tip, J)
    return made


def stiffness(lengths: Sequence[float], segments: Sequence[int]) -> Array:
    """Of the springs between the segments of each link."""
    n = sum(segments)
    K, at = np.zeros((n, n)), 0
    for L, count in zip(lengths, segments, strict=True):
        for i in range(at, at + count - 1):
            K[i : i + 2, i : i + 2] += SCALE[count] * EI * count / L * np.array([[1, -1], [-1, 1]])
        at += count
    return K


def deflection(q: Array, length: float, segments: int, first: int = 0) -> Array:
    """Of the tip of a link from the line of its first segment, for rows of angles."""
    angles = q[:, first : first + segments]
    bent: Array = length / segments * np.sin(angles - angles[:, :1]).sum(axis=1)
    return bent
