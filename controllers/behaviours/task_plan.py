"""The reference of a state over time: a polynomial for each coordinate and each target that has a task.

A machine plans when it enters a state, and again when it has looked at its conditions. Between these events every tick
evaluates the plan by one compiled function, in Python as in C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.controllers.behaviours.tasks import TARGET, TaskLayout
from granite.controllers.trajectories.quintic import Quintic
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function
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
    more
        How many numbers it has beside the tasks.
    thrusters
        Whether thrusters may fire, where there are any.
    """

    def __init__(self, layout: TaskLayout, state: int, more: int = 0, thrusters: bool = True) -> None:
        self._layout, n = layout, plan_size(layout)
        self.numbers: Array = np.zeros(n + more)
        #: those beside the tasks, in the order in which the tick of the machine reads them
        self.more = self.numbers[n:]
        self.numbers[0] = state
        layout.permit_thrusters(self.numbers[:n], thrusters)
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

    def coast(self) -> None:
        """Thrusters may not fire."""
        self._layout.permit_thrusters(self.numbers[: plan_size(self._layout)], False)

    def _follow(
        self, kind: float, coordinates: Sequence[int], path: Quintic, weight: float, of: Sequence[int] | None
    ) -> None:
        for i, column in zip(coordinates, range(len(coordinates)) if of is None else of, strict=True):
            at = 1 + _COORDINATE * i
            self.numbers[at : at + _COORDINATE] = kind, weight, path.t0, path.duration, *path.coefficients[:, column]


def plan_size(layout: TaskLayout) -> int:
    """How many numbers the tasks of a plan have."""
    return 1 + _COORDINATE * layout.n + _TARGET * len(layout.targets) + int(layout.has_thrusters)


class TickSymbols(NamedTuple):
    """What the tick of a machine depends on, and its reference by the polynomials of the plan."""

    state_q: ca.SX
    state_u: ca.SX
    gauges: ca.SX
    numbers: ca.SX  #: of the plan, beside the tasks
    memory: ca.SX
    q: ca.SX
    u: ca.SX
    a: ca.SX
    task: ca.SX


class TickResults(NamedTuple):
    """What the tick of a machine gives."""

    q: ca.SX
    u: ca.SX
    a: ca.SX
    task: ca.SX
    memory: ca.SX  #: after the tick
    conditions: ca.SX  #: 1: it holds
    seen: ca.SX  #: what else methods of the states read


def _polynomials_alone(tick: TickSymbols) -> TickResults:
    nothing = ca.SX(0, 1)
    return TickResults(tick.q, tick.u, tick.a, tick.task, nothing, nothing, nothing)


class TickForm(NamedTuple):
    """What the ticks of a machine have beside the polynomials of its plans: references that follow something that is
    estimated, filters, and conditions for which its states wait.
    """

    key: str | None = ""  #: all that the function follows from; None: not known
    numbers: int = 0  #: of a plan, beside the tasks
    memory: int = 0
    conditions: tuple[str, ...] = ()
    write: Callable[[TickSymbols], TickResults] = _polynomials_alone


def tick_kernel(layout: TaskLayout, sizes: Mapping[str, int], tick: TickForm) -> Kernel:
    """A tick between two looks at the conditions; the sizes are those of `state_...` and `reference_direct`."""
    tasks = f"{layout.n} {len(layout.targets)} {layout.has_thrusters}"
    key = None if tick.key is None else f"{[*sizes.items()]} {tasks} {tick[1:4]} {tick.key}"
    return compile_once("machine", key, lambda: [_tick_function(layout, sizes, tick)])["machine"]


def _tick_function(layout: TaskLayout, sizes: Mapping[str, int], tick: TickForm) -> ca.Function:
    of_state = {name: ca.SX.sym(name, size) for name, size in sizes.items() if name != "reference_direct"}
    n = len(tick.conditions)
    memory = {
        "wakes_at": ca.SX.sym("wakes_at"),
        "report": ca.SX.sym("report", sizes["state_holding"]),
        "expected": ca.SX.sym("expected", n),
        "plan": ca.SX.sym("plan", plan_size(layout) + tick.numbers),
        "done": ca.SX.sym("done"),
        "setpoints": ca.SX.sym("setpoints", sizes["reference_direct"]),
        "own": ca.SX.sym("own", tick.memory),
    }
    tasks, numbers = ca.vertsplit(memory["plan"], [0, plan_size(layout), plan_size(layout) + tick.numbers])
    t, q, u = (of_state[f"state_{name}"] for name in "tqu")
    reference = polynomial_reference(layout, t, q, u, tasks)
    results = tick.write(TickSymbols(q, u, of_state["state_gauges"], numbers, memory["own"], *reference))
    looks = ca.logic_or(ca.logic_not(of_state["state_ready"]), ca.logic_not(t < memory["wakes_at"]))
    for i in range(sizes["state_holding"]):
        looks = ca.logic_or(looks, of_state["state_holding"][i] != memory["report"][i])
    for i in range(n):  # NaN: nothing waits for it
        looks = ca.logic_or(looks, ca.fabs(results.conditions[i] - memory["expected"][i]) > 0)
    return named_function(
        "machine",
        {**of_state, **{f"memory_{name}": symbol for name, symbol in memory.items()}},
        {
            "python_needed": looks,
            "reference_q": results.q,
            "reference_u": results.u,
            "reference_a": results.a,
            "reference_task": results.task,
            "reference_done": memory["done"],
            "reference_direct": memory["setpoints"],
            "next_own": results.memory,
            "python_conditions": results.conditions,
            "python_seen": results.seen,
        },
    )


def polynomial_reference(
    layout: TaskLayout, t: ca.SX, q: ca.SX, u: ca.SX, numbers: ca.SX
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Reference q, u, a, and task at time t by the polynomials of a plan; what has none is where it is estimated."""
    n_q = q.numel()
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
    if layout.has_thrusters:
        task[-1] = numbers[-1]
    return position, rate, acceleration, task


def _motion(t: ca.SX, start: ca.SX, duration: ca.SX, *c: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Position, rate and acceleration; after the end it continues at constant rate, as `Quintic.at`."""
    since = t - start
    length = ca.if_else(duration > 0, duration, 1.0)  # zero where there is no task
    tau = ca.fmax(0.0, ca.fmin(1.0, since / length))
    x = c[0] + tau * (c[1] + tau * (c[2] + tau * (c[3] + tau * (c[4] + tau * c[5]))))
    v = (c[1] + tau * (2 * c[2] + tau * (3 * c[3] + tau * (4 * c[4] + tau * 5 * c[5])))) / length
    a = (2 * c[2] + tau * (6 * c[3] + tau * (12 * c[4] + tau * 20 * c[5]))) / length**2
    return x + ca.fmax(0.0, since - length) * v, v, ca.if_else(since > length, 0.0, a)
