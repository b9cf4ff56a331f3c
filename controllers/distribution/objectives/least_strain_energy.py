"""Least strain energy a short time ahead (Sun 5.28 to 5.33).

    min 1/(2 h) x^T K_ee x,    x = q_e + dt q_e' + h q_e'',    h = dt^2/2

The source divides the energy by h (5.31), and so do we: its weights in sums with other objectives keep their meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.config.base import Positive
from granite.config.distribution import Objective
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class LeastStrainEnergy:
    """Scheme U."""

    class Options(Objective):
        """How far ahead the energy is that is made small."""

        ahead_s: Positive = 2e-4  #: time ahead at which the energy counts

    def __init__(self, options: Options, shape: GraspShape) -> None:
        self._ahead = options.ahead_s
        values, vectors = np.linalg.eigh(shape.stiffness)
        self._root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T  # K = R^T R

    def cost(self, known: Quantities) -> Any:
        """Strain energy a time ahead, over half the square of that time [J/s^2]."""
        import cvxpy as cp

        dt, h = self._ahead, self._ahead**2 / 2
        # R x / sqrt(h), each part by itself: a large number times a small one would lose digits.
        known_part = self._root / np.sqrt(h) @ (known.elastic + dt * known.elastic_rate)
        return cp.sum_squares(known_part + np.sqrt(h) * self._root @ known.elastic_acceleration) / 2
