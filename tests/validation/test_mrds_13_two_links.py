"""Bonaventura 2002, section 8.3.2, System 2a: a flexible two-link robot from rest, straight (acceptance test 13)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.dense_model import Model
from tests.support.flexible_arms import flexible, planar_arm, run
from tests.validation.bonaventura_systems import arm_angles
from tests.validation.bonaventura_tables import SYSTEM_2A
from tests.validation.claims import Claims

LINKS = [flexible(1.0, 2), flexible(0.5, 2)]


@pytest.mark.slow
def test_mrds13_the_robot_ends_where_independent_equations_say_and_work_becomes_energy(claims: Claims) -> None:
    model = Model(planar_arm(LINKS, name="system_2a"))

    def torque(t: float) -> np.ndarray:
        return np.append(SYSTEM_2A(t), np.zeros(4))

    t, q, u = run(model, np.zeros(6), np.zeros(6), torque, 1e-3, 10_000)
    angles = np.degrees(arm_angles(q, (1.0, 0.5), (2, 2))[0][-1])
    claims.equal("MRDS 13", "System 2a, links at 10 s", [195.419, 209.571], angles, 0.02, "deg")
    tip = model.point("tip", q[-1], u[-1]).position[:2]
    claims.equal("MRDS 13", "tip at 10 s", [-1.39890, -0.51257], tip, 3e-4, "m")
    deflection = 2 * q[:, 2] - 2 * q[:, 3]
    assert (deflection.min(), deflection.max()) == pytest.approx((-9.424e-3, 9.177e-3), rel=0.01)
    power = [torque(when) @ rate for when, rate in zip(t, u, strict=True)]
    energy = model.kinetic_energy(q[-1], u[-1]) + model.potential_energy(q[-1])
    claims.equal("MRDS 13", "energy at 10 s, by the work done", np.trapezoid(power, t), energy, 1e-6, "J")
