"""Modes of a testbed about its start, as `granite modes` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.records import Array
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.start import consistent_start
from granite.mrds.system import System
from granite.mrds.tolerances import COARSE_MODE, EQUILIBRIUM
from granite.mrds.vibration_modes import VibrationMode, modes


class InitialVibration(NamedTuple):
    """Modes about the pose of the start, and the accelerations from rest there."""

    modes: tuple[VibrationMode, ...]
    acceleration: dict[Coordinate, float]  #: of every coordinate that is not in equilibrium
    #: of each mode with one more shape a flexible link, all of them polynomials [Hz]; none without such links
    finer_frequencies: tuple[float, ...] = ()
    links_too_stiff: tuple[str, ...] = ()  #: whose shapes do not fit a moment at their tip

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

    @property
    def coarseness(self) -> str | None:
        """A message where one more shape a link changes frequencies by more than 1 %."""
        pairs = zip((mode.frequency for mode in self.modes), self.finer_frequencies, strict=False)
        changed = [str(i) for i, (f, finer) in enumerate(pairs, 1) if abs(f - finer) > COARSE_MODE * finer]
        if not changed:
            return None
        unfit = (
            f": the shapes of {', '.join(self.links_too_stiff)} do not fit the moment at the tip, polynomials do"
            if self.links_too_stiff
            else ""
        )
        numbers = f"modes {', '.join(changed)} change" if len(changed) > 1 else f"mode {changed[0]} changes"
        return f"{numbers} by more than {100 * COARSE_MODE:g} % with one more polynomial shape a link (finer){unfit}"

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
            "finer_frequency_hz": list(self.finer_frequencies),
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
    held, q, still = _start(bed, closed)
    acceleration = zip(bed.velocities, held.accelerate(q, still, still).acceleration.tolist(), strict=True)
    moving = {Coordinate(c.name, f"{c.unit}^2"): value for c, value in acceleration if abs(value) > EQUILIBRIUM}
    vibration_modes = modes(held, q, u=still)
    if not any(body.flexible for module in bed.modules for body in module.bodies):
        return InitialVibration(vibration_modes, moving)
    held, q, still = _start(_with_one_more_shape(bed), closed)
    finer = [mode.frequency for mode in modes(held, q, u=still)][: len(vibration_modes)]
    unfit = tuple(f"{module.name}.{link}" for module in bed.modules for link in module.links_too_stiff())
    return InitialVibration(vibration_modes, moving, tuple(finer), unfit)


def _start(bed: Testbed, closed: Sequence[str] | None) -> tuple[ContactSet, Array, Array]:
    """The contacts, the pose of the start, and no velocity."""
    held = System(bed.modules, bed.contacts).contact_set(bed.contact_sets[0] if closed is None else closed)
    q, u = consistent_start(bed, held, *initial_motion(bed))
    return held, q, np.zeros(len(u))


def _with_one_more_shape(bed: Testbed) -> Testbed:
    """The testbed with one more shape in each direction in which a link bends, all of them polynomials.

    Amplitudes of the start are those of other shapes here, so that a closed chain may need a small correction.
    """
    modules = []
    for module in bed.modules:
        bodies = []
        for body in module.bodies:
            if (link := body.flexible) is not None:
                counts = {key: getattr(link, key) and getattr(link, key) + 1 for key in ("modes_y", "modes_z")}
                link = link.model_copy(update={**counts, "shapes": "polynomial", "polynomials": ()})
            bodies.append(body.model_copy(update={"flexible": link}))
        modules.append(module.model_copy(update={"bodies": tuple(bodies)}))
    simulation = bed.simulation.model_copy(update={"fit_start": True})
    return bed.model_copy(update={"modules": tuple(modules), "simulation": simulation})


def _parts(value: complex) -> list[float]:
    return [value.real, value.imag]
