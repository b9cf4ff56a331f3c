"""Mackay 1988, section 3.2: the cantilever modes in his normalisation (acceptance tests F01 and F02)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from granite.config.modules import Flexible
from granite.mrds.flexible.integrals import at_section, integrals
from granite.mrds.flexible.shapes import bending_shapes
from tests.validation.claims import Claims

A, MASS, EI = 4.0, 10.955, 2.0e11 * 1.476e-7
LINK = Flexible(length_m=A, line_density_kg_m=MASS / A, ei_n_m2=EI, modes_y=3)
ROOTS = [1.8751041, 4.6940911, 7.8547574]
TIP = np.array([2.7244411, -1.9637351, 2.0015522])


@pytest.fixture
def factor() -> np.ndarray:
    """His shape over ours, whose coefficient of the cosine is -1: the sums of sinh and sin over cosh and cos."""
    return np.array([(math.sinh(B) + math.sin(B)) / (math.cosh(B) + math.cos(B)) for B in ROOTS])


def relative(claims: Claims, what: str, expected: list[float], got: np.ndarray) -> None:
    """Every number to its own size."""
    shown = ", ".join(f"{x:.8g}" for x in expected)
    claims.below("FLX F01", f"{what}: {shown}, off by, relative", 1e-6, np.abs(got / expected - 1).max())


def test_f01_roots_are_those_of_the_clamped_beam(claims: Claims) -> None:
    relative(claims, "roots of three modes", ROOTS, np.array([shape.b * A for shape in bending_shapes(LINK)]))


def test_f01_integrals_are_his(factor: np.ndarray, claims: Claims) -> None:
    at, numbers = at_section(LINK, A), integrals(LINK)
    shapes = slice(2, 5)
    relative(claims, "his shapes at the tip", TIP.tolist(), at.phi[shapes] * factor)
    relative(claims, "their slopes there, times the length", [3.7502081, -9.3881823, 15.7095149], A * at.slope * factor)
    F = np.diag(numbers.mass)[shapes] / MASS * factor**2
    G, H = numbers.mass[1, shapes] / (MASS * A) * factor, numbers.mass[0, shapes] / MASS * factor
    relative(claims, "integrals F", [1.8556448, 0.9640639, 1.0015528], F)
    # To all decimals that are given. The last number has six digits, so 1e-6 of it is less than their rounding.
    claims.equal("FLX F01", "integrals G", [0.7748661, 0.0891210, 0.0324415], G, 5e-8)
    relative(claims, "integrals H", [1.0666075, 0.4260676, 0.2546228], H)
    K = np.diag(numbers.stiffness) * 4 * A**3 / EI * factor**2
    relative(claims, "integrals K", [91.760624, 1872.2846, 15249.828], K)


def test_f01_frequencies_of_the_clamped_link(claims: Claims) -> None:
    numbers = integrals(LINK)
    rates = np.sqrt(np.diag(numbers.stiffness) / np.diag(numbers.mass)[2:5])
    relative(claims, "frequencies of the clamped link in Hz", [3.631055, 22.75544, 63.71588], rates / (2 * np.pi))


def test_f02_the_tip_deflects_by_33_millimetres(factor: np.ndarray, claims: Claims) -> None:
    """zeta = 0.012; 0.0327 m is printed."""
    amplitude = 0.012 * factor[0]
    tip = amplitude * at_section(LINK, A).phi[2]
    claims.equal("FLX F02", "deflection of the tip, printed", 0.0327, tip, 5e-5, "m")
    claims.equal("FLX F02", "deflection of the tip, worked out", 0.032693, tip, 1e-6, "m")
