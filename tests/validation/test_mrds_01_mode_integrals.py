"""Bonaventura 2002, appendix A: the printed integrals of the cantilever modes (acceptance test 1)."""

from __future__ import annotations

import numpy as np
import pytest

from config.modules import Flexible
from mrds.flexible.integrals import at_section, integrals
from mrds.flexible.shapes import bending_shapes

#: length, so that a wrong power of it shows
L = 1.7
LINK = Flexible(length_m=L, line_density_kg_m=1.0, ei_n_m2=1.0, modes_y=3)
PAIRS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
NUMBERS = integrals(LINK)
#: where phi has the shapes, and the integrals of the products of their slopes
S, SLOPES = slice(2, 5), slice(5, 11)


def test_tip_values_are_the_printed_ones() -> None:
    at = at_section(LINK, L)
    assert at.phi[S] == pytest.approx([2, -2, 2], rel=1e-12)
    assert at.slope * L == pytest.approx([2.75301096934507, -9.56155682042328, 15.6973320929786], rel=1e-9)


def test_mass_integrals_are_the_printed_ones() -> None:
    assert NUMBERS.mass[S, S] == pytest.approx(L * np.eye(3), abs=1e-12)
    assert NUMBERS.mass[0, S] / L == pytest.approx([0.782991756039626, 0.433935895110719, 0.254425296866106], rel=1e-9)
    moments = [0.568825743709911, 0.090766786886387, 3.24163743697444e-02]
    assert NUMBERS.mass[1, S] / L**2 == pytest.approx(moments, rel=1e-9)


def test_stiffness_integrals_are_the_printed_ones() -> None:
    printed = [12.3623633683262, 485.518818513371, 3806.54626639145]
    assert NUMBERS.stiffness * L**3 == pytest.approx(np.diag(printed), rel=1e-9, abs=1e-9)


def test_foreshortening_integrals_are_the_printed_ones() -> None:
    """int s_i' s_j' at the tip, int (L - x) s_i' s_j' = int S_ij, int (L^2 - x^2) s_i' s_j' = 2 int x S_ij."""
    assert NUMBERS.pairs == tuple(PAIRS)
    at_tip = [
        4.64777831867864,
        -7.37987526966198,
        3.9415154871266,
        32.417399027969,
        -22.3524444398869,
        77.2988908022961,
    ]
    assert at_section(LINK, L).phi[SLOPES] * L == pytest.approx(at_tip, rel=1e-9)
    second = [
        2.38667274821651,
        -1.37171056689486,
        -1.58475844061916,
        12.9564497281511,
        0.338815769523045,
        35.7190397578695,
    ]
    assert 2 * NUMBERS.mass[1, SLOPES] / L == pytest.approx(second, rel=1e-9)
    first = [
        1.57087818999425,
        -0.422320389109118,
        -1.07208483410593,
        8.64714269356121,
        1.89005470803216,
        24.9521133081691,
    ]
    assert NUMBERS.mass[0, SLOPES] == pytest.approx(first, rel=1e-9)


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
