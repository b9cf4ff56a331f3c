"""Propellant of the pseudo-inverse against the optimum on the Stanford vehicle (acceptance test 7)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from granite.config.devices.thrusters import Thrusters
from granite.config.loader import load
from granite.config.parts import PartTable
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.geometry import thruster_matrix, wrench_weight
from granite.controllers.thrusters.least_propellant import LeastPropellant
from granite.controllers.thrusters.pseudo_inverse import PseudoInverse
from tests.validation.claims import Claims

THRUSTERS = load("free-flyer").devices_of(Thrusters)["thrusters"]
MATRIX = thruster_matrix(THRUSTERS, "planar")
WEIGHT = wrench_weight("planar", 8.0)
#: so high that no thruster meets its limit, as in the report
UNLIMITED = np.full(8, 10.0)


def thrusters(available: np.ndarray) -> ThrusterSet:
    return ThrusterSet(MATRIX, available, WEIGHT, THRUSTERS.valve, 0.005)


def propellant() -> np.ndarray:
    """Thrust of pseudo-inverse and optimum [N] for 3000 random wrenches, torque arm scaled to r_jet."""
    rng = np.random.default_rng(7)
    unlimited = thrusters(UNLIMITED)
    paired, least = (
        PseudoInverse(PartTable(kind="pseudo_inverse"), unlimited),
        LeastPropellant(PartTable(kind="least_propellant"), unlimited),
    )
    wrenches = rng.normal(size=(3000, 3)) * [1.0, 1.0, 0.13]
    return np.array([(paired.share(w).sum(), least.share(w).sum()) for w in wrenches])


def test_stanford07_the_optimum_never_costs_more_and_saves_3_to_7_percent(claims: Claims):
    paired, least = propellant().T
    assert (least <= paired + 1e-9).all()
    ratio = paired / least
    what = "pseudo-inverse over least propellant, 3000 wrenches"
    claims.between("Stanford 7", f"{what}: mean", 1.03, 1.07, ratio.mean())
    claims.below("Stanford 7", f"{what}: worst", 1.5, ratio.max())
    assert ratio.max() > 1.2


def test_stanford07_the_optimum_is_that_of_an_independent_solver(claims: Claims):
    rng, off = np.random.default_rng(8), 0.0
    least = LeastPropellant(PartTable(kind="least_propellant"), thrusters(np.ones(8)))
    for wrench in rng.uniform(-1, 1, (300, 3)) * [1.0, 1.0, 0.2]:
        referee = linprog(np.ones(8), A_eq=MATRIX, b_eq=wrench, bounds=[(0.0, 1.0)] * 8, method="highs")
        assert referee.status == 0
        off = max(off, abs(least.share(wrench).sum() - referee.fun))
    claims.below("Stanford 7", "least propellant against SciPy's linear programme, 300 wrenches", 1e-8, off, "N")


def test_stanford07_all_256_patterns_reach_only_65_wrenches(claims: Claims):
    patterns = np.arange(256)[:, None] >> np.arange(8) & 1
    reached = len(np.unique(np.round(patterns @ MATRIX.T, 9) + 0.0, axis=0))
    claims.equal("Stanford 7", "different wrenches of all 256 valve patterns", 65, reached, 0)
