"""Bonaventura 2002, section 8.3.2, System 2a: a flexible two-link robot from rest, straight (acceptance test 13)."""

from __future__ import annotations

import numpy as np
import pytest

from mrds.model import Model
from tests.mrds.flexible_arms import flexible, planar_arm, run

LINKS = [flexible(1.0, 2), flexible(0.5, 2)]
AMPLITUDES = np.array([0.105, 0.011, 0.0, 0.0, 0.0, 0.0])


def test_the_robot_ends_where_independent_equations_say_and_work_becomes_energy() -> None:
    model = Model(planar_arm(LINKS, name="system_2a"))

    def torque(t: float) -> np.ndarray:
        return AMPLITUDES * np.sin(2 * np.pi * t / 10)

    t, q, u = run(model, np.zeros(6), np.zeros(6), torque, 1e-3, 10_000)
    tip_slope = np.array([2.75301096934507, -9.56155682042328])
    second = q[:, 0] + q[:, 2:4] @ tip_slope + q[:, 1]  # of link 2, from the world's x axis
    assert np.degrees(q[-1, 0]) == pytest.approx(195.419, abs=0.02)
    assert np.degrees(second[-1]) == pytest.approx(209.571, abs=0.02)
    assert model.point("tip", q[-1], u[-1]).position[:2] == pytest.approx([-1.39890, -0.51257], abs=3e-4)
    deflection = 2 * q[:, 2] - 2 * q[:, 3]
    assert (deflection.min(), deflection.max()) == pytest.approx((-9.424e-3, 9.177e-3), rel=0.01)
    power = [torque(when) @ rate for when, rate in zip(t, u, strict=True)]
    energy = model.kinetic_energy(q[-1], u[-1]) + model.potential_energy(q[-1])
    assert energy == pytest.approx(np.trapezoid(power, t), abs=1e-6)
