"""Stanford report of 1987, acceptance test 16: LEAP under control, in the simulated lab with all its effects.

Every way to let go and to catch, with an error of the velocity at release by up to 5 mm/s. No thruster is there.
"""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.reasons import Reason
from tests.support.leaping import leapt
from tests.validation.claims import Claims

WAYS = {
    "leap": "both hands at once",
    "leap/one-by-one": "hand 1, then hand 2",
    "leap/one-by-one-reversed": "hand 2, then hand 1",
    "leap/one-hand": "one hand only",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_stanford16_leap_turns_and_catches_in_the_simulated_lab(name: str, claims: Claims) -> None:
    outcome, metrics = leapt(name, 1, 0.005)
    assert outcome.reason is Reason.PASSED, outcome.fault or outcome.reason.text
    assert metrics["states"][-1]["state"] == "rest"
    catches, wheel, way = metrics["catches"], metrics["wheels"]["wheel"], f"in the lab, {WAYS[name]}"
    claims.below("Stanford 16", f"{way}: miss", 3.0, 1e3 * max(c["miss_m"] for c in catches), "mm")
    claims.below("Stanford 16", f"{way}: relative speed", 5.0, 1e3 * max(c["speed_m_s"] for c in catches), "mm/s")
    impulse = sum(change["impulse"] for change in metrics["switching"])
    claims.below("Stanford 16", f"{way}: impulse of closing", 0.1, impulse, "N s")
    claims.below("Stanford 16", f"{way}: rate of the wheel", 100.0, wheel["max"], "rad/s")
    turned = np.degrees(metrics["final_state"]["base_heading"]["value"]) - 90.0
    claims.equal("Stanford 16", f"{way}: turn", 180.0, turned, 0.5, "deg")
    if len(catches) > 1:
        claims.below("Stanford 16", f"{way}: wheel after the catch", 1.0, wheel["final"], "rad/s")
