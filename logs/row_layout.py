"""The layout of one log row: topics, each a slice of the row, and the columns of every value.

It goes into the log, so that a log is read without the code of a user's own devices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.parts import OpaquePart
from granite.config.testbed import Testbed
from granite.logs.topics import Entry, topics_of

_ROS_FIELD = re.compile(r"[a-z](_?[a-z0-9])*")


class Topic(NamedTuple):
    """A slice of the row that is one message in the log."""

    name: str
    entries: Mapping[str, Entry]
    start: int
    stop: int

    @property
    def values(self) -> list[tuple[str, Coordinate]]:
        """Every number of the topic, with the name of the entry it belongs to."""
        return [
            (entry, value)
            for entry, values in self.entries.items()
            for value in ((values,) if isinstance(values, Coordinate) else values)
        ]

    @property
    def message(self) -> str:
        """The topic as a ROS 2 message definition."""
        return "\n".join(f"float64 {value.key}  # {entry} [{value.unit}]" for entry, value in self.values)


class RowLayout:
    """Where every value stands in a row.

    Parameters
    ----------
    topics
        Every topic with its entries, in the order of the row: `topics_of(bed)`, or the layout that a log holds.
    """

    def __init__(self, topics: Mapping[str, Mapping[str, Entry]]) -> None:
        topics_so_far: list[Topic] = []
        self._columns_by_entry: dict[tuple[str, str], int | slice] = {}
        at = 0
        for name, entries in topics.items():
            start = at
            for entry, values in entries.items():
                one = isinstance(values, Coordinate)
                columns = at if one else slice(at, at + len(values))
                at += 1 if one else len(values)
                self._columns_by_entry[name, entry] = columns
            topics_so_far.append(Topic(name, entries, start, at))
        self.topics = tuple(topics_so_far)
        self.width = at

    def topic(self, name: str) -> Topic:
        """The topic of that name.

        Raises
        ------
        InputError
            Where there is none.
        """
        for topic in self.topics:
            if topic.name in (name, f"/{name}"):
                return topic
        names = [topic.name for topic in self.topics]
        raise InputError("no such topic", key="topic", value=name, expected=one_of(name, names))

    def columns(self, topic: str, entry: str) -> int | slice:
        """Columns of an entry of a record: `rows[:, channels.columns("/state", "q")]` is q over time."""
        return self._columns_by_entry[topic, entry]

    def column(self, topic: str, key: str) -> int:
        """Column of a single value: `rows[:, channels.column("/state", "base_x_m")]` is x over time.

        Raises
        ------
        InputError
            Where the topic has no such value.
        """
        in_topic = self.topic(topic)
        keys = [value.key for _, value in in_topic.values]
        if key not in keys:
            raise InputError(f"{in_topic.name} has no such value", key="value", value=key, expected=one_of(key, keys))
        return in_topic.start + keys.index(key)

    def layout(self) -> dict[str, dict[str, Any]]:
        """The topics as plain lists, for a log; `RowLayout(read_layout(...))` is this again."""
        return {
            topic.name: {
                entry: list(values) if isinstance(values, Coordinate) else [list(value) for value in values]
                for entry, values in topic.entries.items()
            }
            for topic in self.topics
        }


def read_layout(layout: Any) -> dict[str, dict[str, Entry]]:
    """The topics that `RowLayout.layout` gave; `ValueError`, `TypeError` or `KeyError` where they are damaged."""
    return {
        str(topic): {
            str(entry): Coordinate(*map(str, values))
            if values and isinstance(values[0], str)
            else tuple(Coordinate(*map(str, value)) for value in values)
            for entry, values in entries.items()
        }
        for topic, entries in layout.items()
    }


def fits(layout: RowLayout, bed: Testbed) -> bool:
    """Whether a layout is that of the testbed, as far as the code of its devices is loaded."""
    if not bed.is_opaque:
        return layout.layout() == RowLayout(topics_of(bed)).layout()
    expected = topics_of(bed)
    if [topic.name for topic in layout.topics] != list(expected):
        return False
    unknown = [name for name, device in bed.devices.items() if not isinstance(device, Device)]
    of_unknown = {
        f"{prefix}{name}{part}"
        for name in unknown
        for prefix in ("", "applied.", "setpoint.", "direct.")
        for part in ("", ".t", ".number", ".status", ".values")
    }
    for topic in layout.topics:
        own = {entry: values for entry, values in topic.entries.items() if entry not in of_unknown}
        wanted = dict(expected[topic.name])
        for entry in ("task", "distribution", "goal"):  # of a behaviour or law whose code is not loaded
            own.pop(entry, None)
            wanted.pop(entry, None)
        # The sensors among the unknown devices have some too.
        for entry in ("ages", "innovation", "bias") if unknown else ():
            if entry in own and entry in wanted:
                own[entry] = wanted[entry]
        if topic.name == "/operation" and bed.controller and isinstance(bed.controller.law, OpaquePart):
            own["gains"] = wanted["gains"]  # only its code knows them
        if list(own.items()) != list(wanted.items()):
            return False
    return True


def refuse_bad_names(topic: Topic) -> None:
    """Refuse names that are no fields of a ROS 2 message, and two values of one name."""
    keys = [value.key for _, value in topic.values]
    for key in keys:
        if not _ROS_FIELD.fullmatch(key):
            raise InputError(
                f"a value of {topic.name} would be called '{key}'",
                expected="lower case, digits and single underscores: rename the joint, body or unit it is named after",
            )
        if keys.count(key) > 1:
            raise InputError(
                f"two values of {topic.name} would be called '{key}'",
                expected="different names: rename one of the joints, bodies or units they are named after",
            )
