"""Stress in a bar between two grips: |axial force|/area + |moment|/section modulus within a limit.

Axial force and moment are those of the internal wrench at either grip: its force along the line between them, and its
moment, which bends the bar most at the ends. In space the components of the moment are added up, which is on the safe
side.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from granite.config.base import Positive
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class ObjectStress:
    """The bar between one pair of grips."""

    class Options(PartTable):
        """The pair, the section, and what the material bears."""

        first: str  #: one grip of the pair
        second: str  #: the other grip
        area_m2: Positive  #: area of the section between them
        section_modulus_m3: Positive  #: its section modulus in bending
        stress_pa: Positive  #: largest stress

    def __init__(self, options: Options, shape: GraspShape) -> None:
        self._first = shape.grip_index(options.first, "first")
        self._second = shape.grip_index(options.second, "second")
        if self._first == self._second:
            raise InputError("the same grip twice", key="second", value=options.second, expected="another grip")
        #: both sides divided by the stress, so that the rows have the unit one
        self._axial = 1 / (options.area_m2 * options.stress_pa)
        self._bending = 1 / (options.section_modulus_m3 * options.stress_pa)

    def constraints(self, known: Quantities) -> list[Any]:
        """One row for each choice of signs, at each of the two grips."""
        rows = []
        for grip in (self._first, self._second):
            axial = self._axial * known.internal_axial_force(grip, self._first, self._second)
            moment = self._bending * known.moment(grip, known.internal_wrench)
            for signs in product((1.0, -1.0), repeat=known.shape.grips[grip].n_moment):
                stress = axial + np.array(signs) @ moment if signs else axial
                rows += [stress <= 1, stress >= -1]
        return rows
