"""Bonaventura 2002, section 8.3.2.2, System 2b: two bending links with 0.5 kg at the tip (acceptance test 14).

Segments as coarse as eight a link bend up to 10 % further than two modes do; sixteen, with the springs of eq. 138, bend
4 % further, and four modes instead of two 1 %: it is the segments that are coarse.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.bonaventura_segments import deflection
from tests.validation.bonaventura_tables import SYSTEM_2A, SYSTEM_2B
from tests.validation.bonaventura_two_links import off, ours, printed, segments
from tests.validation.claims import Claims


@pytest.mark.slow
def test_mrds14_a_load_at_the_tip_bends_the_links_much_more(claims: Claims) -> None:
    light, loaded = ours(SYSTEM_2A, 0.0), printed(SYSTEM_2B, 0.0, 0.5)
    eight, six = (segments(SYSTEM_2B, 0.0, n, 0.5) for n in (8, 6))
    mine = ours(SYSTEM_2B, 0.0, 0.5)
    for name, robot in (("ours", mine), ("printed module", loaded)):
        angle, _ = off(eight, robot)
        for i, expected in enumerate((0.42, 0.83)):
            claims.below(
                "MRDS 14", f"System 2b, link {i + 1} off eight segments, {name}", 1.5 * expected, angle[i], "deg"
            )
    angle, place = off(eight, loaded)
    assert angle == pytest.approx([0.418, 0.829], rel=0.05)
    assert place == pytest.approx([7.1e-3, 4.2e-3], rel=0.05)
    assert (angle < off(six, loaded)[0]).all(), "eight segments are better than six"
    bend, unloaded = (2 * robot.q[:, 2] - 2 * robot.q[:, 3] for robot in (mine, light))
    cut = deflection(eight.q, 1.0, 8)
    for end, a, b in (("least", cut.min(), bend.min()), ("greatest", cut.max(), bend.max())):
        claims.near("MRDS 14", f"System 2b, {end} deflection of link 1, by eight segments", a, b, 0.12, "m")
    ratio = np.ptp(bend) / np.ptp(unloaded)
    claims.above("MRDS 14", "deflection of link 1 with the load against without", 3.0, ratio)
