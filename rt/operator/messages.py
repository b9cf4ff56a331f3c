"""Messages of the operator channel: one JSON object each way.

{"do": "hold"}                                             -> {"ok": true, "text": "done", "mode": "holding", ...}
{"do": "set_gain", "gain": "elbow_stiffness", "value": 20}
{"do": "go", "target": {"base_x_m": 2.0}, "duration_s": 20}      without a duration, one is searched
{"do": "go", "target": {"base_x_m": 2.0}, "plan": true}          by a path that is planned first, which takes seconds
{"do": "plan", "target": {"base_x_m": 2.0}, "duration_s": 20}    the path alone, with columns that `follow` takes
{"do": "jog", "rates": {"base_x": 0.05}}                         [m/s, rad/s], to be repeated
{"do": "follow", "columns": {"t_s": [0, 1], "base_x_m": [1.0, 1.1]}, "approach_s": 2}
{"do": "act", "action": "grip left"}                             what the behaviour offers, as `goals` lists it
{"do": "lease", "action": "take"}                                or release, or pass with "to": "alice"
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from granite.config.errors import InputError, one_of
from granite.config.gains import LiveGain, asked_gain
from granite.config.run_modes import RequestKind

#: a longer message is refused unread [bytes]; a path may be longer
LONGEST, LONGEST_PATH = 1024, 262_144
_PATH = b'"follow"'

#: commands that the loop answers
ASKS = {
    ask.name.lower(): ask
    for ask in RequestKind
    if ask not in (RequestKind.NOTHING, RequestKind.ATTACH, RequestKind.REPORT, RequestKind.KNOT)
}
#: commands that the channel answers by itself: what the run does, its gains and goals, a plan, and watching it from now
#: on
OWN = ("status", "gains", "goals", "plan", "watch", "leave")
#: keys of a command beside `do`: those that it must have, and those that it may have
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "set_gain": ({"gain", "value"}, set()),
    "go": ({"target"}, {"duration_s", "plan"}),
    "plan": ({"target"}, {"duration_s"}),
    "jog": ({"rates"}, set()),
    "follow": ({"columns"}, {"approach_s"}),
    "act": ({"action"}, set()),
    "lease": ({"action"}, {"to"}),
}


class Message(NamedTuple):
    """A command of an operator."""

    do: str
    gain: int = 0  #: its index
    value: float = 0.0
    content: Mapping[str, Any] = {}  #: of a goal or the lease, not checked yet


def read_message(content: bytes, gains: tuple[LiveGain, ...]) -> Message:
    """The command in a message.

    Raises
    ------
    InputError
        Where it is none; the sentence is the answer to the sender.
    """
    most = LONGEST_PATH if _PATH in content[:64] else LONGEST
    if len(content) > most:
        raise InputError(f"a message of {len(content)} bytes", expected=f"at most {most}")
    try:
        table: Any = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise InputError("a message that is no JSON", expected='an object such as {"do": "status"}') from None
    if not isinstance(table, dict) or not isinstance(table.get("do"), str):
        raise InputError("a message without a command", expected='an object such as {"do": "status"}')
    do, known = table["do"], (*ASKS, *OWN)
    if do not in known:
        raise InputError("no such command", key="do", value=do, expected=one_of(do, known))
    needed, possible = _KEYS.get(do, (set(), set()))
    keys = set(table) - {"do"}
    if not needed <= keys <= needed | possible:
        expected = ", ".join(sorted({"do", *needed})) + "".join(f", perhaps {key}" for key in sorted(possible))
        raise InputError(f"a message with the keys {', '.join(map(str, table))}", expected=expected)
    if do == "set_gain":
        return Message(do, *asked_gain(gains, table["gain"], table["value"]))
    return Message(do, content={key: table[key] for key in keys})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; `ValueError` where a key occurs twice, which is ambiguous."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key twice")
    return table
