"""Answers of the servos on a bus by the request that they answer: a frame has those of one request, however late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic, TypeVar

#: requests whose answers are kept until those of the other servos have come
_KEPT = 4

Feedback = TypeVar("Feedback")


class ServoAnswers(Generic[Feedback]):
    """The newest answers of a servo.

    Attributes
    ----------
    request : int
        The newest that was answered.
    requested_at : float
        When it was sent [s].
    newest : Feedback or None
        Its answer.
    """

    def __init__(self) -> None:
        self.request, self.requested_at = 0, -math.inf
        self.newest: Feedback | None = None
        self.kept: dict[int, tuple[float, Feedback]] = {}

    def add(self, request: int, requested_at: float, feedback: Feedback) -> None:
        """Take in the answer to a request that is newer than those before."""
        self.request, self.requested_at, self.newest = request, requested_at, feedback
        self.kept[request] = requested_at, feedback
        if len(self.kept) > _KEPT:
            del self.kept[next(iter(self.kept))]


def newest_common(servos: Sequence[ServoAnswers[Feedback]]) -> tuple[int, float, list[Feedback]] | None:
    """The newest request that all of these servos have answered, when it was sent [s], and the answers."""
    requests = set(servos[0].kept).intersection(*(servo.kept for servo in servos[1:]))
    if not requests:
        return None
    request = max(requests)
    return request, servos[0].kept[request][0], [servo.kept[request][1] for servo in servos]
