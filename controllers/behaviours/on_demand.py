"""Motion on demand: holds its pose, and goes to goals that come while the loop runs.

The path of the present goal is a table that both forms of the tick read. A goal is checked and its path put into the
table before a tick; it begins with the reference of the tick before, and so continues it with its acceleration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np
from pydantic import model_validator

from granite.config.behaviour import Behaviour
from granite.config.coordinates import Coordinate
from granite.config.errors import InputError
from granite.config.records import Array, Reference
from granite.config.run_modes import Reply, Request, RequestKind
from granite.config.testbed import Testbed
from granite.controllers.behaviours.braking import finite
from granite.controllers.behaviours.goal_paths import GoalPaths, PathUse
from granite.controllers.behaviours.holds import setpoints_of
from granite.controllers.behaviours.tasks import TaskLayout, interrupted
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import can_brake
from granite.controllers.symbolic import SymbolicBehaviour
from granite.controllers.trajectories.sampled import polynomial
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import TimeTable, named_function

#: rows of a path
MOST_KNOTS = 1024
#: a jog that would come too near to an edge is tried with these parts of its speed
_SLOWER = (1.0, 0.35)
#: rows of a path that other coordinates go on with, at most: of a longer one they go to the end with the new goal
_MERGED = 8
_POSSIBLE = PathUse(0, 0.0)


class GoalAnswer(NamedTuple):
    """The answer to a goal, and the limit that its path uses most."""

    reply: Reply
    use: PathUse = _POSSIBLE


class OnDemand(SymbolicBehaviour):
    """Goals of an operator; without one it holds the pose that it starts in. It is never done."""

    class Options(Behaviour):
        """The options of every behaviour; `contact_sets` are those that `grip` and `release` may lead to."""

        arguments: ClassVar[frozenset[str]] = frozenset({"kind"})

        @model_validator(mode="after")
        def _nothing_by_time(self) -> OnDemand.Options:
            if self.holds:
                raise InputError(key="holds", value=len(self.holds), expected="none: an operator grips and releases")
            return self

        def goals(self, bed: Testbed) -> tuple[Coordinate, ...]:
            """Those of the reference."""
            return bed.known.positions

        def actions(self, bed: Testbed) -> tuple[str, ...]:
            """To close and open all grips, and each of them."""
            names = ("", *(f" {name}" for name in bed.grips)) if bed.grips else ()
            return tuple(f"{verb}{name}" for name in names for verb in ("grip", "release"))

        def recorded(self, bed: Testbed) -> tuple[Coordinate, ...]:
            """The tasks of a law in task space: all coordinates that an actuator moves."""
            return TaskLayout(bed).coordinates if bed.control.law.follows_tasks else ()

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed, n = model.bed, model.n
        if not can_brake(bed) or model.q.numel() != n:
            raise InputError(
                "a module moves in space", key="behaviour.kind", value=options.kind, expected="planar ones"
            )
        self._bed, self._paths, self._actions = bed, GoalPaths(model), options.actions(bed)
        #: coordinates that goals may move: those with a reference and an actuator, or of an object that arms carry
        carried = [model.layout.u[module.name] for module in bed.followed if module not in bed.controlled]
        moved = [*model.active, *(i for part in carried for i in range(part.start, part.stop))]
        self._moved = np.isin(np.arange(n), moved) & np.isin(np.arange(n), bed.followed_positions)
        width, self._sets = 2 + 6 * n, [frozenset(closed) for closed in bed.contact_sets] if bed.switches else []
        self._closed: frozenset[str] = self._sets[0] if self._sets else frozenset()
        table = TimeTable(np.full(MOST_KNOTS, math.inf), np.full((MOST_KNOTS, width), math.nan))
        table.rows[:, 1] = 1.0
        #: rows in use; of a path that is being handed over the number of knots, the rows between them, the last knot
        self._used, self._staged, self._staged_rows = 1, 0, np.zeros((MOST_KNOTS, width))
        self._last_time, self._last_knot = 0.0, np.zeros(3 * n)
        setpoints = self._setpoints()
        kernel = compile_once("on_demand", f"{n} {setpoints.size}", lambda: [_function(n, setpoints.size)])["on_demand"]
        super().__init__(
            bed,
            kernel,
            {"direct": setpoints},
            {"begun": np.zeros(1), "start": np.zeros(n)},
            {"task": interrupted(bed, model.active)},
            {"path": table},
        )
        self._path = self.tables["path"]

    def restart(self) -> None:
        """Back to the start, for another run."""
        self._path.times[:], self._path.rows[:, 2:], self._used, self._staged = math.inf, math.nan, 1, 0
        self._closed = self._sets[0] if self._sets else frozenset()
        self.parameters["direct"][:] = self._setpoints()

    def stay(self, reference: Reference) -> None:
        """Forget the goal, and hold the pose of a reference from its time on."""
        self._follow(self._paths.resting(reference.t, reference.q))

    def ask(self, reference: Reference, request: Request) -> GoalAnswer:
        """Take a goal from the last reference on, if it is possible.

        Parameters
        ----------
        reference
            Of the last tick.
        request
            GO with the target (NaN: as before) and its duration; JOG with the rate of each coordinate;
            KNOT with its number, time and q, u, a; FOLLOW with the number of knots and the time of the way to the
            first one; ACT with the number of the action.
        """
        motion = np.concatenate([reference.q, reference.u, reference.a])
        if request.ask is RequestKind.GO:
            return self._go(reference.t, motion, request)
        if request.ask is RequestKind.JOG:
            return self._jog(reference.t, motion, request)
        if request.ask is RequestKind.KNOT:
            return self._stage(request)
        if request.ask is RequestKind.FOLLOW:
            return self._follow_staged(reference.t, motion, request)
        return self._act(request)

    def _go(self, t: float, motion: Array, request: Request) -> GoalAnswer:
        n = self._paths.n
        target, duration = np.array(request.numbers[:n]), request.value
        asked = ~np.isnan(target)
        if len(target) != n or not asked.any() or not 0.0 < duration < math.inf or (asked & ~self._moved).any():
            return GoalAnswer(Reply.NO_SUCH_GOAL)
        rows = self._paths.to_pose(t, motion, np.where(asked, target, self._goal(motion[:n])), duration)
        others = self._path.rows[max(int(self._path.times.searchsorted(t, "right")) - 1, 0) : self._used]
        if 1 < len(others) <= _MERGED and (self._moved & ~asked).any():
            rows = self._paths.with_obstacles(self._paths.merged(rows, others, asked), motion)
        return self._verified([rows])

    def _jog(self, t: float, motion: Array, request: Request) -> GoalAnswer:
        n = self._paths.n
        speeds = np.array(request.numbers[:n])
        if len(speeds) != n or not np.isfinite(speeds).all() or (speeds[~self._moved] != 0.0).any():
            return GoalAnswer(Reply.NO_SUCH_GOAL)
        if not self._paths.is_possible(use := self._paths.steady(motion[:n], speeds)):
            return GoalAnswer(Reply.NOT_FEASIBLE, use)
        return self._verified(self._paths.jog(t, motion, part * speeds) for part in _SLOWER)

    def _stage(self, request: Request) -> GoalAnswer:
        """Keep a knot of a path; the polynomial to it from the one before is checked in this tick."""
        k, t, knot = request.argument, request.value, np.array(request.numbers)
        fits = knot.size == self._last_knot.size and np.isfinite(knot).all() and math.isfinite(t)
        follows = k == 0 or (k == self._staged < MOST_KNOTS - 1 and t > self._last_time)
        if not fits or not follows:
            return GoalAnswer(Reply.NO_SUCH_GOAL)
        before, began, self._staged = self._last_knot, self._last_time, k + 1
        self._last_knot, self._last_time = knot, t
        if k == 0:
            return GoalAnswer(Reply.DONE)
        self._staged_rows[k - 1] = row = self._paths.between(began, before, knot, t - began)
        if (answer := self._judged(row)).reply is not Reply.DONE:
            self._staged = 0
        return answer

    def _follow_staged(self, t: float, motion: Array, request: Request) -> GoalAnswer:
        """Go to the first knot, then along the rows, which were checked when they came."""
        count, lead, rows = request.argument, request.value, self._staged_rows
        if not 2 <= count == self._staged or not 0.0 < lead < math.inf:
            return GoalAnswer(Reply.NO_SUCH_GOAL)
        n, self._staged = self._paths.n, 0
        first = self._paths.between(t, motion, rows[0, 2 : 2 + 3 * n], lead)
        if (answer := self._judged(first)).reply is not Reply.DONE:
            return answer
        rest = self._paths.resting(t + lead + self._last_time - rows[0, 0], self._last_knot[:n])
        whole = np.vstack([first, rows[: count - 1], rest])
        whole[1:count, 0] += t + lead - rows[0, 0]
        # Where a measured obstacle will be is known only now, when the time of the path is.
        answer = self._answer(self._paths.worst_tube(self._paths.with_obstacles(whole, motion)))
        if answer.reply is Reply.DONE:
            self._follow(whole)
        return answer

    def _judged(self, row: Array) -> GoalAnswer:
        return self._answer(self._paths.worst_row(row))

    def _answer(self, use: PathUse) -> GoalAnswer:
        return GoalAnswer(Reply.DONE if self._paths.is_possible(use) else Reply.NOT_FEASIBLE, use)

    def _act(self, request: Request) -> GoalAnswer:
        if not 0 <= request.argument < len(self._actions):
            return GoalAnswer(Reply.NO_SUCH_GOAL)
        verb, _, contact = self._actions[request.argument].partition(" ")
        contacts = {contact} if contact else set(self._bed.grips)
        closed = self._closed | contacts if verb == "grip" else self._closed - contacts
        if closed not in self._sets:
            return GoalAnswer(Reply.NO_SUCH_CONTACTS)
        self._closed = closed
        self.parameters["direct"][:] = self._setpoints()
        return GoalAnswer(Reply.DONE)

    def _verified(self, paths: Iterable[Array]) -> GoalAnswer:
        """Follow the first of these paths that is possible; else the answer names the limit of the first one."""
        refused = None
        for rows in paths:
            use = self._paths.worst(rows)
            if self._paths.is_possible(use):
                self._follow(rows)
                return GoalAnswer(Reply.DONE, use)
            refused = refused or use
        return GoalAnswer(Reply.NOT_FEASIBLE, refused or _POSSIBLE)

    def _follow(self, rows: Array) -> None:
        self._path.rows[: len(rows)] = rows
        self._use(len(rows))

    def _use(self, count: int) -> None:
        """The first rows are the path."""
        self._path.times[:count] = self._path.rows[:count, 0]
        self._path.times[count : self._used] = math.inf
        self._used = count

    def _goal(self, here: Array) -> Array:
        """Where the present path ends; before the first one, here."""
        n, last = self._paths.n, self._path.rows[self._used - 1]
        goal = last[2 + 3 * n : 2 + 4 * n]
        return np.where(np.isnan(goal), here, goal)

    def _setpoints(self) -> Array:
        return np.concatenate(setpoints_of(self._bed, self._closed))


def _function(n: int, n_direct: int) -> ca.Function:
    t, ready, begun = (ca.SX.sym(name) for name in ("t", "ready", "begun"))
    q, start, row = ca.SX.sym("q", n), ca.SX.sym("start", n), ca.SX.sym("row", 2 + 6 * n)
    direct = ca.SX.sym("direct", n_direct)
    starts = ca.logic_and(ready, ca.logic_not(begun))
    follows, start_after = ca.logic_or(ready, begun), ca.if_else(starts, q, start)
    path = polynomial(row[2 : 2 + 3 * n], row[2 + 3 * n :], (t - row[0]) / row[1], row[1])
    moves = ca.logic_and(follows, ca.fabs(row[2]) < ca.inf)
    stays = ca.if_else(follows, start_after, finite(q))
    inputs = {
        "state_t": t,
        "state_ready": ready,
        "state_q": q,
        "memory_begun": begun,
        "memory_start": start,
        "row_path": row,
        "parameter_direct": direct,
    }
    outputs = {
        "reference_q": ca.if_else(moves, path[0], stays),
        "reference_u": ca.if_else(moves, path[1], 0.0),
        "reference_a": ca.if_else(moves, path[2], 0.0),
        "reference_direct": direct,
        "next_begun": follows,
        "next_start": start_after,
    }
    return named_function("on_demand", inputs, outputs)
