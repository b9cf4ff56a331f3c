"""A grip that can only push: its force along the first of its axes, which points into the object, is not negative."""

from __future__ import annotations

from typing import Any

from granite.config.base import NotNegative
from granite.config.parts import PartTable
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class OneSided:
    """At one grip, or at every grip."""

    class Options(PartTable):
        """Which, and how much it pushes at least."""

        #: one grip; none named: every grip
        grip: str | None = None
        least_n: NotNegative = 0.0  #: least push

    def __init__(self, options: Options, shape: GraspShape) -> None:
        named = options.grip
        self._grips = range(len(shape.grips)) if named is None else [shape.grip_index(named, "grip")]
        self._least = options.least_n

    def constraints(self, known: Quantities) -> list[Any]:
        """One row for each grip."""
        return [known.local_force(grip)[0] >= self._least for grip in self._grips]
