"""Bonaventura 2002, section 8.3.5.1, System 5a: four flexible links in three modules, slowly (acceptance test 21).

Start pose and duration are not printed: straight and 20 s here. "Links" are their angles from the world's x axis; those
expected come from an independent program.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.bonaventura_machine import Machine, sines
from tests.validation.bonaventura_segments import chain
from tests.validation.bonaventura_systems import Series
from tests.validation.bonaventura_tables import SYSTEM_5A
from tests.validation.claims import Claims


@pytest.mark.slow
def test_mrds21_four_long_links_end_where_independent_equations_say(claims: Claims) -> None:
    robot = Series((1.0,) * 4, (2,) * 4)
    path = robot.run(SYSTEM_5A, 20.0)
    expected = [45.022, -7.047, -48.251, 5.918]
    angles = np.degrees(robot.angles(path))
    claims.equal("MRDS 21", "System 5a, links at 20 s", expected, angles[-1], 0.02, "deg")
    claims.below("MRDS 21", "gaps", 1e-12, robot.worst_gap(path), "m")
    segments = Machine([chain((1.0,) * 4, (6,) * 4)], sines(SYSTEM_5A)).run(np.zeros(24), 20.0)
    off = np.abs(angles - np.degrees(segments.angles)).max()
    claims.below("MRDS 21", "System 5a off six segments, all links", 0.0075, off, "deg")
