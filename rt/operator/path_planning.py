"""Planned paths of goals, by a process of their own: a plan takes seconds, in which the channel must answer a stop.

The process starts with the first goal that asks for a plan. It keeps its programme, and so later plans take less time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.loader import from_json
from granite.drivers.message_lines import receive
from granite.drivers.ordered_process import OrderedProcess, carry_out
from granite.rt.process.posix_signals import TERMINATING

#: a plan may take so long before it is given up [s]
_PATIENCE_S = 60.0
#: weights of impulse and time [N] without a duration, and the longest one that is planned then [s]
_IMPULSE, _TIME_N, _LONGEST_S = 1.0, 0.5, 60.0
#: how long the first plan may take until its path begins, where obstacles move meanwhile; later ones as long as the
#: last one, and this part and time more [s]
_FIRST_S, _PART, _MORE_S = 20.0, 0.5, 1.0
#: how long the process may take to end [s]
_END_S = 0.2


class PathRequest(NamedTuple):
    """What a plan is to do."""

    start: list[float]  #: q at rest
    goal: list[float]
    duration_s: float | None  #: None: the blend of impulse and time that costs least
    rates: list[float]  #: of measured obstacles; zero of all others
    begins_s: float = 0.0  #: of the path, from now on, where there are obstacles


class PathPlanning:
    """The channel's side of the process.

    Parameters
    ----------
    testbed
        As text.
    """

    def __init__(self, testbed: str | None) -> None:
        self._testbed = testbed
        self._process: OrderedProcess | None = None
        self._until, self._began, self._takes = 0.0, 0.0, _FIRST_S
        #: when a path around measured obstacles begins [s, monotonic]
        self.begins = 0.0

    def begin(self, request: PathRequest) -> None:
        """Order a plan, whose answer `take` gives."""
        self._began = time.monotonic()
        self.begins = self._began + self._takes
        if self._process is None or self._process.poll() is not None:
            self._process = OrderedProcess("granite.rt.operator.path_planning", {"testbed": self._testbed})
        self._process.tell(request._replace(begins_s=self._takes)._asdict())
        self._until = self._began + _PATIENCE_S

    def take(self) -> dict[str, Any] | None:
        """The answer: `columns`, `duration_s` and `impulse_n_s` of a path, or a `failure`; None while it is planned."""
        assert self._process is not None
        if self._process.has_answer:
            self._takes = (1 + _PART) * (time.monotonic() - self._began) + _MORE_S
            return self._process.answer(_END_S)
        if time.monotonic() < self._until:
            return None
        self.close()
        return {"failure": f"no path was found within {_PATIENCE_S:g} s"}

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end(_END_S)
            self._process = None


def planned_path(bed: Any, request: PathRequest) -> dict[str, Any]:
    """The answer to a request: columns of the path, its duration and impulse; `InputError` where there is none."""
    from granite.config.footprints import obstacles
    from granite.controllers.behaviours.planned import PlannedPath, samples_of_path
    from granite.controllers.model import ControlModel
    from granite.controllers.planning.in_turn import ObstacleMotion, plan_in_turn
    from granite.controllers.planning.problem import PathLimits, PathTask

    options = PlannedPath.Options.model_fields
    limits = PathLimits(*(options[key].default for key in PathLimits._fields))
    times = (request.duration_s,) * 2 if request.duration_s else (1.0, _LONGEST_S)
    time_weight = 0.0 if request.duration_s else _TIME_N
    task = PathTask(np.array(request.start), np.array(request.goal), times, _IMPULSE, time_weight)
    measured = ObstacleMotion(request.rates, request.begins_s)
    plan = plan_in_turn(ControlModel(bed), limits, options["nodes"].default, task, measured)
    known = bed.known  # nothing moves obstacles: a rate's key begins with that of its position
    others = tuple(c.key for name in obstacles(bed) for c in known.positions[known.q[name]])
    columns = samples_of_path(bed, plan.path, "").columns
    kept = {column.key: column.values for column in columns if not column.key.startswith(others)}
    return {"columns": kept, "duration_s": plan.path.end, "impulse_n_s": plan.impulse}


def work(order: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Plan one path after the other, as they are ordered."""
    for number in TERMINATING:
        signal.signal(number, signal.SIG_IGN)  # it ends with the channel
    os.nice(10)
    bed = from_json(order["testbed"])
    while request := receive(sys.stdin):
        try:
            yield planned_path(bed, PathRequest(**request))
        except InputError as refusal:
            refusal.key = refusal.key.replace("behaviour.", "").replace("simulation.initial", "the pose at the start")
            yield {"failure": str(refusal)}


if __name__ == "__main__":
    carry_out(work)
