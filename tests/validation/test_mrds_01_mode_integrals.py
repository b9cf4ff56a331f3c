"""Bonaventura 2002, appendix A: the printed integrals of the cantilever modes (acceptance test 1)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.modules import Flexible
from granite.mrds.flexible.integrals import at_section, integrals
from granite.mrds.flexible.shapes import bending_shapes
from tests.support.flexible_arms import Array
from tests.validation import bonaventura_tables as printed
from tests.validation.claims import Claims

#: length, so that a wrong power of it shows
L = 1.7
LINK = Flexible(length_m=L, line_density_kg_m=1.0, ei_n_m2=1.0, modes_y=3)
PAIRS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
NUMBERS = integrals(LINK)
#: where phi has the shapes, and the integrals of the products of their slopes
S, SLOPES = slice(2, 5), slice(5, 11)


def off(actual: Array, expected: Array) -> float:
    """Greatest relative difference; matrices of pairs are printed by their upper triangles."""
    if expected.ndim == 2:
        expected = expected[np.triu_indices(3)]
    return float(np.abs(actual / expected - 1).max())


def test_mrds01_tip_values_are_the_printed_ones(claims: Claims) -> None:
    at = at_section(LINK, L)
    assert off(at.phi[S], printed.TIP) < 1e-12
    claims.below("MRDS 1", "slopes of three modes at the tip, relative", 1e-9, off(at.slope * L, printed.TIP_SLOPE))


def test_mrds01_mass_integrals_are_the_printed_ones(claims: Claims) -> None:
    assert NUMBERS.mass[S, S] == pytest.approx(L * np.eye(3), abs=1e-12)
    claims.below("MRDS 1", "integrals of s, relative", 1e-9, off(NUMBERS.mass[0, S] / L, printed.FIRST))
    claims.below("MRDS 1", "integrals of x s, relative", 1e-9, off(NUMBERS.mass[1, S] / L**2, printed.MOMENT))


def test_mrds01_stiffness_integrals_are_the_printed_ones(claims: Claims) -> None:
    stiffness = NUMBERS.stiffness * L**3
    claims.below("MRDS 1", "integrals of s''^2, relative", 1e-9, off(np.diag(stiffness), printed.CURVATURE))
    assert stiffness == pytest.approx(np.diag(printed.CURVATURE), rel=1e-9, abs=1e-9)


def test_mrds01_foreshortening_integrals_are_the_printed_ones(claims: Claims) -> None:
    """int s_i' s_j' at the tip, int (L - x) s_i' s_j' = int S_ij, int (L^2 - x^2) s_i' s_j' = 2 int x S_ij."""
    assert NUMBERS.pairs == tuple(PAIRS)
    at_tip, mass = at_section(LINK, L).phi[SLOPES] * L, NUMBERS.mass
    claims.below("MRDS 1", "integrals of s_i' s_j', relative", 1e-9, off(at_tip, printed.SLOPES))
    second = off(2 * mass[1, SLOPES] / L, printed.SQUARE_WEIGHTED)
    claims.below("MRDS 1", "integrals of (L^2 - x^2) s_i' s_j', relative", 1e-9, second)
    first = off(mass[0, SLOPES], printed.LINE_WEIGHTED)
    claims.below("MRDS 1", "integrals of (L - x) s_i' s_j', relative", 1e-9, first)


def test_six_modes_keep_all_digits() -> None:
    """Roots against (n - 1/2) pi, which they reach from both sides in turn; norm and end conditions to rounding."""
    link = LINK.model_copy(update={"modes_y": 6})
    tip, base = np.array([L]), np.array([0.0])
    for n, shape in enumerate(bending_shapes(link), start=1):
        B = shape.b * L
        assert np.cos(B) * np.cosh(B) == pytest.approx(-1.0, abs=1e-15 * np.cosh(B) * B)
        scale = shape.b ** np.arange(4)
        assert np.array([shape(base, 0), shape(base, 1)]).ravel() == pytest.approx([0, 0], abs=1e-14 * scale[1])
        assert shape(tip, 0) == pytest.approx([-2 * (-1) ** n], rel=1e-13)
        assert shape(tip, 2) == pytest.approx([0], abs=1e-13 * scale[2])
        assert shape(tip, 3) == pytest.approx([0], abs=1e-13 * scale[3])
    mass = integrals(link).mass[2:8, 2:8]
    assert mass == pytest.approx(L * np.eye(6), abs=1e-12)
