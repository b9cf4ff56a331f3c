"""The loop's side of the operator channel: a process that listens, and rings of shared memory to and from it.

In the tick the loop looks at one counter of each ring of requests. Everything that costs time (sockets, encryption,
text) is in the other process, so that no client can disturb the loop.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct

from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RequestKind, RunMode
from granite.config.testbed import Testbed
from granite.drivers.ordered_process import OrderedProcess
from granite.rt.operator.keys import loop_keys, operators
from granite.rt.operator.request_lanes import RequestLanes
from granite.rt.process.ring import Ring
from granite.rt.supervisor.goal_record import Standing

#: answers and reports that may wait, and numbers of one: number of the request or 0, reply, mode, cause, whether the
#: robot has come to rest, time; who has the controls, since when; limit and part of a goal; then the reference.
#: Of gain i that others have changed: -1 - i, and its value in place of the time
ANSWERS, ANSWER_WIDTH = 1024, 10
#: time between two reports of the loop [s]
_REPORT_S = 0.1
#: how long the process may take to start and to end [s]
_START_S, _END_S = 60.0, 2.0


class OperatorLink:
    """A source of requests."""

    def __init__(
        self,
        requests: RequestLanes,
        answers: Ring,
        process: OrderedProcess,
        names: Sequence[str],
        silence_s: float,
        numbers: int = 0,
    ) -> None:
        self._pack, self._numbers = Struct(f"{ANSWER_WIDTH + numbers}d").pack, numbers
        self._requests, self._answers, self._process, self._silence = requests, answers, process, silence_s
        #: reports that the channel had taken when it was last seen at work, and when that was
        self._taken, self._taken_at = 0, time.monotonic()
        #: operators by the number of their key, from 1 on
        self.names = tuple(names)
        self._report_at = self._t = 0.0
        self._mode = RunMode.RUNNING
        #: whether the robot has come to rest, as the supervisor knows it
        self.is_at_rest: Callable[[], bool] = lambda: False
        #: what it knows beside that
        self.standing: Callable[[], Standing] = Standing

    @classmethod
    def start(cls, bed: Testbed, folder: Path, log: Path | None = None, more: Sequence[str] = ()) -> OperatorLink:
        """Make the keys if there are none, and listen; operators get the path of the log, if there is one.

        More operators than the usual ones get a key too.

        Raises
        ------
        InputError
            Where nobody can listen at the address, or a key can't be used.
        """
        loop_keys(folder, *more)
        names = list(operators(folder))
        numbers = 3 * len(bed.behaviour_goals)
        requests, answers = RequestLanes.create(numbers), Ring.create(ANSWERS, ANSWER_WIDTH + numbers)
        gains = bed.controller.law.live_gains(bed) if bed.controller else ()
        order = {
            "address": bed.operator.address,
            "silence_s": bed.operator.silence_s,
            "bed": bed.name,
            "folder": os.fspath(folder.absolute()),
            "names": names,
            "gains": gains,
            "log": None if log is None else os.fspath(log.absolute()),
            "requests": requests.descriptors,
            "answers": answers.descriptor,
            "loop": os.getpid(),
            "numbers": numbers,
            "actions": bed.behaviour_actions,
            "testbed": to_json(bed) if numbers else None,
        }
        descriptors = (*requests.descriptors, answers.descriptor)
        process = OrderedProcess("granite.rt.operator.process", order, descriptors)
        link = cls(requests, answers, process, names, bed.operator.silence_s, numbers)
        try:
            answer = link._process.answer(_START_S)
            if failure := answer.get("failure"):
                key, address = "operator.address", bed.operator.address
                raise InputError(failure, key=key, value=address, expected=answer.get("expected", ""))
        except BaseException:
            link.close()
            raise
        return link

    def take(self, t: float, mode: RunMode, cause: Reason) -> Request | None:
        """The most urgent request, if one waits; at intervals sends the status of the run to the channel."""
        self._t = t
        if t >= self._report_at or mode is not self._mode:
            self._report_at, self._mode = t + _REPORT_S, mode
            self._report(0, 0, mode, cause, t)
        return self._requests.take()

    def answer(self, request: Request, reply: Reply, mode: RunMode, cause: Reason) -> None:
        """Send the outcome of a request and the new status of the run to the channel."""
        if request.number:
            self._report(request.number, reply, mode, cause, self._t)
        elif request.ask is RequestKind.SET_GAIN and reply is Reply.DONE:  # somebody else's, such as the live view's
            self._report(-1 - request.argument, reply, mode, cause, request.value)

    def _report(self, number: int, reply: int, mode: RunMode, cause: Reason, value: float) -> None:
        is_at_rest, (*standing, motion) = self.is_at_rest(), self.standing()
        reference = motion[: self._numbers] if len(motion) else [math.nan] * self._numbers
        self._answers.put(self._pack(number, reply, mode, cause, is_at_rest, value, *standing, *reference))

    def name(self, sender: int) -> str:
        """Who that is."""
        return f"operator '{self.names[sender - 1]}'" if 0 < sender <= len(self.names) else ""

    def is_alive(self) -> bool:
        """Whether somebody listens; asks the operating system, so not in the tick.

        A process that hangs, is suspended or gets no processor still exists. So it must also take the reports of the
        loop, which come every 0.1 s: its counter in the shared memory stands still for `operator.silence_s` at most.
        """
        taken, now = self._answers.taken_count, time.monotonic()
        if taken != self._taken or not self._answers.waiting:
            self._taken, self._taken_at = taken, now
        return self._process.poll() is None and now - self._taken_at <= self._silence

    def close(self) -> None:
        """End the process, which answers what waits."""
        self._answers.finish()
        self._process.end(_END_S)
        self._requests.close()
        self._answers.close()
