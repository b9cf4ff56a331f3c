"""The records that cross the steps of the tick.

Each is immutable and carries the time it speaks of [s since the start of the run]. The arrays in a record belong to it:
a step that gets one reads, never writes. Sizes follow from the testbed: n_q and n_u coordinates and velocities of the
modules that the controller knows, n_t thrusters. Frames, ages and set points stand in the order of `bed.sensors` and
`bed.actuators`; what they hold is named by `Device.signals`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: of what a testbed does not have
NOTHING: Array = np.zeros(0)
NOTHING.setflags(write=False)


#: the steps of the tick, in turn
STEPS = ("read", "estimate", "decide", "control", "allocate", "guard", "write", "record")


class Status(IntEnum):
    """How a device is, as its frame tells."""

    OK = 0
    NO_FRAME = 1  #: nothing has come yet
    SILENT = 2  #: the device does not answer
    REFUSED = 3  #: it answers that it did not do what it was commanded
    BROKEN = 4  #: it answers that it is broken


class Frame(NamedTuple):
    """What a sensor measured, or an actuator applied."""

    t: float  #: when [s], not when it arrived
    number: int  #: frames so far; the same number is the same frame, 0 is none yet
    status: int  #: a code of `Status`
    values: Array


class Sample(NamedTuple):
    """What was measured, and what the actuators applied since the last tick."""

    t: float
    frames: tuple[Frame, ...]  #: of each sensor, the newest
    applied: tuple[Frame, ...]  #: of each actuator, the newest


class State(NamedTuple):
    """The estimate of the model's coordinates."""

    t: float
    ready: bool  #: everything that the estimate needs has reported at least once
    q: Array  #: (n_q)
    u: Array  #: (n_u)
    deviation: Array  #: (n_u) one standard deviation of the position of each coordinate
    ages: Array  #: of each sensor, t minus the time of the newest frame used [s]; NaN before the first


class Reference(NamedTuple):
    """Where the modules should be now, and what actuators beside motors and thrusters should do."""

    t: float
    q: Array  #: (n_q)
    u: Array  #: (n_u)
    a: Array  #: (n_u)
    done: bool  #: the behaviour has come to its end
    direct: tuple[Array, ...] = ()  #: set points of `bed.direct_actuators`


class Demand(NamedTuple):
    """What the law asks for."""

    t: float
    acceleration: Array  #: (n_u)
    force: Array  #: (n_u) generalised force that gives it: F = M a + h
    wrench: Array  #: its part on each floating root in turn, in that body's axes (planar fx, fy [N], mz [N m])


class Command(NamedTuple):
    """What goes out, and the thrust that it will really deliver on average until the next tick."""

    t: float
    setpoints: tuple[Array, ...]  #: of each actuator
    thrust: Array  #: (n_t) [N], expected


class Truth(NamedTuple):
    """What the simulated plant really does; all NaN where there is none."""

    t: float
    q: Array  #: coordinates of all modules
    u: Array  #: their velocities
    thrust: Array  #: (n_t) [N], mean delivered since the last tick
    tank: Array  #: of each device of thrusters, impulse left [N s]; NaN without a tank
    closed: Array = (
        NOTHING  #: (n_c) each contact: 0 open, 1 closed, 2 closed and slipping, 3 commanded but out of reach
    )
    wrench: Array = NOTHING  #: (n_c d) of each contact, by its first side on its second, in world axes
    squeeze: Array = NOTHING  #: of each module between contacts: size of the internal force [N, N m/m]
    caught: Array = NOTHING  #: (n_c) size of the impulses of taking hold so far [N s, N m s]
    lost: Array = NOTHING  #: (1) energy that taking hold took so far [J]; nothing without contacts
    audit: Array = NOTHING  #: what `granite.config.audit` names, or nothing


class Verdict(NamedTuple):
    """The command that may go out, and why it is what it is."""

    t: float
    command: Command
    reason: int  #: a code of `granite.rt.reasons.Reason`
    subject: int  #: what it is about: its place in `granite.rt.limits.subjects`
    value: float  #: what was found there; NaN where there is no number
    limit: float  #: what it was held against; NaN where there is none
    stop: bool  #: the run must end now


class Timing(NamedTuple):
    """When a tick ran, how long its steps took, and what went wrong so far."""

    tick: int
    scheduled: float  #: when the tick was due [s since the start of the run]
    delay: float  #: how much later it began [s]
    steps: Array  #: (8) duration of each of `STEPS` [s]; that of `record` is of the tick before
    lost: int  #: rows that found the ring full
    overruns: int


class Tick(NamedTuple):
    """All records of one tick."""

    sample: Sample
    state: State
    reference: Reference
    demand: Demand
    command: Command
    verdict: Verdict
    applied: tuple[Frame, ...]
    truth: Truth
    timing: Timing


def no_frame(n: int) -> Frame:
    """The frame of a sensor of n values that has not reported yet."""
    return Frame(float("nan"), 0, Status.NO_FRAME, np.full(n, np.nan))
