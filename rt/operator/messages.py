"""Messages of the operator channel: one JSON object each way.

{"do": "hold"}                                             -> {"ok": true, "text": "done", "mode": "holding", ...}
{"do": "set_gain", "gain": "elbow_stiffness", "value": 20}
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from granite.config.errors import InputError, one_of
from granite.config.gains import LiveGain, asked_gain
from granite.config.run_modes import RequestKind

#: a longer message is refused unread [bytes]
LONGEST = 1024

#: commands that the loop answers
ASKS = {
    ask.name.lower(): ask
    for ask in RequestKind
    if ask not in (RequestKind.NOTHING, RequestKind.ATTACH, RequestKind.REPORT)
}
#: commands that the channel answers by itself: what the run does, its gains, and watching it from now on
OWN = ("status", "gains", "watch", "leave")


class Message(NamedTuple):
    """A command of an operator."""

    do: str
    gain: int = 0  #: its index
    value: float = 0.0


def read_message(content: bytes, gains: tuple[LiveGain, ...]) -> Message:
    """The command in a message.

    Raises
    ------
    InputError
        Where it is none; the sentence is the answer to the sender.
    """
    if len(content) > LONGEST:
        raise InputError(f"a message of {len(content)} bytes", expected=f"at most {LONGEST}")
    try:
        table: Any = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise InputError("a message that is no JSON", expected='an object such as {"do": "status"}') from None
    if not isinstance(table, dict) or not isinstance(table.get("do"), str):
        raise InputError("a message without a command", expected='an object such as {"do": "status"}')
    do, known = table["do"], (*ASKS, *OWN)
    if do not in known:
        raise InputError("no such command", key="do", value=do, expected=one_of(do, known))
    keys = {"do", "gain", "value"} if do == "set_gain" else {"do"}
    if set(table) != keys:
        raise InputError(f"a message with the keys {', '.join(map(str, table))}", expected=", ".join(sorted(keys)))
    if do != "set_gain":
        return Message(do)
    return Message(do, *asked_gain(gains, table["gain"], table["value"]))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; `ValueError` where a key occurs twice, which is ambiguous."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key twice")
    return table
