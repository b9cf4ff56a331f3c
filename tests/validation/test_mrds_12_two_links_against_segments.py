"""Bonaventura 2002, section 8.3.2, System 2a: two bending links against rigid segments with springs.

Acceptance test 12. The start pose is not printed; straight or with the elbow at -90 degrees, the published differences
come out to a factor of two. What is expected of the printed module comes from an independent program.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.bonaventura_tables import SYSTEM_2A
from tests.validation.bonaventura_two_links import off, ours, printed, segments
from tests.validation.claims import Claims


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elbow", "angles", "tip"),
    [
        (0.0, (0.031, 0.0998), (3.86e-4, 7.51e-4)),
        (-90.0, (0.039, 0.0863), (4.46e-4, 4.19e-4)),
    ],
)
def test_mrds12_the_robot_moves_as_eight_segments_a_link_do(
    elbow: float, angles: tuple[float, float], tip: tuple[float, float], claims: Claims
) -> None:
    reference = segments(SYSTEM_2A, np.radians(elbow), 8)
    pose = f"System 2a off eight segments, elbow at {elbow:g} deg at first"
    angle, place = off(reference, ours(SYSTEM_2A, np.radians(elbow)))
    claims.below("MRDS 12", f"{pose}: angles", 2 * 0.0874, angle.max(), "deg")
    claims.below("MRDS 12", f"{pose}: tip", 2 * 4.678e-4, place.max(), "m")
    angle, place = off(reference, printed(SYSTEM_2A, np.radians(elbow)))
    for i, link in enumerate(("1", "2")):
        claims.near("MRDS 12", f"{pose}: link {link}, printed module", angles[i], angle[i], 0.2, "deg")
        claims.near("MRDS 12", f"{pose}: tip {'xy'[i]}, printed module", tip[i], place[i], 0.2, "m")
