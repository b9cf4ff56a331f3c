"""The two steps of thruster allocation: sharing of the wrench, and modulation of each valve.

A failed thruster is one whose available thrust is zero: no method gives it work, and the others share it.

Both may have a second form in symbols beside the first, with the same operations in the same order: a sharing method
`expression(wrench) -> thrust`, a modulation `memory`, the numbers that it starts with, and
`expression(memory, t, thrust) -> (memory, opening)`. Where both have one, they are compiled into one function.
Instead of an expression, `least_propellant` and `best_pattern` have a `table`, which a function in C reads.

A sharing method that fails returns NaN, never zero: the set points are NaN then, and the guard stops the run.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from granite.config.devices.thrusters import Valve
from granite.config.records import Array


class ThrusterSet(NamedTuple):
    """The thrusters of a sharing method or a modulation."""

    matrix: Array  #: wrench on the root body per newton of each thruster, a column each
    available: Array  #: thrust of each with an open valve [N], zero where it has failed
    weight: Array  #: of each row of a wrench when wrenches are compared
    valve: Valve
    period_s: float  #: of the calls
    shared_drop: float = 0.0  #: part of the thrust that every further open valve takes from all


class Sharing(Protocol):
    """The contract of a sharing method."""

    #: whether every thrust is nominal or zero already
    is_on_off: ClassVar[bool]

    def share(self, wrench: Array) -> Array:
        """The thrust of each thruster [N], from 0 to `available`, for a finite wrench on the root body.

        The wrench is in the axes of the root body about its origin: (fx, fy [N], mz [N m]) planar,
        (fx, fy, fz, mx, my, mz) spatial.
        """


class Modulation(Protocol):
    """The contract of a modulation: from a wanted thrust to the state of a valve."""

    #: whether it commands openings between 0 and 1, which only ideal thrusters have
    throttles: ClassVar[bool]
    #: whether it makes pulses over time from a thrust that is not on/off already
    makes_pulses: ClassVar[bool]

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve (0 closed, 1 open) from t to the next call, for the thrust wanted [N]."""
