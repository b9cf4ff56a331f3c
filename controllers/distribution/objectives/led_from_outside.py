"""Elastic motion of arms that are led from outside: the stabilising law (Sun 6.53 to 6.55) as an objective.

    min 1/2 |J3^T (w - A1^+ b1) - G y|^2,    G = -(M~_ee^-1 - M^_ee^-1) [K, D]

With no more elastic coordinates than internal forces the minimum is zero and the elastic plant is that of tips led from
outside, which is stable. It then uses the internal forces up: a set point for them has to give way.
"""

from __future__ import annotations

from typing import Any

from granite.config.distribution import Objective
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class LedFromOutside:
    """Law (6.55)."""

    Options = Objective

    def __init__(self, options: Objective, shape: GraspShape) -> None:
        pass

    def cost(self, known: Quantities) -> Any:
        """Half the sum of squares of the elastic accelerations that differ."""
        import cvxpy as cp

        return cp.sum_squares(known.unguided) / 2
