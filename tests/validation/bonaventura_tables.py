"""Numbers printed in Bonaventura 2002: torques (Tables 23 to 33), and integrals of the modes (appendix A)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.support.flexible_arms import EI, Array


@dataclass(frozen=True)
class Drive:
    """Joint torques A sin(2 pi t / T) (eq. 134), joint after joint [N m, s]."""

    amplitudes: tuple[float, ...]
    periods: tuple[float, ...]

    def __call__(self, t: float) -> Array:
        return np.array(self.amplitudes) * np.sin(2 * np.pi * t / np.array(self.periods))


SYSTEM_1 = Drive((0.02948,), (10,))  # Table 23
SYSTEM_2A = Drive((0.105, 0.011), (10, 10))  # Table 24
SYSTEM_2B = Drive((0.315, 0.111), (10, 10))  # Table 25
SYSTEM_2C = Drive((0.0531, 0.0), (10, 10))  # Table 26
SYSTEM_3 = Drive((0.105, 0.011), (10, 10))  # Table 27
SYSTEM_4 = Drive((0.01, 0.001, -0.0002, -0.00001), (80, 80, 10, 10))  # Table 28
SYSTEM_5A = Drive((0.01, 0.002, -0.002, -0.0015), (20, 15, 20, 15))  # Table 29
SYSTEM_5B = Drive((-0.01, 0.04, -0.04, -0.02), (40, 15, 15, 30))  # Table 30
SYSTEM_5C = Drive((0.25, 0.15, 0.05, 0.01), (80, 80, 40, 40))  # Table 31
SYSTEM_6A = Drive((0.02, 0.0, 0.02, 0.0), (10, 10, 10, 10))  # Table 32: left, then right
SYSTEM_6B = Drive((0.195, -0.125, 0.45, 0.001), (10, 10, 10, 10))  # Table 33

# Cantilever modes of a link of length 1, as printed; the integral of s^2 is 1.
TIP = np.array([2.0, -2.0, 2.0])
TIP_SLOPE = np.array([2.75301096934507, -9.56155682042328, 15.6973320929786])
#: integrals of s, of x s, of s''^2
FIRST = np.array([0.782991756039626, 0.433935895110719, 0.254425296866106])
MOMENT = np.array([0.568825743709911, 0.090766786886387, 3.24163743697444e-02])
CURVATURE = np.array([12.3623633683262, 485.518818513371, 3806.54626639145])


def _pairs(numbers: list[float]) -> Array:
    """Symmetric, from its entries 11, 12, 13, 22, 23, 33."""
    matrix = np.zeros((3, 3))
    matrix[np.triu_indices(3)] = numbers
    return matrix + np.triu(matrix, 1).T


#: integrals of s_i' s_j', of (1 - x^2) s_i' s_j', of (1 - x) s_i' s_j'
SLOPES = _pairs(
    [4.64777831867864, -7.37987526966198, 3.9415154871266, 32.417399027969, -22.3524444398869, 77.2988908022961]
)
SQUARE_WEIGHTED = _pairs(
    [2.38667274821651, -1.37171056689486, -1.58475844061916, 12.9564497281511, 0.338815769523045, 35.7190397578695]
)
LINE_WEIGHTED = _pairs(
    [1.57087818999425, -0.422320389109118, -1.07208483410593, 8.64714269356121, 1.89005470803216, 24.9521133081691]
)


class Modes:
    """The printed integrals for a link of length L with n modes."""

    def __init__(self, L: float, n: int) -> None:
        both = np.s_[:n, :n]
        self.L, self.n = L, n
        self.tip, self.tip_slope = TIP[:n], TIP_SLOPE[:n] / L
        self.first, self.moment = L * FIRST[:n], L**2 * MOMENT[:n]
        self.square, self.stiffness = L * np.eye(n), EI * np.diag(CURVATURE[:n]) / L**3
        self.slopes, self.line_weighted = SLOPES[both] / L, LINE_WEIGHTED[both]
        self.square_weighted = L * SQUARE_WEIGHTED[both]
