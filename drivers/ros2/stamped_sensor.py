"""A sensor whose values come by a topic of ROS 2 with the time of the measurement in their header."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from granite.config.base import NotNegative
from granite.config.parts import PartTable
from granite.config.records import Frame, Status
from granite.config.testbed import Testbed
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.ros2.topic import TopicName, TopicReceiver, seconds
from granite.drivers.timed_stream import TimedStream

#: a stamp that goes back by more than this is of a sender that was started again [s]
_RESTARTED_S = 1.0


@dataclass
class TopicCounts:
    """What happened to the topic so far."""

    received: int = 0
    malformed: int = 0  #: damaged, or without a value that the device has
    repeated: int = 0  #: or out of order
    late: int = 0  #: beyond `transport_s`
    restarts: int = 0  #: of the sender


class StampedSensor(TimedStream):
    """Frames have the time of the stamp."""

    #: the message type
    Message: ClassVar[str]

    class Options(PartTable):
        """The topic."""

        #: whose header has the time of the measurement
        topic: TopicName
        #: longest time from the stamp to arrival
        transport_s: NotNegative = 0.005

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(f"ros2 {name}", TopicCounts(), options.transport_s, name, bed)
        self._options = options
        self._topic: TopicReceiver | None = None
        self._stamp = -np.inf

    def open(self) -> None:
        """Find the publisher, and a first message."""
        self._receiver = self._topic = TopicReceiver(self._options.topic, self.Message)

    @property
    def identity(self) -> str:
        """The topic."""
        return f"{self.Message} of {self._options.topic}"

    def _accept(self, before: float, now: float, received: bytes) -> None:
        assert self._topic is not None
        content, counts = self._topic.content(received), self.counts
        values = None if content is None else self._values(content)
        if values is None:
            counts.malformed += 1
            return
        stamp = seconds(content.header.stamp)
        if stamp < self._stamp - _RESTARTED_S:
            counts.restarts += 1
            self.clock = ClockMap()
        elif stamp <= self._stamp:
            counts.repeated += 1
            return
        self._stamp, clock_us = stamp, round(stamp * 1e6)
        counts.received += 1
        self._note_time(before, now, clock_us)
        t = self._time_of(clock_us, now)
        self._frame = Frame(t, self._frame.number + 1, Status.OK, np.array(values))

    @abstractmethod
    def _values(self, content: Any) -> list[float] | None:
        """The signals in a message; None where it lacks one."""
