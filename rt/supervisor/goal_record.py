"""What the log and the operators get to know of a goal: the limit that its path uses most, and what was asked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.expected_modes import GOALS
from granite.config.records import NOTHING, Array
from granite.config.run_modes import GOAL_ANSWER, Request
from granite.config.testbed import Testbed


class Standing(NamedTuple):
    """The run as its operators see it, beside the mode."""

    holder: int = 0  #: number of the operator's key; 0: nobody has the controls
    since: float = 0.0  #: [s]
    limit: int = 0  #: of the last goal, the number of the limit that its path uses most
    part: float = 0.0  #: of that limit
    motion: Array = NOTHING  #: reference q, u, a


class GoalRecord:
    """The numbers of `Operation.goal`; none where the behaviour takes no goals."""

    def __init__(self, bed: Testbed) -> None:
        self._size = 3 * len(bed.behaviour_goals)
        self.limit, self.part = 0, 0.0
        self._none = np.zeros(GOAL_ANSWER + self._size) if self._size else NOTHING

    def numbers(self, request: Request) -> Array:
        """Of a tick with this request."""
        if not self._size or request.ask not in GOALS:
            return self._none
        numbers = self._none.copy()
        numbers[:GOAL_ANSWER] = self.limit, self.part
        n = min(len(request.numbers), self._size)
        numbers[GOAL_ANSWER : GOAL_ANSWER + n] = request.numbers[:n]
        return numbers
