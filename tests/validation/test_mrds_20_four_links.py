"""Bonaventura 2002, section 8.3.4, System 4: a small rigid robot on a large flexible one (acceptance test 20).

Start pose and duration are not printed: straight and 20 s here. "Links" are their angles from the world's x axis; those
expected come from an independent program.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.bonaventura_machine import Machine, sines
from tests.validation.bonaventura_segments import chain
from tests.validation.bonaventura_systems import Series
from tests.validation.bonaventura_tables import SYSTEM_4
from tests.validation.claims import Claims


@pytest.mark.slow
def test_mrds20_a_small_robot_on_a_large_one_moves_as_six_segments_a_link_do(claims: Claims) -> None:
    lengths = (1.0, 1.0, 0.1, 0.1)
    robot = Series(lengths, (2, 2, 0, 0))
    path = robot.run(SYSTEM_4, 20.0)
    segments = Machine([chain(lengths, (6, 6, 1, 1))], sines(SYSTEM_4)).run(np.zeros(14), 20.0)
    ends, expected = np.degrees(robot.angles(path)[-1]), [87.036, -19.331, -848.12, -925.47]
    claims.equal("MRDS 20", "System 4, links 1 and 2 at 20 s", expected[:2], ends[:2], 0.01, "deg")
    claims.equal("MRDS 20", "System 4, links 3 and 4 at 20 s", expected[2:], ends[2:], 0.4, "deg")
    off = np.degrees(np.abs(robot.angles(path) - segments.angles)).max(axis=0)
    claims.below("MRDS 20", "System 4 off six segments, links 1 and 2", 0.01, off[:2].max(), "deg")
    claims.below("MRDS 20", "links 3 and 4", 0.4, off[2:].max(), "deg")
    claims.below("MRDS 20", "tip", 1e-3, np.abs(robot.tip(path) - segments.tip).max(), "m")
    claims.below("MRDS 20", "gaps", 1e-7, robot.worst_gap(path), "m")
    claims.near(
        "MRDS 20", "energy at the end, by the work done", robot.work(path, SYSTEM_4), robot.energy(path), 1e-6, "J"
    )
