"""Bonaventura 2002, section 8.3.5.3, System 5c: four flexible links against rigid segments (acceptance test 25)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.bonaventura_machine import Machine, sines
from tests.validation.bonaventura_segments import chain
from tests.validation.bonaventura_systems import Series
from tests.validation.bonaventura_tables import SYSTEM_5C
from tests.validation.claims import Claims


@pytest.mark.slow
def test_mrds25_the_robot_moves_as_six_segments_a_link_do(claims: Claims) -> None:
    """With the modes that the thesis published."""
    robot = Series((1.0,) * 4, (3, 2, 2, 2))
    path = robot.run(SYSTEM_5C, 13.0)
    segments = Machine([chain((1.0,) * 4, (6,) * 4)], sines(SYSTEM_5C)).run(np.zeros(24), 13.0)
    off = np.degrees(np.abs(robot.angles(path) - segments.angles)).max()
    claims.below("MRDS 25", "System 5c off six segments, all links", 1.5 * 0.20, off, "deg")
    claims.below("MRDS 25", "tip", 1.5 * 5e-4, np.abs(robot.tip(path) - segments.tip).max(), "m")
    assert robot.worst_gap(path) < 1e-10
