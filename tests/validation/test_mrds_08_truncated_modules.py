"""Bonaventura 2002, acceptance test 8: the printed modules are ours up to second order in the deflection.

Appendix A has two misprints that spoil the first order: amplitudes for rates in y2, and a sign in H_f1,y.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.support.flexible_arms import Array, flexible, planar_arm
from tests.validation import bonaventura_systems, bonaventura_truncated
from tests.validation.bonaventura_machine import Equations
from tests.validation.bonaventura_tables import Modes
from tests.validation.claims import Claims

LENGTHS, TIP_MASS = (1.0, 0.5), 0.5
Residual = Callable[[Array, Array, Array], Array]


def two_link(misprint: bool = False) -> tuple[Equations, Residual, int]:
    """Printed equations, ours in the coordinates of the thesis, and how many coordinates are rigid."""
    printed = bonaventura_truncated.two_link(LENGTHS, (2, 2), TIP_MASS, misprint=misprint)
    model = interpreted(planar_arm([flexible(LENGTHS[0], 2), flexible(LENGTHS[1], 2, tip_mass_kg=TIP_MASS)]))
    to_ours = np.eye(6)  # our second joint turns from the tip of link 1, the thesis's from its base
    to_ours[1, 2:4] = -Modes(LENGTHS[0], 2).tip_slope
    return printed, _ours(model, to_ours), 2


def mobile_link(misprint: bool = False) -> tuple[Equations, Residual, int]:
    printed = bonaventura_truncated.mobile_link(LENGTHS[0], 2, misprint=misprint)
    return printed, _ours(interpreted(bonaventura_systems.mobile_link("link", LENGTHS[0], 2)), np.eye(5)), 3


def _ours(model: Model, to_ours: Array) -> Residual:
    def residual(*motion: Array) -> Array:
        return to_ours.T @ model.inverse_dynamics(*(to_ours @ x for x in motion))

    return residual


def slope(case: tuple[Equations, Residual, int], rows: slice = slice(None)) -> Array:
    """Power of the deflection with which the forces of both differ, from 1e-3 to 1e-2 of a random one."""
    printed, ours, rigid = case
    rng = np.random.default_rng(8)
    n = printed.q.numel()
    motion = rng.uniform(-1.5, 1.5, (3, n))
    off = []
    for epsilon in (1e-3, 1e-2):
        scaled = motion.copy()
        scaled[:, rigid:] *= epsilon
        off.append(np.abs(printed.force(*scaled) - ours(*scaled))[rows])
    return np.log10(off[1].max() / off[0].max())


@pytest.mark.parametrize("module", [two_link, mobile_link])
def test_mrds08_corrected_equations_differ_from_ours_in_second_order_only(module: Callable, claims: Claims) -> None:
    what = f"order of what the printed {module.__name__.replace('_', '-')} module leaves out"
    claims.equal("MRDS 8", what, 2.0, slope(module()), 0.1)


@pytest.mark.parametrize(("module", "term"), [(two_link, "y2"), (mobile_link, "H_f1,y")])
def test_mrds08_equations_as_printed_are_wrong_in_first_order(module: Callable, term: str, claims: Claims) -> None:
    what = f"the same with {term} as misprinted"
    claims.equal("MRDS 8", what, 1.0, slope(module(misprint=True)), 0.1)


def test_each_row_is_right_to_first_order() -> None:
    for module in (two_link, mobile_link):
        printed, ours, rigid = module()
        motion = np.random.default_rng(1).uniform(-1.5, 1.5, (3, printed.q.numel()))
        motion[:, rigid:] *= 1e-5
        assert printed.force(*motion) == pytest.approx(ours(*motion), rel=1e-7, abs=1e-7)
