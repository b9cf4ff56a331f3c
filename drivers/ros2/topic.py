"""One topic as a stream of messages for a driver: raw ones, as they came, and what is in them."""

from __future__ import annotations

import time
from collections import deque
from typing import Annotated, Any
from weakref import WeakValueDictionary

from pydantic import Field

from granite.config.errors import InputError
from granite.drivers.ros2.domain import domain_number
from granite.drivers.ros2.node import Node

#: the name of a topic, such as /arm/joint_states
TopicName = Annotated[str, Field(pattern=r"^(/[A-Za-z_][A-Za-z0-9_]*)+$", max_length=200)]

#: a longer message is none that a sensor sends [bytes]
_LONGEST = 2**16
#: for a publisher to be found, and for its first message [s]
_FOUND_S, _FIRST_S, _PAUSE_S = 5.0, 2.0, 0.01
#: messages that are taken from DDS at a time; instance, view and sample states: any
_AT_ONCE, _ANY = 64, 1 | 2 | 4 | 8 | 16 | 32 | 64

#: by domain: all drivers of a process share a node, which ends with the last of them
_nodes: WeakValueDictionary[int, Node] = WeakValueDictionary()


class TopicReceiver:
    """The messages of one publisher.

    Raises
    ------
    InputError
        Where a package is missing, nobody or more than one publishes the topic, or no message comes.
    """

    def __init__(self, topic: str, kind: str, key: str = "topic") -> None:
        self._topic, self._kind, self._key = topic, kind, key
        node = self._node = shared_node()
        self._take, self._store = node.take, node.types.store
        self._reader = node.subscription(topic, kind, is_sensor=True)
        self._waiting: deque[bytes] = deque()
        try:
            node.announce()
            self._wait_for_publisher()
            self._wait_for_message()
        except BaseException:
            self.close()
            raise

    def receive(self) -> bytes | None:
        """The next message that has arrived, or None."""
        if not self._waiting:
            self._waiting.extend(self._take(self._reader, _ANY, _AT_ONCE))
        return self._waiting.popleft() if self._waiting else None

    def content(self, message: bytes) -> Any:
        """What is in a message; None where it is damaged."""
        if len(message) > _LONGEST:
            return None
        try:
            return self._store.deserialize_cdr(message, self._kind)
        except Exception:  # of generated code: whatever damaged bytes lead to
            return None

    def close(self) -> None:
        """Read no more."""
        self._node.drop(self._reader)

    def _publishers(self) -> int:
        return int(self._reader.get_subscription_matched_status().current_count)

    def _wait_for_publisher(self) -> None:
        until = time.monotonic() + _FOUND_S
        while not self._publishers():
            if time.monotonic() > until:
                expected = f"a node that does, with {self._kind}, in domain {domain_number()}"
                raise InputError("nobody publishes it", key=self._key, value=self._topic, expected=expected)
            time.sleep(_PAUSE_S)

    def _wait_for_message(self) -> None:
        until = time.monotonic() + _FIRST_S
        while (message := self.receive()) is None:
            if time.monotonic() > until:
                raise InputError("no message comes", key=self._key, value=self._topic, expected="a node that sends")
            time.sleep(_PAUSE_S)
        self._waiting.appendleft(message)
        if (n := self._publishers()) > 1:
            raise InputError(f"{n} nodes publish it", key=self._key, value=self._topic, expected="one")


def shared_node() -> Node:
    """The node of all drivers of this process."""
    node = _nodes.get(domain_number()) or Node("granite_sensors")
    _nodes[domain_number()] = node
    return node


def seconds(stamp: Any) -> float:
    """The time of a header [s]."""
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)
