"""What a contact is, and what can happen to it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from granite.mrds.kernel import Array


class Status(Enum):
    """How a contact stands."""

    OPEN = "open"
    CLOSED = "closed"  #: one that cannot slip, or that has no friction
    STUCK = "stuck"
    SLIPPING = "slipping"


class What(Enum):
    """What happened to a contact, as a sentence with its name would say it."""

    TAKES_HOLD = "takes hold"
    LETS_GO = "lets go"
    MISSES = "misses"  #: told to take hold, but too far away: the whole command is void
    BOUNCES = "bounces"
    TOUCHES = "touches"  #: and stays
    LIFTS = "lifts"
    STICKS = "sticks"
    SLIPS = "slips"
    JAMS = "jams"  #: it slipped, and its friction stopped it at once (an impact without a collision)


class Event(NamedTuple):
    """What happened to one contact; when, the caller knows."""

    contact: str
    what: What
    impulse: Array  #: by E on P, along the directions that held in it: normal first, then slip [N s, N m s]
    energy_lost: float  #: [J]
