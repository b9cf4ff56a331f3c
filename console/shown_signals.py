"""Signals as a page shows them: by name, and without those that mean nothing yet."""

from __future__ import annotations

import math

from granite.config.records import Array
from granite.logs.channels import Channels

#: of these topics nothing is known before the estimate is ready: their zeros are no values
_AFTER_READY = ("/state", "/reference", "/demand")


def column_of(channels: Channels, name: str) -> int:
    """The column of a signal `topic.key`; `InputError` where there is none."""
    topic, _, key = name.partition(".")
    return channels.column(topic, key)


def topics_of(channels: Channels) -> dict[str, list[list[str]]]:
    """Every signal by topic: key and unit."""
    return {topic.name[1:]: [[value.key, value.unit] for _, value in topic.values] for topic in channels.topics}


def known(channels: Channels, rows: Array) -> Array:
    """Rows with NaN where the estimate was not ready."""
    waits = rows[:, channels.column("/state", "ready")] != 1.0
    if not waits.any():
        return rows
    rows = rows.copy()
    for name in _AFTER_READY:
        topic = channels.topic(name)
        rows[waits, topic.start : topic.stop] = math.nan
    return rows
