"""Sun 1996, section 6.4: eigenvalues of flexible arms under each force distribution (tests 13 to 16 and 18).

Every plant comes from the distribution itself, as a run would use it; the check before a run is the verdict here.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, null_space

from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.stability import (
    Stability,
    distributed,
    grasp_of,
    joints_held,
    tips_led_by_torque,
    tips_led_from_outside,
)
from tests.validation.claims import Claims
from tests.validation.sun_distribution import LEFT_ALONE, arms, distribution, flexible_arm, grasp_matrix, positions

pytestmark = pytest.mark.usefixtures("interpreted")

NORM, LEFT_NORM = {"kind": "torque_norm"}, {"kind": "torque_norm", "joint_weight": LEFT_ALONE}
ELASTIC, AHEAD = {"kind": "least_elastic_acceleration"}, 2e-4
STRAIN = {"kind": "least_strain_energy", "ahead_s": AHEAD}
SETUPS = {
    "FRR-O-RRR": ("FRR", "RRR"),
    "RFR-O-RRR": ("RFR", "RRR"),
    "FRR-O-RRF": ("FRR", "FRR"),
    "FFR-O-RRR": ("FFR", "RRR"),
}


def plant(setup: str, objective: list[object]) -> tuple[list[FlexibleArm], Array]:
    both = arms(*SETUPS[setup])
    return both, distributed(distribution(both, objective), both, grasp_matrix())


def ordered(A: Array) -> Array:
    """One eigenvalue of each mirrored group: real and imaginary part not negative, largest first."""
    poles = np.linalg.eigvals(A)
    folded = np.abs(poles.real) + 1j * np.abs(poles.imag)
    return folded[np.lexsort((-folded.imag, -folded.real.round(3), -np.abs(folded).round(3)))]


def apart(a: Array, b: Array) -> float:
    """Largest distance of one spectrum from the other, relative to the largest eigenvalue."""
    gaps = np.abs(a[:, None] - b[None])
    return float(max(gaps.min(0).max(), gaps.min(1).max()) / np.abs(b).max())


@pytest.mark.parametrize("setup", ["FRR-O-RRR", "RFR-O-RRR", "FFR-O-RRR"])
def test_sun13_torques_of_the_flexible_arm_alone_give_the_plant_led_from_outside(setup: str, claims: Claims) -> None:
    both, A = plant(setup, [LEFT_NORM])
    off = apart(np.linalg.eigvals(A), np.linalg.eigvals(tips_led_from_outside(both)))
    claims.below("Sun 13", f"min tau_1, {setup}: spectrum against plant C, relative", 1e-5, off)
    assert Stability.of(A).verdict == "marginal"


def test_sun13_two_flexible_arms_are_one_led_from_outside_and_one_by_torques(claims: Claims) -> None:
    both, A = plant("FRR-O-RRF", [LEFT_NORM])
    union = block_diag(tips_led_from_outside(both[:1]), tips_led_by_torque(both[1:]))
    off = apart(np.linalg.eigvals(A), np.linalg.eigvals(union))
    claims.below("Sun 13", "min tau_1, FRR-O-RRF: spectrum against plant C of one arm and B of the other", 1e-5, off)
    assert Stability.of(A).verdict == "unstable"


#: Table 6.3, row 2: real and imaginary parts; 392.96 is printed as 383.0
TABLE_6_3 = {
    "FRR-O-RRR": [2741.0 + 1352.4j, 489.6, 64.5j],
    "RFR-O-RRR": [1680.3 + 2351.0j, 392.96, 49.6j],
    "FRR-O-RRF": [3958.0, 2326.1 + 2211.9j, 2059.6, 710.8, 229.1, 64.3j, 57.7j],
}


@pytest.mark.parametrize("setup", TABLE_6_3)
def test_sun14_the_torque_norm_of_all_joints_is_unstable_as_in_table_6_3(setup: str, claims: Claims) -> None:
    _, A = plant(setup, [NORM])
    poles = ordered(A)
    for expected in TABLE_6_3[setup]:
        got = poles[np.argmin(np.abs(poles - expected))]
        claims.below("Sun 14", f"min tau, {setup}, {expected:g} 1/s: off by, relative", 1e-3, abs(got / expected - 1))
    assert Stability.of(A).verdict == "unstable"
    if setup == "RFR-O-RRR":
        claims.above("Sun 14", "Table 6.3 prints 383.0 for 392.96, off by", 9.0, np.abs(poles - 383.0).min(), "1/s")


def as_printed(setup: str, objective: list[object]) -> Array:
    """The plant by (6.47) and (6.48): strain energy that answers to q_e0'' only, not to q_e and q_e' themselves."""
    both = arms(*SETUPS[setup])
    ours, n = distribution(both, objective), sum(len(arm.K) for arm in both)
    where, axes = positions(), np.tile(np.eye(2), (2, 1, 1))
    gradient = np.zeros((6, 2 * n))
    for k, y in enumerate(np.eye(2 * n)):
        grasp = grasp_of(both, grasp_matrix(), y, where, axes)
        problem = ours.build_problem(grasp._replace(elastic=np.zeros(n), elastic_rate=np.zeros(n)))
        gradient[:, k] = problem.f
    N = null_space(grasp_matrix())
    answer = -N @ np.linalg.solve(N.T @ problem.H @ N, N.T @ gradient)
    A = tips_led_by_torque(both)
    A[n:] += block_diag(*(arm.elastic_map for arm in both)) @ answer
    return A


def test_sun15_row_4_of_table_6_4_is_that_of_the_incomplete_derivative(claims: Claims) -> None:
    """tau_1 + U: 1424.1 + 1994.1 j for FRR-O-RRF, all others on the imaginary axis."""
    for setup in SETUPS:
        A = as_printed(setup, [LEFT_NORM, STRAIN])
        if setup == "FRR-O-RRF":
            stability = ordered(A)
            got = stability[np.argmax(stability.real)]
            claims.near("Sun 15", f"min tau_1 + U as printed, {setup}: real part", 1424.1, got.real, 5e-4, "1/s")
            claims.near("Sun 15", f"min tau_1 + U as printed, {setup}: imaginary part", 1994.1, got.imag, 5e-4, "1/s")
        else:
            largest = Stability.of(A).largest
            claims.below("Sun 15", f"min tau_1 + U as printed, {setup}: largest real part", 1e-3, largest, "1/s")
    # With the whole derivative it is unstable as well, but otherwise: this is what a run would do.
    whole = Stability.of(plant("FRR-O-RRF", [LEFT_NORM, STRAIN])[1])
    claims.near(
        "Sun 15", "min tau_1 + U with the whole derivative, FRR-O-RRF: real part", 457.0, whole.largest, 1e-2, "1/s"
    )


@pytest.mark.parametrize(("setup", "expected"), [("FRR-O-RRR", 0.25), ("RFR-O-RRR", 0.12)])
def test_sun15_row_3_of_table_6_4(setup: str, expected: float, claims: Claims) -> None:
    stability = Stability.of(plant(setup, [NORM, ELASTIC])[1])
    claims.near("Sun 15", f"min tau + E, {setup}: largest real part", expected, stability.largest, 0.1, "1/s")
    assert stability.verdict == "unstable"


@pytest.mark.parametrize("setup", SETUPS)
def test_sun16_least_internal_force_leaves_the_unstable_plant_as_it_is(setup: str, claims: Claims) -> None:
    both, A = plant(setup, ["least_internal_force"])
    B = tips_led_by_torque(both)
    claims.below(
        "Sun 16", f"scheme I, {setup}: plant against B, relative", 1e-12, np.abs(A - B).max() / np.abs(B).max()
    )
    stability = Stability.of(A)
    claims.equal("Sun 16", f"scheme I, {setup}: largest real part", 3958.0, stability.largest, 0.5, "1/s")
    assert stability.verdict == "unstable"


@pytest.mark.parametrize("setup", SETUPS)
def test_sun18_strain_energy_with_all_its_terms_is_marginally_stable(setup: str, claims: Claims) -> None:
    stability = Stability.of(plant(setup, [STRAIN])[1])
    expected = (-1 + 1j) / AHEAD
    off = np.abs(stability.eigenvalues - expected).min() / abs(expected)
    claims.below("Sun 18", f"scheme U, {setup}: an eigenvalue is (-1 + j)/dt, off by, relative", 1e-6, off)
    claims.below("Sun 18", f"scheme U, {setup}: largest real part", 1e-6, stability.largest, "1/s")
    assert stability.verdict == "marginal"
    if setup == "FRR-O-RRR":
        rest = np.sort(stability.eigenvalues.imag[np.abs(stability.eigenvalues.real) < 1e-3])[-2:]
        claims.equal("Sun 18", f"scheme U, {setup}: what is left", [372.9, 1726.3], rest, 0.05, "1/s")


def test_an_arm_that_is_damped_is_stable_with_joints_held() -> None:
    one = flexible_arm("FRR", "left")
    damped = FlexibleArm(one.M_rr, one.M_re, one.M_ee, one.K, 1e-3 * one.K, one.J_r, one.J_e)
    assert Stability.of(joints_held([damped])).verdict == "stable"
    assert Stability.of(joints_held([one])).verdict == "marginal"
