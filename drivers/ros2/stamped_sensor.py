"""A sensor whose values come by a topic of ROS 2 with the time of the measurement in their header."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from granite.config.base import NotNegative
from granite.config.devices.device import Device
from granite.config.parts import PartTable
from granite.config.records import Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.contract import Sensor
from granite.drivers.link_history import LinkHistory
from granite.drivers.ros2.topic import TopicName, TopicReceiver, seconds

#: messages that are read at one tick
_MOST_READ = 64
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


class StampedSensor(Sensor):
    """Frames have the time of the stamp, mapped from the sender's clock to the loop's as that of a pose stream."""

    #: the message type
    Message: ClassVar[str]

    class Options(PartTable):
        """The topic."""

        #: whose header has the time of the measurement
        topic: TopicName
        #: longest time from the stamp to arrival
        transport_s: NotNegative = 0.005

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
        self._options, self.counts, self.clock = options, TopicCounts(), ClockMap()
        self._history = LinkHistory(f"ros2 {name}", self._numbers)
        self._topic: TopicReceiver | None = None
        self._frame = no_frame(len(device.signals(bed)))
        self._stamp = self._before = -np.inf
        self._delay = 0.0

    def open(self) -> None:
        """Find the publisher, and a first message."""
        self._topic = TopicReceiver(self._options.topic, self.Message)

    def close(self) -> None:
        """Read no more."""
        if self._topic is not None:
            self._topic.close()

    @property
    def identity(self) -> str:
        """The topic."""
        return f"{self.Message} of {self._options.topic}"

    @property
    def link_history(self) -> LinkHistory:
        """What the topic counted over time."""
        return self._history

    def note_delay(self, delay: float) -> None:
        """Take down how late the tick is that reads next [s]."""
        self._delay = delay

    def read(self, t: float) -> Frame:
        """The newest values that have arrived."""
        assert self._topic is not None
        before, self._before = self._before, t
        for _ in range(_MOST_READ):  # not as long as some come: a flood would hold the tick
            if (received := self._topic.receive()) is None:
                break
            if before == -np.inf:
                continue  # they waited since the topic was opened: when they came is not known
            content = self._topic.content(received)
            values = None if content is None else self._values(content)
            if values is None:
                self.counts.malformed += 1
            else:
                self._take(before, t, seconds(content.header.stamp), values)
        self._history.note(t)
        return self._frame

    @abstractmethod
    def _values(self, content: Any) -> list[float] | None:
        """The signals in a message; None where it lacks one."""

    def _take(self, before: float, now: float, stamp: float, values: list[float]) -> None:
        last, counts, clock_us = self._frame, self.counts, round(stamp * 1e6)
        if stamp < self._stamp - _RESTARTED_S:
            counts.restarts += 1
            self.clock = ClockMap()
        elif stamp <= self._stamp:
            counts.repeated += 1
            return
        self._stamp = stamp
        counts.received += 1
        if not self.clock.update(before - self._options.transport_s, now + self._delay, clock_us):
            counts.late += 1
        t = min(self.clock.latest(clock_us), now)
        if last.number:
            t = max(t, last.t)  # the estimate of the clock improves, and never turns time back by that
        self._frame = Frame(t, last.number + 1, Status.OK, np.array(values))

    def _numbers(self) -> dict[str, float]:
        clock = self.clock
        return {
            **dataclasses.asdict(self.counts),
            "clock_offset_s": clock.offset_s,
            "clock_uncertainty_s": clock.uncertainty_s,
            "clock_jumps": clock.jumps,
        }
