"""Bonaventura 2002, section 7.3: kinematics of first, mixed and second order in a closed loop (acceptance test 29).

Mixed means places of first order with a Jacobian that has the terms of the next: it is then not the Jacobian of these
places, and the loop opens by itself. System 6a, in a pose of ours.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.bonaventura_machine import Hold, Machine, sines
from tests.validation.bonaventura_systems import UPRIGHT, parallel_arms, run, shoulders_and_elbows, worst_gap
from tests.validation.bonaventura_tables import SYSTEM_6A
from tests.validation.bonaventura_truncated import Level, two_link
from tests.validation.claims import Claims


@pytest.mark.parametrize(("level", "least", "most"), [(1, 0.0, 1e-12), (2, 2e-7, 2e-6), (3, 0.0, 1e-12)])
def test_mrds29_the_loop_stays_closed_where_places_and_jacobian_agree(
    level: Level, least: float, most: float, claims: Claims
) -> None:
    arms = [two_link((1.0, 1.0), (2, 2), level=level, base=(x, 0.0)) for x in (0.0, 2.0)]
    path = Machine(arms, sines(SYSTEM_6A), [Hold((0, "tip"), (1, "tip"))]).run(UPRIGHT, 20.0)
    worst = float(np.abs(path.gap).max())
    claims.between("MRDS 29", f"System 6a by printed modules, gap after 20 s, level {level}", least, most, worst, "m")
    bend = float(np.abs(2 * path.q[:, [2, 8]] - 2 * path.q[:, [3, 9]]).max())
    assert bend == pytest.approx(1.75e-3, rel=0.01)


def test_mrds29_ours_stays_closed(claims: Claims) -> None:
    closed = parallel_arms((1.0, 1.0), 2.0)
    path = run(closed, UPRIGHT, np.zeros(12), shoulders_and_elbows(SYSTEM_6A), 20.0, 2e-3)
    claims.below("MRDS 29", "System 6a, gap after 20 s, ours", 1e-12, worst_gap(closed, path), "m")
