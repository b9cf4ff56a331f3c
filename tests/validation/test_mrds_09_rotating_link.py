"""Bonaventura 2002, section 8.3.1, System 1: one flexible link turned from rest to rest (acceptance test 9)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.dense_model import Model
from tests.support.flexible_arms import LINE_DENSITY, flexible, planar_arm, run
from tests.validation.bonaventura_tables import SYSTEM_1
from tests.validation.claims import Claims


def test_mrds09_the_link_turns_by_half_a_turn_and_bends_both_ways(claims: Claims) -> None:
    model = Model(planar_arm([flexible(1.0, 2)], name="system_1"))
    start = np.zeros(3)

    def torque(t: float) -> np.ndarray:
        return np.append(SYSTEM_1(t), [0.0, 0.0])

    t, q, u = run(model, start, start, torque, 1e-3, 10_000)
    rigid = SYSTEM_1.amplitudes[0] * SYSTEM_1.periods[0] ** 2 / (2 * np.pi * LINE_DENSITY / 3)
    assert np.degrees(q[-1, 0]) == pytest.approx(np.degrees(rigid), abs=0.01)
    claims.equal("MRDS 9", "System 1, angle at 10 s", 180.017, np.degrees(q[-1, 0]), 0.01, "deg")
    claims.equal("MRDS 9", "greatest rate", 0.62832, u[:, 0].max(), 1e-4, "rad/s")
    deflection = 2 * q[:, 1] - 2 * q[:, 2]
    claims.near("MRDS 9", "least deflection", -2.190e-3, deflection.min(), 0.01, "m")
    assert t[deflection.argmin()] == pytest.approx(2.494, abs=0.01)
    claims.near("MRDS 9", "greatest deflection", 2.192e-3, deflection.max(), 0.01, "m")
    assert t[deflection.argmax()] == pytest.approx(7.504, abs=0.01)
