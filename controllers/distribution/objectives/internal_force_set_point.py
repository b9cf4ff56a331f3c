"""Internal force to a set point: the squeeze between two grips, half the difference of their forces along the line
between them, positive where the object is compressed; min 1/2 (s - set point)^2. A law may ramp the set point up."""

from __future__ import annotations

from typing import Any

from granite.config.distribution import Objective
from granite.config.errors import InputError
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class InternalForceSetPoint:
    """The squeeze of one pair of grips; further pairs are further objectives."""

    class Options(Objective):
        """The pair, and its squeeze."""

        first: str  #: one grip of the pair
        second: str  #: the other grip
        squeeze_n: float  #: force along the line between them; positive presses

    def __init__(self, options: Options, shape: GraspShape) -> None:
        self._first, self._second = (shape.grip_index(getattr(options, k), k) for k in ("first", "second"))
        if self._first == self._second:
            raise InputError("the same grip twice", key="second", value=options.second, expected="another grip")
        self._squeeze = options.squeeze_n

    def cost(self, known: Quantities) -> Any:
        """Half the square of the error of the squeeze [N^2]."""
        import cvxpy as cp

        difference = known.force(self._first) - known.force(self._second)
        return cp.square(known.line(self._first, self._second) @ difference / 2 - self._squeeze * known.ramp) / 2
