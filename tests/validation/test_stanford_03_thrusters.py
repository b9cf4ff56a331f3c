"""Stanford report of 1987, section 4.4: thruster geometry, pseudo-inverse and Table 4.2 (acceptance test 3)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.controller import Allocation
from granite.config.devices.thrusters import Thrusters
from granite.config.loader import load
from granite.config.parts import PartTable
from granite.controllers.thrusters.allocator import build_allocator
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix, wrench_weight
from granite.controllers.thrusters.pseudo_inverse import PseudoInverse
from tests.validation.claims import Claims

THRUSTERS = load("free-flyer").devices_of(Thrusters)["thrusters"]
R_JET = 0.13
#: R'1, R'3, R'5, R'7 keep their thrusters' sign
SIGNED = [0, 2, 4, 6]
PARTNER = [3, 5, 7, 1]


def c_rf(q3: float) -> np.ndarray:
    """C_RF as printed: rows inertial fx, fy and the absolute rates of base, upper arm, forearm."""
    c, s, r = np.cos(q3), np.sin(q3), R_JET
    return np.array(
        [
            [-c, s, s, c, c, -s, -s, -c, 0, 0],
            [-s, -c, -c, s, s, c, c, -s, 0, 0],
            [r, -r, r, -r, r, -r, r, -r, -1, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 1, -1],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ]
    )


def c_rf_reduced(q3: float) -> np.ndarray:
    """C_RF': columns 1, 3, 5, 7, 9, 10 of C_RF."""
    return c_rf(q3)[:, [0, 2, 4, 6, 8, 9]]


def body_wrench(q3: float, F: np.ndarray) -> np.ndarray:
    """What the thrusters have to do of F: force in body axes, and mz = F3 + F4 + F5 (the torques cancel)."""
    c, s = np.cos(q3), np.sin(q3)
    return np.array([c * F[0] + s * F[1], c * F[1] - s * F[0], F[2] + F[3] + F[4]])


def signed(thrust: np.ndarray) -> np.ndarray:
    """R'1, R'3, R'5, R'7 from eight one-sided thrusts."""
    return thrust[SIGNED] - thrust[PARTNER]


def sharing(limit: float = 1e3) -> PseudoInverse:
    """The pseudo-inverse of the preset without its limit of thrust."""
    matrix, weight = thruster_matrix(THRUSTERS, "planar"), wrench_weight("planar", 8.0)
    thrusters = ThrusterSet(matrix, np.full(8, limit), weight, THRUSTERS.valve, 0.005)
    return PseudoInverse(PartTable(kind="pseudo_inverse"), thrusters)


def test_the_geometry_of_the_preset_is_c_rf():
    matrix = thruster_matrix(THRUSTERS, "planar")
    for q3 in (0.0, 0.7, -2.0):
        c, s = np.cos(q3), np.sin(q3)
        world = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ matrix
        assert world == pytest.approx(c_rf(q3)[:3, :8], abs=1e-15)


def test_thrusters_come_in_opposite_pairs():
    matrix = thruster_matrix(THRUSTERS, "planar")
    for i, j in ((4, 1), (2, 7), (6, 3), (8, 5)):
        np.testing.assert_array_equal(matrix[:, i - 1], -matrix[:, j - 1])
    assert sharing().pairs == ((0, 3), (1, 6), (2, 5), (4, 7))


def test_stanford03_rank_and_null_vector_of_the_reduced_matrix(claims: Claims):
    for q3 in (0.0, 0.7, -2.0):
        reduced = c_rf_reduced(q3)
        assert np.linalg.matrix_rank(reduced) == 5
        assert reduced @ [1, -1, 1, -1, 0, 0] == pytest.approx(np.zeros(5), abs=1e-15)
        assert np.linalg.cond(reduced) == pytest.approx(11.8, abs=0.05)
    claims.equal("Stanford 3", "rank of the six actuators' matrix", 5, np.linalg.matrix_rank(reduced), 0)


def test_stanford03_the_pseudo_inverse_is_the_closed_form(claims: Claims):
    rng, share, off = np.random.default_rng(0), sharing(), 0.0
    for _ in range(200):
        fx, fy, mz = wrench = rng.normal(size=3)
        turn = mz / (4 * R_JET)
        expected = [-fx / 2 + turn, -fy / 2 + turn, fx / 2 + turn, fy / 2 + turn]
        off = max(off, np.abs(signed(share.share(wrench)) - expected).max())
    claims.below("Stanford 3", "pseudo-inverse of the thrusters against its closed form", 1e-12, off, "N")


def test_stanford03_table_4_2_without_threshold_reproduces_the_force_with_valves_that_only_push(claims: Claims):
    rng, share, off = np.random.default_rng(1), sharing(), 0.0
    for _ in range(200):
        q3, F = rng.uniform(-3, 3), rng.normal(size=5)
        thrust = share.share(body_wrench(q3, F))
        assert (thrust >= 0.0).all()
        # Torques: T1 = F4 + F5, T2 = F5.
        off = max(off, np.abs(c_rf(q3) @ np.append(thrust, [F[3] + F[4], F[4]]) - F).max())
    what = "Table 4.2 without threshold gives the force back with valves that only push"
    claims.below("Stanford 3", what, 1e-12, off, "N, N m")


def test_the_reports_pseudo_inverse_of_six_actuators_is_ours():
    rng, share = np.random.default_rng(2), sharing()
    for _ in range(200):
        q3, F = rng.uniform(-3, 3), rng.normal(size=5)
        expected = np.linalg.pinv(c_rf_reduced(q3)) @ F
        assert signed(share.share(body_wrench(q3, F))) == pytest.approx(expected[:4], abs=1e-12)
        assert expected[4:] == pytest.approx([F[3] + F[4], F[4]], abs=1e-12)


def test_stanford03_the_regression_case(claims: Claims):
    # Table 4.1, q3 = pi/6, F = (1, 0.5, 0.2, 0.1, -0.05).
    F = np.array([1.0, 0.5, 0.2, 0.1, -0.05])
    expected = [-0.07724347112298914, 0.5142628798231206, 1.0387819326614491, 0.44727558171533993]
    thrusts = signed(sharing().share(body_wrench(np.pi / 6, F)))
    claims.equal("Stanford 3", "shares of one fixed case", expected, thrusts, 1e-12, "N")


def test_table_4_2_line_by_line():
    threshold = 0.5
    modulation = {"kind": "threshold", "threshold": threshold}
    allocation = Allocation.model_validate({"sharing": "pseudo_inverse", "modulation": modulation})
    allocator = build_allocator(THRUSTERS, allocation, "planar", 0.005)
    assert (available_thrust(THRUSTERS) == 1.0).all()
    rng, seen = np.random.default_rng(4), np.zeros(8)
    reduced = c_rf_reduced(0.0)
    for _ in range(2000):
        wrench = rng.normal(size=3) * [1.0, 1.0, 0.25]
        r1, r3, r5, r7, _, _ = np.linalg.pinv(reduced) @ [*wrench, 0.0, 0.0]
        table = [
            r1 > threshold,
            r7 < -threshold,
            r3 > threshold,
            r1 < -threshold,
            r5 > threshold,
            r3 < -threshold,
            r7 > threshold,
            r5 < -threshold,
        ]
        opening = allocator.allocate(0.0, wrench)
        assert opening.tolist() == [float(on) for on in table]
        seen += opening
    assert (seen > 0).all()
