"""Events in the rows of a run: reasons of the guard, lost rows, overruns, contacts, collisions, states, wheels."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Protocol

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.expected_modes import GOALS, answer_text
from granite.config.reasons import Reason
from granite.config.records import Array, Operation
from granite.config.run_modes import GOAL_ANSWER, Reply, RequestKind, RunMode, sentence_of
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import sentence
from granite.logs.bending import Bending
from granite.logs.channels import Channels
from granite.logs.collisions import CollisionChanges
from granite.logs.contact_changes import OUT_OF_REACH, ContactChanges
from granite.logs.machine_summary import StateChanges, failing_states
from granite.logs.wheel_unloading import UnloadingChanges


class EventSink(Protocol):
    """Receives events."""

    def __call__(self, t: float, tick: int, level: str, name: str, text: str) -> None: ...  # noqa: D102


class Events:
    """Finds events in successive rows."""

    def __init__(
        self,
        bed: Testbed,
        channels: Channels,
        subjects: Sequence[Coordinate],
        report: EventSink,
        operators: Sequence[str] = (),
    ) -> None:
        self._contacts, self._bending = ContactChanges(bed, channels), Bending(bed, channels)
        self._collisions = CollisionChanges(bed, channels)
        self._states, self._unloading = StateChanges(bed, channels), UnloadingChanges(bed, channels)
        self._watched = [
            channels.column("/verdict", "reason"),
            channels.column("/timing", "lost"),
            channels.column("/timing", "overruns"),
            channels.column("/operation", "mode"),
            channels.column("/operation", "request"),
        ]
        self._t, self._tick = channels.column("/sample", "t_s"), channels.column("/timing", "tick")
        self._channels, self._subjects = channels, subjects
        self._report, self._operators = report, operators
        self._failing = failing_states(bed)
        gains = channels.topic("/operation").entries["gains"]
        self._gains = [gain.name.removesuffix("_gain") for gain in gains if isinstance(gain, Coordinate)]
        self._goals = GoalWords(bed)
        self._before = np.zeros(5)
        self._last: tuple[float, int] = (0.0, 0)

    def look(self, rows: Array) -> None:
        """Report every change in the rows."""
        watched = rows[:, self._watched]
        before = np.vstack((self._before, watched[:-1]))
        for i in np.flatnonzero((watched != before).any(axis=1) | (watched[:, 4] != 0)):
            self._report_change(rows[i], before[i].tolist(), watched[i].tolist())
        for change in self._contacts.look(rows):
            level = "warning" if change.what == OUT_OF_REACH else "info"
            name = f"{change.contact}_{change.what}".replace(" ", "_")
            self._report(change.t, change.tick, level, name, change.sentence)
        for collision in self._collisions.look(rows):
            self._report(collision.t, collision.tick, "error", "collision", collision.sentence)
        for entered in self._states.look(rows):
            after = f" after {entered.before}" if entered.before else ""
            note = self._failing.get(entered.name)
            level, more = ("warning", f": {note.doing}") if note else ("info", "")
            text = f"state {entered.name}{after}{more}"
            self._report(entered.t, entered.tick, level, f"state_{entered.name}", text)
        for change_of_wheel in self._unloading.look(rows):
            name = "wheel_unloading_begins" if change_of_wheel.begins else "wheel_unloading_ends"
            self._report(change_of_wheel.t, change_of_wheel.tick, "info", name, change_of_wheel.sentence)
        for exceeded in self._bending.update(rows):
            self._report(exceeded.t, exceeded.tick, "warning", "deflection_beyond_limit", exceeded.sentence)
        self._before = watched[-1]
        self._last = float(rows[-1, self._t]), int(rows[-1, self._tick])

    def look_back(self, lost: int, ended: str, text: str) -> None:
        """Report rows lost after the last recorded one, and an end of the run that no row shows."""
        for collision in self._collisions.still_open():
            self._report(collision.t, collision.tick, "error", "collision", f"{collision.sentence} until the end")
        if lost > self._before[1]:
            self._report(*self._last, "warning", "rows_lost", _rows_lost(lost - int(self._before[1])))
        if ended not in ("completed", Reason(int(self._before[0])).name.lower()):
            self._report(*self._last, "error", ended, text)

    def _report_change(self, row: Array, before: list[float], now: list[float]) -> None:
        tick = self._channels.read(row)
        at = tick.sample.t, tick.timing.tick
        reason, lost, overruns, mode, request = now
        if request and not self._goals.repeats(tick.operation):
            level = "info" if tick.operation.reply == Reply.DONE else "warning"
            name = "reported" if request == RequestKind.REPORT else "operator_request"
            self._report(*at, level, name, self._asked(tick.operation))
        answered = mode != RunMode.RUNNING and reason == tick.operation.cause and not tick.verdict.stop
        if reason != before[0] and reason != 0 and not answered:  # in a hold it may come and go
            why = Reason(int(reason))
            level = "error" if why.stops else "info" if why is Reason.WAITING_FOR_SENSORS else "warning"
            self._report(*at, level, why.name.lower(), sentence(self._subjects, tick.verdict))
        if lost > before[1]:
            self._report(*at, "warning", "rows_lost", _rows_lost(int(lost - before[1])))
        if overruns > before[2]:
            self._report(*at, "warning", "overrun", "the tick ended after the next one was due")
        if mode != before[3]:
            now_in, cause = RunMode(int(mode)), Reason(tick.operation.cause)
            level = "info" if now_in in (RunMode.RUNNING, RunMode.ARMED, RunMode.DISARMED) else "warning"
            self._report(*at, level, now_in.name.lower(), sentence_of(now_in, cause))

    def _asked(self, operation: Operation) -> str:
        """A request with its sender, and the answer."""
        ask, reply = RequestKind(operation.request), Reply(operation.reply)
        who = self._who(operation.sender)
        if ask is RequestKind.REPORT:
            return Reason(operation.argument).text
        if ask is RequestKind.ATTACH:
            return "the run waits for an operator to arm it"
        what = ask.name.lower().replace("_", " ")
        if ask is RequestKind.SET_GAIN:
            has = operation.argument < len(self._gains)
            gain = self._gains[operation.argument] if has else f"number {operation.argument}"
            what += f" {gain} to {operation.value:g}"
        text = answer_text(ask, reply, RunMode(operation.mode), Reason(operation.cause))
        if ask in GOALS:
            what += self._goals.words(ask, operation)
            text = self._goals.refusal(reply, operation) or text
        if ask is RequestKind.LEASE:
            what = f"the controls for {self._who(operation.argument)}" if operation.argument else "nobody in control"
        return f"{who} asked for {what}: {text}"

    def _who(self, sender: int) -> str:
        """The sender of a request."""
        if sender < 0:
            return f"client {-sender} of the live view"
        known = 0 < sender <= len(self._operators)
        return f"operator '{self._operators[sender - 1]}'" if known else "the loop's own terminal"


def _rows_lost(n: int) -> str:
    return f"{n} row{'s' if n > 1 else ''} lost: the ring was full"


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
