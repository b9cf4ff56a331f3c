"""A run in the standard messages of ROS 2 while it is recorded; the recorder's process sends them, never the loop.

A topic that nobody reads costs nothing. A reader that does not take its messages loses them, and delays nobody.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.ros2.node import Node, Publisher
from granite.logs.channels import Channels
from granite.rt.process.other_cores import OtherCores, threads_of
from granite.rt.ros2.operator_topics import OperatorTopics
from granite.rt.ros2.options import Ros2
from granite.views.ros2.standard_messages import DIAGNOSTICS, RosTopic, StandardMessages

#: time between two looks at who reads [s], and at the core of the loop
_LOOK_S, _CORES_S = 0.1, 5.0
#: of the delays that are counted [s], and the longest
_STEP_S, _LONGEST_S = 1e-4, 0.2


class LiveTopics:
    """Sends rows and events.

    Raises
    ------
    InputError
        Where a package is missing, or DDS can't be had.
    """

    def __init__(self, bed: Testbed, channels: Channels, ros2: Ros2) -> None:
        self._bed, self._channels = bed, channels
        self._node = node = Node()
        self._diagnostics = node.publisher(*DIAGNOSTICS)
        self._operator = OperatorTopics(node, bed, ros2, self._say) if ros2.operator else None
        self._time = channels.column("/timing", "scheduled_s")
        self._standard: StandardMessages | None = None
        # Others find the topics before the run begins; which modules are known, the first row says.
        self._with_truth = self._messages(np.zeros(channels.width))
        self._publishers = [node.publisher(topic.name, topic.kind) for topic in self._with_truth.topics]
        node.announce()
        self._topics: list[tuple[RosTopic, Publisher]] = []
        self._wanted: list[tuple[RosTopic, Publisher]] = []
        self._look_at = self._cores_at = 0.0
        self._cores = OtherCores()
        self._start_ns = self._sent = self._unsent = 0
        self._delays = np.zeros(round(_LONGEST_S / _STEP_S) + 1, np.int64)

    def begin(self, start_ns: int) -> None:
        """The run begins: the wall time at t = 0."""
        self._start_ns = start_ns

    def show(self, rows: Array) -> None:
        """Send some rows, with the time of their ticks."""
        if self._standard is None:
            self._standard = self._begin(rows[0])
        if (now := time.monotonic()) >= self._look_at:
            self._look_at = now + _LOOK_S
            self._wanted = [pair for pair in self._topics if pair[1].is_wanted()]
            if now >= self._cores_at:
                self._cores_at, own = now + _CORES_S, os.getpid()
                self._cores.leave([os.getppid()], [thread for thread in threads_of(own) if thread != own])
        if not self._wanted:
            return
        types = self._node.types
        for row in rows:
            ns = self._at(row[self._time])
            for topic, publisher in self._wanted:
                if (message := topic.message(row, ns)) is not None:
                    self._count(publisher.write(types.serialized(message, topic.kind)))
            late = 1e-9 * (time.time_ns() - ns)
            self._delays[min(max(round(late / _STEP_S), 0), len(self._delays) - 1)] += 1

    def event(self, t: float, level: str, name: str, text: str) -> None:
        """Send an event of the run."""
        self._tell(self._at(t), level, name, text)

    def close(self) -> dict[str, Any]:
        """End, and say what was sent: messages, those that some reader did not take, and the delay of ticks [ms]."""
        if self._operator:
            self._operator.close()
        told: dict[str, Any] = {"messages": self._sent, "not_taken": self._unsent}
        if n := int(self._delays.sum()):
            counted = np.cumsum(self._delays)
            at = {name: int(np.searchsorted(counted, part * n)) for name, part in (("median", 0.5), ("p99", 0.99))}
            told["delay_ms"] = {name: 1e3 * _STEP_S * i for name, i in at.items()}
        return told

    def _begin(self, first: Array) -> StandardMessages:
        has_truth = np.isfinite(first[self._channels.columns("/truth", "q")]).all()
        standard = self._with_truth if has_truth else self._messages(first)
        self._topics = list(zip(standard.topics, self._publishers, strict=True))
        if self._operator:
            self._operator.begin()
        return standard

    def _messages(self, first: Array) -> StandardMessages:
        return StandardMessages(self._bed, self._channels, first, self._node.types.store.types)

    def _say(self, level: str, name: str, text: str) -> None:
        """An answer to who asked for something by a topic."""
        self._tell(time.time_ns(), level, name, text)

    def _tell(self, ns: int, level: str, name: str, text: str) -> None:
        if self._standard is not None and self._diagnostics.is_wanted():
            message = self._standard.diagnosis(ns, level, name, text)
            self._count(self._diagnostics.write(self._node.types.serialized(message, DIAGNOSTICS[1])))

    def _at(self, t: float) -> int:
        return self._start_ns + round(t * 1e9)

    def _count(self, was_taken: bool) -> None:
        self._sent += was_taken
        self._unsent += not was_taken
