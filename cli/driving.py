"""Driving a robot by hand from `granite operate`: jogs, repeated while a key or the dead-man button is held.

On the keyboard the key itself is the dead man: a terminal repeats a key that is held, and a jog that is not repeated
ends by itself. A gamepad moves nothing unless its left shoulder button is held.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from granite.cli.gamepad import Gamepad
from granite.cli.lines import say
from granite.config.errors import InputError
from granite.rt.operator.driven_coordinates import Coordinates

#: between two jogs [s]
_EVERY_S = 0.1
#: factor of a change of all rates
_FACTOR = 1.25
_HOLD, _LEAVE = " ", "x"
#: end of the name of a coordinate, and the direction
_KEYS = {"d": ("_x", 1), "a": ("_x", -1), "w": ("_y", 1), "s": ("_y", -1), "q": ("_heading", 1), "e": ("_heading", -1)}
_HELP = "d a: x, w s: y, q e: heading, 1 2 ..: joint, [ ]: its angle, + -: rate, space: hold, x: leave"
_PAD_HELP = "hold the left shoulder button; left stick: x, y, right stick: heading, cross: joint; right shoulder: leave"
#: bytes of the arrow keys
_ARROWS = {"\x1b[A": "w", "\x1b[B": "s", "\x1b[C": "d", "\x1b[D": "a"}


class DrivingHand(Protocol):
    """What drives: a keyboard or a gamepad."""

    def rates(self, seconds: float) -> dict[str, float] | None:
        """The rates that are asked for within this time; None: nothing is."""

    #: asked for since the last look
    holds: bool
    leaves: bool
    #: whether nothing means that it was let go; a key that is held is silent before it is repeated
    lets_go: bool

    #: rates of a robot at rest
    stopped: dict[str, float]


class Keyboard:
    """Keys as a terminal sends them; `read` gives what was typed within a time."""

    def __init__(self, coordinates: Coordinates, read: Callable[[float], str]) -> None:
        self._coordinates, self._read = coordinates, read
        self.holds = self.leaves = self.lets_go = False
        self.stopped = coordinates.stopped

    def rates(self, seconds: float) -> dict[str, float] | None:
        """Those of the last key; a key is repeated while it is held."""
        typed = self._read(seconds)
        for arrow, key in _ARROWS.items():
            typed = typed.replace(arrow, key)
        self.holds, self.leaves = _HOLD in typed, _LEAVE in typed or "\x1b" in typed
        rates = None
        for key in typed:
            if key in _KEYS:
                end, sign = _KEYS[key]
                rates = self._coordinates.rates({end: sign})
            elif key in "[]":
                rates = self._coordinates.rates({}, 1.0 if key == "]" else -1.0)
            elif key in "+-":
                self._coordinates.faster(_FACTOR if key == "+" else 1 / _FACTOR)
            elif key.isdigit() and key != "0":
                self._coordinates.choose(int(key) - 1)
        return rates


def drive(operator: Any, hand: DrivingHand) -> None:
    """Send what the hand asks for, until it leaves; a refusal is said once."""
    said, moves = "", False
    while not hand.leaves:
        began = time.monotonic()
        rates, moved = hand.rates(_EVERY_S), moves
        moves = bool(rates)
        if hand.holds:
            answer = operator.ask("hold")
        elif rates:
            answer = operator.jog(**rates)
        elif moved and hand.lets_go:  # it stops at once, and not only when the last jog has ended
            answer = operator.jog(**hand.stopped)
        else:
            continue
        if not answer["ok"] and answer["text"] != said:
            say(answer["text"])
        said = "" if answer["ok"] else answer["text"]
        time.sleep(max(0.0, began + _EVERY_S - time.monotonic()))


def drive_by_keyboard(operator: Any) -> None:
    """At a terminal."""
    coordinates = _coordinates(operator)
    if not sys.stdin.isatty():
        raise InputError("the input is no terminal", key="command", value="keys", expected="a terminal with a keyboard")
    say(_HELP)
    with _every_key() as read:
        drive(operator, Keyboard(coordinates, read))


def drive_by_gamepad(operator: Any, device: str | None) -> None:
    """With a gamepad of this machine."""
    coordinates = _coordinates(operator)
    with Gamepad.open(device, coordinates) as gamepad:
        say(_PAD_HELP)
        drive(operator, gamepad)


def _coordinates(operator: Any) -> Coordinates:
    listed = operator.ask("goals").get("coordinates", [])
    if not listed:
        raise InputError("the behaviour of this testbed takes no goals", expected="behaviour.kind = 'on_demand'")
    return Coordinates(listed)


@contextlib.contextmanager
def _every_key() -> Iterator[Callable[[float], str]]:
    """The terminal gives every key at once, and does not show it."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)

    def read(seconds: float) -> str:
        if not select.select([descriptor], [], [], seconds)[0]:
            return ""
        return os.read(descriptor, 1024).decode(errors="ignore") or _LEAVE  # the terminal is gone

    try:
        yield read
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
