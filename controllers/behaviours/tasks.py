"""Tasks of a state machine, as one array of numbers: what a law in task space follows, and with which weight.

A behaviour gives in `Reference.task` the code of its state; the weight of each coordinate, whose target is the
reference itself; and for each target in the plane (named points of the controlled modules, and the mass centre of the
first that floats) its position, velocity, acceleration and weight. A weight of zero leaves a task out: with all of
them zero the modules float freely. Where there are thrusters, the last number says whether they may fire.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.records import Array
from granite.config.testbed import Testbed

#: of the mass centre among the targets
CENTRE = "centre"
#: code of the state while the machine does not decide: in hold, in float, at rest
INTERRUPTED = -1
#: numbers of a target: x, y [m], velocity [m/s], acceleration [m/s^2], weight
TARGET = 7
_PARTS = (
    ("x", "m"), ("y", "m"), ("x", "m/s"), ("y", "m/s"), ("x", "m/s^2"), ("y", "m/s^2"), ("weight", "1"),
)  # fmt: skip


class TaskTarget(NamedTuple):
    """A point of a controlled module; without a point, the mass centre of the module."""

    name: str
    module: str
    point: str | None


class TaskLayout:
    """Where the numbers of each task stand."""

    def __init__(self, bed: Testbed) -> None:
        several = len(bed.modules) > 1
        self.targets = [
            TaskTarget(f"{module.name}_{point.name}" if several else point.name, module.name, point.name)
            for module in bed.controlled
            for point in module.points
            if module.dimension == "planar"
        ]
        floating = [module for module in bed.controlled if module.base == "floating" and module.dimension == "planar"]
        if floating:
            self.targets.append(TaskTarget(CENTRE, floating[0].name, None))
        self._velocities = bed.known.velocities
        self.n = len(self._velocities)
        self._starts = {target.name: 1 + self.n + TARGET * i for i, target in enumerate(self.targets)}
        self.has_thrusters = bool(bed.thrusters)
        self.size = 1 + self.n + TARGET * len(self.targets) + int(self.has_thrusters)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Name and unit of each number."""
        weights = (Coordinate(f"{c.name}_weight", "1") for c in self._velocities)
        parts = (Coordinate(f"{target.name}_{name}", unit) for target in self.targets for name, unit in _PARTS)
        permission = (Coordinate("thrusters_may_fire", "1"),) if self.has_thrusters else ()
        return (Coordinate("machine_state", "1"), *weights, *parts, *permission)

    def nothing(self, state: int) -> Array:
        """No task in this state: everything floats."""
        task = np.zeros(self.size)
        task[0] = state
        self.permit_thrusters(task, True)
        return task

    def permit_thrusters(self, task: Array, may_fire: bool) -> None:
        """Whether thrusters may fire, where there are any."""
        if self.has_thrusters:
            task[-1] = may_fire

    def weigh(self, task: Array, coordinate: int, weight: float) -> None:
        """Follow the reference of a coordinate."""
        task[1 + coordinate] = weight

    def motion(self, target: str) -> slice:
        """Of a task: position, velocity and acceleration of a target."""
        start = self._starts[target]
        return slice(start, start + TARGET - 1)

    def aim(self, task: Array, target: str, x: Array, v: Array, a: Array, weight: float) -> None:
        """Follow a motion of a target."""
        start = self._starts[target]
        task[start : start + TARGET] = (*x, *v, *a, weight)


def interrupted(bed: Testbed, followed: Iterable[int] = ()) -> Array:
    """The tasks while another behaviour takes the place of a machine: these coordinates follow its reference.

    Empty where the behaviour of the testbed is no machine.
    """
    task = np.zeros(len(bed.behaviour.recorded(bed)))
    if len(task):
        task[0] = INTERRUPTED
        task[len(task) - int(bool(bed.thrusters)) :] = 1.0
        for i in followed:
            task[1 + i] = 1.0
    return task
