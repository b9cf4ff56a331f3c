"""Bonaventura 2002, section 8.3.5.3, System 5c with modules that keep energy (acceptance test 24).

What broke the thesis's simulation (test 22) does not exist here, with any set of modes.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.bonaventura_systems import Series
from tests.validation.bonaventura_tables import SYSTEM_5C
from tests.validation.claims import Claims


@pytest.mark.slow
def test_mrds24_all_sets_of_modes_complete_the_run_and_work_becomes_energy(claims: Claims) -> None:
    ends = []
    for n in (1, 2, 3):
        robot = Series((1.0,) * 4, (n,) * 4)
        path = robot.run(SYSTEM_5C, 13.0)
        work, name = robot.work(path, SYSTEM_5C), f"{n} mode{'s' * (n > 1)} a link"
        claims.near(
            "MRDS 24", f"System 5c, {name}: energy at 13 s, by the work done", work, robot.energy(path), 1e-5, "J"
        )
        ends.append(np.degrees(robot.angles(path)[-1]))
    claims.equal("MRDS 24", "links at 13 s, three modes, by two modes", ends[1], ends[2], 0.02, "deg")
    assert np.abs(ends[2] - ends[1]).max() < np.abs(ends[1] - ends[0]).max() / 3
