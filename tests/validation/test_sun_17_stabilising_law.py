"""Sun 1996, section 6.5: the law (6.55) gives flexible arms the plant of arms that are led from outside (test 17)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.stabilising_law import StabilisingLaw
from granite.controllers.distribution.stability import (
    Stability,
    distributed,
    tips_led_by_torque,
    tips_led_from_outside,
)
from tests.validation.claims import Claims
from tests.validation.sun_distribution import arms, distribution, grasp_matrix
from tests.validation.sun_motion import chain
from tests.validation.sun_testbed import LEFT, RIGHT

pytestmark = pytest.mark.usefixtures("interpreted")


def example_6_1() -> list[FlexibleArm]:
    """RFR-O-RRR, the flexible link being one element with stretch and bending."""
    chains = []
    for links, side, angles in (("RFR", "left", LEFT), ("RRR", "right", RIGHT)):
        arm = chain(links, side, elements=1, stretch=True)
        n = len(arm.K)
        chains.append(arm.at(np.concatenate([angles, np.zeros(n)]), np.zeros(3 + n))[0])
    return chains


def frequencies(A: np.ndarray) -> np.ndarray:
    imaginary = np.linalg.eigvals(A).imag
    return np.sort(imaginary[imaginary > 0])[::-1]


def test_sun17_the_plant_of_example_6_1_is_the_one_led_from_outside(claims: Claims) -> None:
    both = example_6_1()
    law = StabilisingLaw.of(both, grasp_matrix())
    B, C = tips_led_by_torque(both), tips_led_from_outside(both)
    A = B.copy()
    J3T = block_diag(*(arm.elastic_map for arm in both))
    A[3:] += J3T @ law.gain
    claims.below("Sun 17", "law (6.55): plant against C, relative", 1e-9, np.abs(A - C).max() / np.abs(C).max())
    claims.equal("Sun 17", "its eigenvalues", [1230.2, 780.4, 124.94], frequencies(A), 0.05, "1/s")
    claims.near("Sun 17", "largest real part of plant B without the law", 24206.0, Stability.of(B).largest, 1e-4, "1/s")
    assert law.is_exact
    assert Stability.of(A).verdict == "marginal"
    # The torques of the flexible arm do not answer to the elastic state, as the source says.
    free = both[0].hat_re @ np.linalg.solve(both[0].hat_ee, -both[0].K)
    answer = free + both[0].torque_map @ law.gain[:3, :3]
    claims.below(
        "Sun 17", "torque of the flexible arm per deflection, relative", 1e-9, np.abs(answer).max() / np.abs(free).max()
    )


def test_sun17_more_elastic_coordinates_than_internal_forces_are_flagged(claims: Claims) -> None:
    both = arms("RFR", "RRR")
    law = StabilisingLaw.of(both, grasp_matrix())
    claims.equal(
        "Sun 17", "law (6.55), four elastic coordinates and three internal forces: exact", 0, int(law.is_exact), 0
    )


def test_the_law_carries_the_load() -> None:
    law, load = StabilisingLaw.of(example_6_1(), grasp_matrix()), np.array([1.0, -2.0, 0.5])
    assert grasp_matrix() @ law.wrench(load, 1e-3 * np.arange(6.0)) == pytest.approx(load, abs=1e-9)


def test_the_law_as_an_objective_gives_the_same_plant() -> None:
    both = example_6_1()
    led = distribution(both, ["led_from_outside"])
    C = tips_led_from_outside(both)
    assert np.abs(distributed(led, both, grasp_matrix()) - C).max() / np.abs(C).max() < 1e-6
