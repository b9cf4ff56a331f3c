"""Goals in the events of a run: what was asked, and which limit refused it."""

from __future__ import annotations

from math import isnan

from granite.config.records import Operation
from granite.config.run_modes import GOAL_ANSWER, Reply, RequestKind
from granite.config.testbed import Testbed


class GoalWords:
    """The goals of a run, one after the other."""

    def __init__(self, bed: Testbed) -> None:
        self._bed, self._positions, self._actions = bed, bed.behaviour_goals, bed.behaviour_actions
        #: request, sender, reply and numbers of the last one
        self._last: tuple[int, int, int, bytes] | None = None

    def repeats(self, operation: Operation) -> bool:
        """Whether it is a jog as the one before, with the same answer, or a knot of a path that was taken."""
        now = operation.request, operation.sender, operation.reply, operation.goal[GOAL_ANSWER:].tobytes()
        before, self._last = self._last, now
        if operation.request == RequestKind.KNOT and operation.reply == Reply.DONE:
            return True
        return operation.request == RequestKind.JOG and now == before

    def words(self, ask: RequestKind, operation: Operation) -> str:
        """What a goal says."""
        argument, value = operation.argument, operation.value
        numbers = zip(self._positions, operation.goal[GOAL_ANSWER:].tolist(), strict=False)
        if ask is RequestKind.GO:
            return "".join(f" {c.key}={x:g}" for c, x in numbers if not isnan(x)) + f" in {value:g} s"
        if ask is RequestKind.JOG:
            return "".join(f" {c.name} {x:g}" for c, x in numbers if x)
        if ask is RequestKind.FOLLOW:
            return f" a path of {argument} knots, the first after {value:g} s"
        if ask is RequestKind.ACT and argument < len(self._actions):
            return f" {self._actions[argument]}"
        return f" {argument}"

    def refusal(self, reply: Reply, operation: Operation) -> str:
        """The limit of a path that is not possible; nothing of another answer."""
        if reply is not Reply.NOT_FEASIBLE or not len(operation.goal):
            return ""
        from granite.controllers.behaviours.motion_limits import motion_limits  # only such runs need CasADi here

        limit, part = operation.goal[:GOAL_ANSWER].tolist()
        return f"refused: {motion_limits(self._bed)[int(limit)].sentence(part)}"
