"""Wrench on the base of every vehicle within the reach of its thrusters: N w_b <= share c (the zonotope of `reach.py`).

It is the reach of `least_propellant`; other sharings give less, so the law refuses the limit with them.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class ThrusterLimit:
    """All vehicles alike."""

    class Options(PartTable):
        """How much of the thrust may be used."""

        share: Annotated[float, Field(gt=0, le=1)] = 1.0  #: part of the thrust that may be used

    def __init__(self, options: Options, shape: GraspShape) -> None:
        if not shape.bases:
            raise InputError("no arm is on a base with thrusters", expected="a vehicle among the arms")
        self._share = options.share

    def constraints(self, known: Quantities) -> list[Any]:
        """One half-space a facet, each once."""
        limits = []
        for i, base in enumerate(known.shape.bases):
            planes = np.unique(np.round(np.column_stack([base.normals, base.bounds]), 12), axis=0)
            limits.append(planes[:, :3] @ known.base_wrench(i) <= self._share * planes[:, 3])
        return limits
