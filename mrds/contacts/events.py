"""States of a contact, and events that change them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from granite.kernels.kernel import Array


class ContactStatus(Enum):
    """State of a contact."""

    OPEN = "open"
    CLOSED = "closed"  #: and cannot slip, or has no friction
    STUCK = "stuck"
    SLIPPING = "slipping"


class EventKind(Enum):
    """Kinds of events, as the verb after the name of the contact."""

    TAKES_HOLD = "takes hold"
    LETS_GO = "lets go"
    MISSES = "misses"  #: commanded to close, but out of reach: it stays open
    BOUNCES = "bounces"
    TOUCHES = "touches"  #: and stays
    LIFTS = "lifts"
    STICKS = "sticks"
    SLIPS = "slips"
    JAMS = "jams"  #: its friction stops the slip by an impulse (Painlevé: an impact without a collision)


class Event(NamedTuple):
    """An event of one contact, at the time of the call that returns it."""

    contact: str
    kind: EventKind
    impulse: Array  #: by E on P, along the constrained modes: normal first, then tangential [N s, N m s]
    energy_lost: float  #: [J]
