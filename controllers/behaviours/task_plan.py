"""The reference of a state over time: a polynomial for each coordinate and each target that has a task.

A machine plans when it enters a state, and again when the grips report something else. Between these events every tick
evaluates the plan by one compiled function, in Python as in C.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.controllers.behaviours.tasks import TARGET, TaskLayout
from granite.controllers.trajectories.quintic import Quintic
from granite.kernels.compilation import compile_once
from granite.kernels.kernel import Kernel

#: numbers of a coordinate: what its path gives, weight, start and duration [s], coefficients of its polynomial
_COORDINATE = 10
#: numbers of a target: weight, start and duration [s], coefficients of x and of y
_TARGET = 15
_POSITION, _RATE = 1.0, 2.0


class TaskPlan:
    """The tasks of a state; what has none floats.

    Parameters
    ----------
    layout
        The tasks that there are.
    state
        Code of the state.
    """

    def __init__(self, layout: TaskLayout, state: int) -> None:
        self._layout = layout
        self.numbers: Array = np.zeros(plan_size(layout))
        self.numbers[0] = state
        #: the behaviour is finished
        self.done = False

    def follow(self, coordinates: Sequence[int], path: Quintic, weight: float, of: Sequence[int] | None = None) -> None:
        """Follow a path by position; `of`: which components of the path, if not all in turn."""
        self._follow(_POSITION, coordinates, path, weight, of)

    def follow_rate(self, coordinates: Sequence[int], path: Quintic, weight: float) -> None:
        """Follow a path of the rates, wherever the coordinates are."""
        self._follow(_RATE, coordinates, path, weight, None)

    def aim(self, target: str, path: Quintic, weight: float, of: tuple[int, int] = (0, 1)) -> None:
        """Lead a target along a path in the plane; `of`: which components of the path."""
        names = [known.name for known in self._layout.targets]
        at = 1 + _COORDINATE * self._layout.n + _TARGET * names.index(target)
        self.numbers[at : at + _TARGET] = weight, path.t0, path.duration, *path.coefficients.T[[*of]].ravel()

    def _follow(
        self, kind: float, coordinates: Sequence[int], path: Quintic, weight: float, of: Sequence[int] | None
    ) -> None:
        for i, column in zip(coordinates, range(len(coordinates)) if of is None else of, strict=True):
            at = 1 + _COORDINATE * i
            self.numbers[at : at + _COORDINATE] = kind, weight, path.t0, path.duration, *path.coefficients[:, column]


def plan_size(layout: TaskLayout) -> int:
    """How many numbers a plan has."""
    return 1 + _COORDINATE * layout.n + _TARGET * len(layout.targets)


def plan_kernel(layout: TaskLayout, n_q: int) -> Kernel:
    """(t, q, u, numbers of a plan) -> reference q, u, a, and task."""
    key = f"{n_q} {layout.n} {len(layout.targets)}"
    return compile_once("task_plan", key, lambda: [_function(layout, n_q)])["task_plan"]


def _function(layout: TaskLayout, n_q: int) -> ca.Function:
    t, q, u = ca.SX.sym("t"), ca.SX.sym("q", n_q), ca.SX.sym("u", layout.n)
    numbers = ca.SX.sym("numbers", plan_size(layout))
    position, rate, acceleration, task = ca.SX(q), ca.SX(u), ca.SX.zeros(layout.n), ca.SX.zeros(layout.size)
    task[0], at = numbers[0], 1
    for i in range(layout.n):
        kind, weight, *path = ca.vertsplit(numbers[at : at + _COORDINATE])
        at += _COORDINATE
        x, v, a = _motion(t, *path)
        by_position, by_rate = kind == _POSITION, kind == _RATE
        if i < n_q:
            position[i] = ca.if_else(by_position, x, q[i])
        rate[i] = ca.if_else(by_position, v, ca.if_else(by_rate, x, u[i]))
        acceleration[i] = ca.if_else(by_position, a, ca.if_else(by_rate, v, 0.0))
        task[1 + i] = weight
    for i in range(len(layout.targets)):
        weight, start, duration, *c = ca.vertsplit(numbers[at : at + _TARGET])
        at += _TARGET
        motions = [_motion(t, start, duration, *c[:6]), _motion(t, start, duration, *c[6:])]
        first = 1 + layout.n + TARGET * i
        values = [motion[level] for level in range(3) for motion in motions]
        task[first : first + TARGET] = ca.if_else(weight > 0, ca.vertcat(*values, weight), 0.0)
    return ca.Function("task_plan", [t, q, u, numbers], [position, rate, acceleration, task])


def _motion(t: ca.SX, start: ca.SX, duration: ca.SX, *c: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Position, rate and acceleration; after the end it continues at constant rate, as `Quintic.at`."""
    since = t - start
    length = ca.if_else(duration > 0, duration, 1.0)  # zero where there is no task
    tau = ca.fmax(0.0, ca.fmin(1.0, since / length))
    x = c[0] + tau * (c[1] + tau * (c[2] + tau * (c[3] + tau * (c[4] + tau * c[5]))))
    v = (c[1] + tau * (2 * c[2] + tau * (3 * c[3] + tau * (4 * c[4] + tau * 5 * c[5])))) / length
    a = (2 * c[2] + tau * (6 * c[3] + tau * (12 * c[4] + tau * 20 * c[5]))) / length**2
    return x + ca.fmax(0.0, since - length) * v, v, ca.if_else(since > length, 0.0, a)
