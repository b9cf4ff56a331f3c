"""A limit of the guard: a condition on the symbols of a tick, and the reason if it does not hold."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from granite.config.reasons import Reason


class Limit(NamedTuple):
    """A condition that must hold, and the reason if it does not."""

    holds: ca.SX
    reason: Reason
    subject: str  #: device, signal or coordinate
    value: ca.SX
    limit: float
