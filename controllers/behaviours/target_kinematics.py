"""Where the targets of the tasks are, and how fast: points of the controlled modules and the mass centre."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from granite.config.records import Array, State
from granite.controllers.behaviours.tasks import TaskLayout
from granite.controllers.model import ControlModel
from granite.kernels.compilation import compile_once


class Motion(NamedTuple):
    """Position [m] and velocity [m/s] in the plane."""

    x: Array
    v: Array


class TargetKinematics:
    """The targets of a testbed by name, from one compiled function."""

    def __init__(self, model: ControlModel) -> None:
        layout = TaskLayout(model.bed)
        self._names = [target.name for target in layout.targets]

        def write() -> list[ca.Function]:
            motions = ca.SX(0, 1)
            for target in layout.targets:
                if target.point is None:
                    tree, dynamics = model.trees[target.module], model.dynamics[target.module]
                    mass = ca.sum1(ca.vertcat(*(body.mass for body in tree.bodies)))
                    x, v = dynamics.centre_of_mass()[:2], dynamics.mass_matrix[:2, :] @ tree.u / mass
                else:
                    point = model.point(target.module, target.point)
                    x, v = point.position[:2], point.velocity[:2]
                motions = ca.vertcat(motions, x, v)
            return [ca.Function("targets", [model.q, model.u], [motions])]

        self._run = compile_once("targets", model.bed.fingerprint, write)["targets"].run

    def __call__(self, state: State) -> dict[str, Motion]:
        """The motion of each target."""
        motions = self._run((state.q, state.u)).reshape(-1, 2, 2)
        return {name: Motion(x, v) for name, (x, v) in zip(self._names, motions, strict=True)}
