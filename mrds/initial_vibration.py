"""Modes of a testbed about its start, as `granite modes` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.mrds.start import consistent_start
from granite.mrds.system import System
from granite.mrds.tolerances import EQUILIBRIUM
from granite.mrds.vibration_modes import VibrationMode, modes


class InitialVibration(NamedTuple):
    """Modes about the pose of the start, and the accelerations from rest there."""

    modes: tuple[VibrationMode, ...]
    acceleration: dict[Coordinate, float]  #: of every coordinate that is not in equilibrium

    @property
    def complaint(self) -> str | None:
        """A message where the pose is no equilibrium: the largest acceleration in each unit."""
        greatest: dict[str, str] = {}
        for (name, unit), value in sorted(self.acceleration.items(), key=lambda part: -abs(part[1])):
            greatest.setdefault(unit, f"{name} by {value:.3g} {unit}")
        moves = ", ".join(greatest.values())
        return (
            f"no equilibrium: the modes are those of the frozen state, which accelerates ({moves})" if moves else None
        )

    def as_json(self) -> dict[str, Any]:
        """The same for scripts; complex numbers as [real, imaginary]."""
        return {
            "modes": [
                {
                    "frequency_hz": mode.frequency,
                    "damping_ratio": mode.damping_ratio,
                    "eigenvalue_1_s": _parts(mode.eigenvalue),
                    "rigid": mode.rigid,
                    "unstable": mode.unstable,
                    "shape": {name: _parts(part) for name, part in mode.shape.items()},
                }
                for mode in self.modes
            ],
            "acceleration": {coordinate.key: value for coordinate, value in self.acceleration.items()},
        }


def initial_modes(bed: Testbed, closed: Sequence[str] | None = None) -> InitialVibration:
    """Modes about the pose of the start, at rest and without forces.

    Parameters
    ----------
    bed
        The testbed.
    closed
        Names of the closed contacts; those of the start if not given.

    Returns
    -------
    InitialVibration
        Modes, and accelerations where the pose is no equilibrium.

    Raises
    ------
    InputError
        Where the start does not satisfy the contacts.
    """
    held = System(bed.modules, bed.contacts).contact_set(bed.contact_sets[0] if closed is None else closed)
    q, u = consistent_start(bed, held, *initial_motion(bed))
    still = np.zeros(len(u))
    acceleration = zip(bed.velocities, held.accelerate(q, still, still).acceleration.tolist(), strict=True)
    moving = {Coordinate(c.name, f"{c.unit}^2"): value for c, value in acceleration if abs(value) > EQUILIBRIUM}
    return InitialVibration(modes(held, q, u=still), moving)


def _parts(value: complex) -> list[float]:
    return [value.real, value.imag]
