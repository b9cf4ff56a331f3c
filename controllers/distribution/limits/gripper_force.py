"""Force and moment that a gripper can hold: every component within a bound, in the axes of the grip."""

from __future__ import annotations

from typing import Any

from granite.config.base import Positive
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class GripperForce:
    """At one grip, or at every grip."""

    class Options(PartTable):
        """Bounds; at least one of them."""

        #: one grip; none named: every grip
        grip: str | None = None
        force_n: Positive | None = None  #: largest force; none: no bound
        moment_n_m: Positive | None = None  #: largest moment; none: no bound

    def __init__(self, options: Options, shape: GraspShape) -> None:
        named = options.grip
        self._grips = range(len(shape.grips)) if named is None else [shape.grip_index(named, "grip")]
        self._force, self._moment = options.force_n, options.moment_n_m
        if self._force is None and self._moment is None:
            raise InputError.missing("force_n", "a number, or moment_n_m")
        if self._moment is not None and not any(shape.grips[i].n_moment for i in self._grips):
            raise InputError("no moment is transmitted there", key="moment_n_m", value=self._moment, expected="none")

    def constraints(self, known: Quantities) -> list[Any]:
        """Upper and lower bounds of each component."""
        constraints = []
        for grip in self._grips:
            if self._force is not None:
                force = known.local_force(grip)
                constraints += [force <= self._force, force >= -self._force]
            if self._moment is not None and known.shape.grips[grip].n_moment:
                moment = known.moment(grip)
                constraints += [moment <= self._moment, moment >= -self._moment]
        return constraints
