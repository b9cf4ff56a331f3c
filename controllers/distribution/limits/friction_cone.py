"""Friction at a grip that presses on the object: the tangential force stays below mu times the normal force.

In a plane the cone is linear already. In space it is replaced by the pyramid of `sides` faces inside it, or by a box,
|f_t1|, |f_t2| <= mu f_n / sqrt(2), which is the pyramid of four faces turned by 45 degrees.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from granite.config.base import Positive
from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class FrictionCone:
    """The cone of one grip, or of every grip."""

    class Options(PartTable):
        """Coefficient and form."""

        #: of one grip; none named: of every grip
        grip: str | None = None
        coefficient: Positive  #: of friction
        form: Literal["pyramid", "box"] = "pyramid"  #: of the linear bounds within the cone
        #: faces of the pyramid in space
        sides: Annotated[int, Field(ge=3, le=32)] = 8

    def __init__(self, options: Options, shape: GraspShape) -> None:
        named = options.grip
        self._grips = range(len(shape.grips)) if named is None else [shape.grip_index(named, "grip")]
        self._faces = _faces(options, shape.n_space)

    def constraints(self, known: Quantities) -> list[Any]:
        """One row for each face: its direction times the tangential force is at most its slope times the normal."""
        constraints = []
        for grip in self._grips:
            force = known.local_force(grip)
            for slope, *direction in self._faces:
                constraints.append(np.array(direction) @ force[1:] <= slope * force[0])
        return constraints


def _faces(options: FrictionCone.Options, n_space: int) -> Array:
    """Rows of slope and direction."""
    mu = options.coefficient
    if n_space == 2:
        return np.array([[mu, 1.0], [mu, -1.0]])
    if options.form == "box":
        slope = mu / np.sqrt(2.0)
        return np.array([[slope, 1.0, 0.0], [slope, -1.0, 0.0], [slope, 0.0, 1.0], [slope, 0.0, -1.0]])
    angles = 2 * np.pi * np.arange(options.sides) / options.sides
    # The edges of the pyramid lie on the cone: its faces are nearer by the cosine of half the angle between edges.
    slope = np.full(options.sides, mu * np.cos(np.pi / options.sides))
    return np.column_stack([slope, np.cos(angles), np.sin(angles)])
