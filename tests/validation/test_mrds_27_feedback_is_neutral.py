"""Bonaventura 2002, section 6.4: drift feedback changes nothing where nothing drifts (acceptance test 27).

The thesis adds to the contact force, we to the constrained acceleration; both are run on System 6a, two arms whose tips
are joined.
"""

from __future__ import annotations

import numpy as np

from tests.validation.bonaventura_machine import Hold, Machine, sines
from tests.validation.bonaventura_systems import GAINS, UPRIGHT, parallel_arms, run, shoulders_and_elbows
from tests.validation.bonaventura_tables import SYSTEM_6A
from tests.validation.bonaventura_truncated import two_link
from tests.validation.claims import Claims

DURATION, STEP = 10.0, 2e-3


def test_mrds27_ours_leaves_a_closed_loop_alone(claims: Claims) -> None:
    closed, drive = parallel_arms((1.0, 1.0), 2.0), shoulders_and_elbows(SYSTEM_6A)
    with_it, without = (
        run(closed, UPRIGHT, np.zeros(12), drive, DURATION, STEP, feedback=gains).q
        for gains in ((20.0, 100.0), (0.0, 0.0))
    )
    claims.below("MRDS 27", "System 6a with our feedback off without, relative", 1e-6, _change(with_it, without))


def test_mrds27_that_of_the_thesis_does_too(claims: Claims) -> None:
    def moved(gains: tuple[float, float]) -> np.ndarray:
        arms = [two_link((1.0, 1.0), (2, 2)), two_link((1.0, 1.0), (2, 2), base=(2.0, 0.0))]
        return Machine(arms, sines(SYSTEM_6A), [Hold((0, "tip"), (1, "tip"))], gains).run(UPRIGHT, DURATION, STEP).q

    change = _change(moved(GAINS), moved((0.0, 0.0)))
    claims.below("MRDS 27", "the same with printed modules and the thesis's gains", 1e-6, change)


def _change(a: np.ndarray, b: np.ndarray) -> float:
    assert np.abs(a - b).max() > 0, "the feedback was not on"
    return float((np.abs(a - b).max(axis=0) / np.abs(b).max(axis=0)).max())
