"""Signals as a page shows them, by name."""

from __future__ import annotations

from granite.logs.channels import Channels


def column_of(channels: Channels, name: str) -> int:
    """The column of a signal `topic.key`; `InputError` where there is none."""
    topic, _, key = name.partition(".")
    return channels.column(topic, key)


def topics_of(channels: Channels) -> dict[str, list[list[str]]]:
    """Every signal by topic: key and unit."""
    return {topic.name[1:]: [[value.key, value.unit] for _, value in topic.values] for topic in channels.topics}
