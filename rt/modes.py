"""The modes of a testbed about its start: what `granite modes` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.testbed import Testbed
from granite.mrds.modes import Mode, modes
from granite.mrds.system import System
from granite.sim.equations import initial_motion
from granite.sim.start import fitting_start

#: accelerations below this are rounding, in units of SI
_AT_REST = 1e-6


class Start(NamedTuple):
    """Small motions about the pose at the start, and how it accelerates when it is let go there at rest."""

    modes: tuple[Mode, ...]
    acceleration: dict[Coordinate, float]  #: of every coordinate that does not stay where it is

    @property
    def complaint(self) -> str | None:
        """One sentence where the pose is no equilibrium: the greatest acceleration in each unit."""
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


def modes_of(bed: Testbed, closed: Sequence[str] | None = None) -> Start:
    """Modes about the pose at the start, at rest, with these contacts closed; those of the start if none are named."""
    held = System(bed.modules, bed.contacts).contact_set(bed.contact_sets[0] if closed is None else closed)
    q, u = fitting_start(bed, held, *initial_motion(bed))
    still = np.zeros(len(u))
    acceleration = zip(bed.velocities, held.accelerate(q, still, still).acceleration.tolist(), strict=True)
    moving = {Coordinate(c.name, f"{c.unit}^2"): value for c, value in acceleration if abs(value) > _AT_REST}
    return Start(modes(held, q, u=still), moving)


def _parts(value: complex) -> list[float]:
    return [value.real, value.imag]
