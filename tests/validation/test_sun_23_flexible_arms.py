"""Sun 1996, examples 4.2 and 5.3 to 5.5: a flexible arm and a rigid one turn the bar in 2 s (tests 23 to 25)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.records import Array
from granite.controllers.distribution.grasp import Grasp
from granite.controllers.distribution.stability import Stability, distributed
from tests.support.quick_cases import quick
from tests.validation.claims import Claims
from tests.validation.sun_distribution import LEFT_ALONE, arms, distribution, grasp_matrix
from tests.validation.sun_motion import BarCell, Run, chain
from tests.validation.sun_testbed import LEFT, matrices

#: (5.24)
LEFT_NORM = {"kind": "torque_norm", "joint_weight": LEFT_ALONE}


def turned(objective: list[object], **how: float) -> Run:
    ours = distribution(arms("FFR", "RRR"), objective)
    return BarCell("FFR", "RRR").run(lambda grasp: ours.solve(grasp).wrench, **how)


def passive(grasp: Grasp) -> Array:
    """Example 4.2 (4.60), (4.61): the torques of the left arm are zero."""
    rows = np.vstack([grasp.matrix, grasp.torque_map[:3]])
    return np.linalg.solve(rows, np.concatenate([grasp.load, -grasp.free_torque[:3]]))


@pytest.mark.parametrize("links", quick(["FRR", "RFR", "FFR"], "FRR"))
def test_the_elements_written_here_are_those_of_our_modules(links: str) -> None:
    arm, ours = chain(links, "left"), matrices(links)
    element_arm = arm.at(np.concatenate([LEFT, np.zeros(len(arm.K))]), np.zeros(3 + len(arm.K)))[0]
    M = np.block([[element_arm.M_rr, element_arm.M_re], [element_arm.M_re.T, element_arm.M_ee]])
    assert pytest.approx(ours.M, abs=1e-9) == M
    assert pytest.approx(ours.K[3:, 3:], rel=1e-9, abs=1e-6) == arm.K
    assert np.hstack([element_arm.J_r, element_arm.J_e]) == pytest.approx(ours.J, abs=1e-9)


def followed(claims: Claims, run: Run, seconds: float) -> None:
    torque, wrench = np.abs(run.torque), np.array(run.wrench)
    assert run.diverged_at is None
    what = f"FFR-O-RRR led by its rigid arm, {seconds:g} s"
    ratio = torque[:, :3].max() / torque[:, 3:].max()
    claims.below("Sun 23", f"{what}: torques of the flexible arm over those of the rigid one", 1e-6, ratio)
    off = np.abs(wrench[:, :2] + wrench[:, 3:5]).max()
    claims.below("Sun 23", f"{what}: sum of the two forces", 1e-9, off, "N")
    claims.below("Sun 23", f"{what}: RMS of energy that is not work, printed 3.04e-4 %", 1e-3, run.energy_error, "%")


@pytest.mark.slow
def test_sun23_a_passive_flexible_arm_follows_the_bar(claims: Claims) -> None:
    """The first part of the motion; the whole of it is the slow test."""
    followed(claims, turned([LEFT_NORM], duration=0.04), 0.04)


@pytest.mark.slow
def test_sun23_the_objective_is_the_rule_of_example_4_2(claims: Claims) -> None:
    bed, ours = BarCell("FFR", "RRR"), distribution(arms("FFR", "RRR"), [LEFT_NORM])
    rng, off = np.random.default_rng(1), 0.0
    for _ in range(20):
        z = bed.start + 1e-4 * rng.normal(size=len(bed.start))
        grasp, _ = bed.grasp(float(rng.uniform(0.0, 0.1)), np.append(z, 0.0))
        expected = passive(grasp)
        off = max(off, float(np.abs(ours.solve(grasp).wrench - expected).max() / np.abs(expected).max()))
    claims.below("Sun 23", "objective (5.24) against the rule of Example 4.2: wrenches, relative", 2e-5, off)


@pytest.mark.slow
def test_sun23_a_passive_flexible_arm_follows_the_bar_for_two_seconds(claims: Claims) -> None:
    run = turned([LEFT_NORM])
    followed(claims, run, 2.0)
    claims.between(
        "Sun 23", "peak energy, printed 7.46 J in another layout", 7.46 * 0.75, 7.46 * 1.25, max(run.energy), "J"
    )


@pytest.mark.parametrize("objective", ["least_internal_force", "torque_norm", "joint_load_sharing"])
def test_sun24_schemes_that_diverge_are_seen_to_and_are_flagged_before(objective: str, claims: Claims) -> None:
    both = arms("FFR", "RRR")
    before = Stability.of(distributed(distribution(both, [objective]), both, grasp_matrix()))
    assert before.verdict == "unstable"
    claims.above(
        "Sun 24", f"{objective}, FFR-O-RRR: largest real part, known before the run", 1.0, before.largest, "1/s"
    )
    run = turned([objective])
    assert run.diverged_at is not None
    claims.below("Sun 24", f"{objective}, FFR-O-RRR: a deflection of 5 cm is passed at", 2.0, run.diverged_at, "s")


@pytest.mark.slow
def test_sun25_least_strain_energy_strains_less_than_least_elastic_acceleration(claims: Claims) -> None:
    strain, elastic = turned([{"kind": "least_strain_energy", "ahead_s": 2e-4}]), turned(["least_elastic_acceleration"])
    assert strain.diverged_at is None
    claims.below("Sun 25", "FFR-O-RRR, largest strain energy of scheme U", 1e-3, max(strain.strain), "J")
    claims.below(
        "Sun 25", "the same over that of scheme E, which drifts", 0.1, max(strain.strain) / max(elastic.strain)
    )
