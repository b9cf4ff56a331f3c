"""Discs that cover other modules, at their poses along a path; those of measured obstacles grow."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from granite.config.footprints import footprints
from granite.config.records import Array
from granite.controllers.model import ControlModel


class MovingDiscs:
    """The discs of some modules of a model."""

    def __init__(self, model: ControlModel, modules: Sequence[str]) -> None:
        shapes = [(name, body) for name in modules for body in footprints(model.bed, model.bed.module(name))]
        discs = [(name, body.body, disc) for name, body in shapes for disc in body.discs]
        self._radii = np.array([radius for _, _, (_, _, radius) in discs])
        self._growth = np.array([body.growth for _, body in shapes for _ in body.discs])
        centres = [model.trees[name].point_position(body, (x, y))[:2] for name, body, (x, y, _) in discs]
        self._centres = ca.Function("centres", [model.q], [ca.horzcat(ca.SX(2, 0), *centres)])

    def __len__(self) -> int:
        """The number of them."""
        return len(self._radii)

    def at(self, poses: Sequence[Array], times: Array) -> Array:
        """x, y and radius of each at these poses of all coordinates, so long from now: (poses, discs, 3)."""
        centres = np.array([np.array(self._centres(q)).T for q in poses])
        radii = self._radii + times[:, None] * self._growth
        return np.concatenate([centres, radii[:, :, None]], axis=2)
