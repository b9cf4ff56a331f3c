"""System 2 of Bonaventura: two bending links as ours, as printed and as rigid segments with springs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.support.dense_model import Model
from tests.support.flexible_arms import Array, flexible, planar_arm, run
from tests.validation.bonaventura_machine import Machine, Path, sines
from tests.validation.bonaventura_segments import chain
from tests.validation.bonaventura_systems import arm_angles
from tests.validation.bonaventura_tables import Drive
from tests.validation.bonaventura_truncated import two_link

LENGTHS, EVERY = (1.0, 0.5), 4


def printed(drive: Drive, elbow: float, tip_mass: float = 0.0) -> Path:
    start = np.array([0.0, elbow, 0.0, 0.0, 0.0, 0.0])
    return Machine([two_link(LENGTHS, (2, 2), tip_mass)], sines(drive)).run(start, 10.0)


def segments(drive: Drive, elbow: float, n: int, tip_mass: float = 0.0) -> Path:
    machine = Machine([chain(LENGTHS, (n, n), tip_mass)], sines(drive))
    return machine.run(np.repeat([0.0, elbow], n), 10.0, 1e-3 / EVERY)


class Ours(NamedTuple):
    angles: Array
    tip: Array
    q: Array


def ours(drive: Drive, elbow: float, tip_mass: float = 0.0) -> Ours:
    module = planar_arm([flexible(1.0, 2), flexible(0.5, 2, tip_mass_kg=tip_mass)], name="system_2")
    model, start = Model(module), np.array([0.0, elbow, 0.0, 0.0, 0.0, 0.0])
    _, q, u = run(model, start, np.zeros(6), lambda t: np.append(drive(t), np.zeros(4)), 1e-3, 10_000)
    tips = [model.point("tip", a, b).position[:2].copy() for a, b in zip(q, u, strict=True)]
    return Ours(arm_angles(q, LENGTHS, (2, 2))[0], np.array(tips), q)


def off(reference: Path, actual: Path | Ours) -> tuple[Array, Array]:
    """Greatest differences of both angles [deg], of tip x and y [m]."""
    angle = np.degrees(np.abs(reference.angles[::EVERY] - actual.angles)).max(axis=0)
    return angle, np.abs(reference.tip[::EVERY] - actual.tip).max(axis=0)
