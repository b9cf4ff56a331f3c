"""The records that pass between the steps of the tick.

Each is immutable and has the time it refers to [s since the start of the run]. The arrays in a record belong to it:
a step reads them and never writes. Sizes follow from the testbed: n_q and n_u coordinates and velocities of the
modules that the controller knows, n_t thrusters. Frames, ages and set points stand in the order of `bed.sensors` and
`bed.actuators`; `Device.signals` names their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: values of a part that a testbed does not have
NOTHING: Array = np.zeros(0)
NOTHING.setflags(write=False)


#: the steps of the tick, in order
STEPS = ("read", "estimate", "decide", "control", "allocate", "guard", "write", "record")


class Status(IntEnum):
    """Status of a device, reported by its frame."""

    OK = 0
    NO_FRAME = 1  #: no frame has arrived yet
    SILENT = 2  #: the device does not answer
    REFUSED = 3  #: it reports that it did not apply its set point
    BROKEN = 4  #: it reports that it is broken


class Frame(NamedTuple):
    """One measurement of a sensor, or the applied set point of an actuator."""

    t: float  #: time of the measurement or application [s], not of its arrival
    number: int  #: frames so far; the same number is the same frame, 0 is none yet
    status: int  #: a code of `Status`
    values: Array


class Sample(NamedTuple):
    """Newest frames of the sensors, and of the actuators since the last tick."""

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
    innovation: Array = NOTHING  #: of each sensor's signals, newest frame, in standard deviations; NaN where unknown
    correction: Array = NOTHING  #: (n_u) what measurements added to u at this tick; NaN where unknown
    disturbance: Array = NOTHING  #: (n_u) generalised force beside the commanded one; empty: none is estimated
    faults: Array = NOTHING  #: (n_t) of each thruster: 0 none found, 1 dead, 2 stuck open
    gauges: Array = NOTHING  #: signals of all gauges, tared and filtered, device after device
    holding: Array = NOTHING  #: of each of `bed.grips`, 1 where it reports that it holds
    rate_deviation: Array = NOTHING  #: (n_u) one standard deviation of each velocity; NaN where unknown
    bias: Array = NOTHING  #: of each sensor's signals, as estimated; NaN where none is
    supply: Array = NOTHING  #: of each device of thrusters, thrust by its data sheet at the measured pressure; empty: 1
    payload: Array = NOTHING  #: `PayloadTable.recorded`: of a load in the hand; empty: none is estimated


class Reference(NamedTuple):
    """Desired motion of the modules, and set points of actuators other than motors and thrusters."""

    t: float
    q: Array  #: (n_q)
    u: Array  #: (n_u)
    a: Array  #: (n_u)
    done: bool  #: the behaviour is finished
    direct: tuple[Array, ...] = ()  #: set points of `bed.direct_actuators`
    task: Array = NOTHING  #: numbers of a state machine: its `Options.recorded`


class Demand(NamedTuple):
    """Output of the law."""

    t: float
    acceleration: Array  #: (n_u)
    force: Array  #: (n_u) generalised force that gives it, F = M a + h, and torques that the law adds, as for friction
    wrench: Array  #: its part on each floating root in turn, in that body's axes (planar fx, fy [N], mz [N m])
    distribution: Array = NOTHING  #: numbers of a force distribution, where the law has one: its `Options.recorded`


class Command(NamedTuple):
    """Set points of the actuators, held until the next tick (zero-order hold), and the expected mean thrust."""

    t: float
    setpoints: tuple[Array, ...]  #: of each actuator
    thrust: Array  #: (n_t) [N], expected
    unloading: Array = NOTHING  #: of a yaw wheel: 1 while thrusters unload it; empty without one


class Truth(NamedTuple):
    """True state of the simulated plant; all NaN where there is none."""

    t: float
    q: Array  #: coordinates of all modules
    u: Array  #: their velocities
    thrust: Array  #: (n_t) [N], mean delivered since the last tick
    tank: Array  #: of each device of thrusters, impulse left [N s]; NaN without a tank
    closed: Array = (
        NOTHING  #: (n_c) each contact: 0 open, 1 closed, 2 closed and slipping, 3 commanded but out of reach
    )
    wrench: Array = NOTHING  #: (n_c d) of each contact, by its first side on its second, in world axes
    squeeze: Array = NOTHING  #: of each module between contacts: norm of the internal force [N, N m/m]
    caught: Array = NOTHING  #: (n_c) sum of the norms of closing impulses so far [N s, N m s]
    lost: Array = NOTHING  #: (1) energy lost by closing so far [J]; empty without contacts
    audit: Array = NOTHING  #: values of `granite.config.audit`, or empty
    struck: Array = NOTHING  #: of each pair that can collide: impulse so far [N s], then speed at the last touch [m/s]


class Verdict(NamedTuple):
    """The command after the guard's check, and its reason."""

    t: float
    command: Command
    reason: int  #: a code of `granite.config.reasons.Reason`
    subject: int  #: of the reason: its index in `granite.config.verdict_subjects.subjects`
    value: float  #: of the subject; NaN where there is no number
    limit: float  #: that the value broke; NaN where there is none
    stop: bool  #: the run must end now


class Timing(NamedTuple):
    """Time of a tick, durations of its steps, and rows lost and overruns so far."""

    tick: int
    scheduled: float  #: when the tick was due [s since the start of the run]
    delay: float  #: of its start behind that [s]
    steps: Sequence[float]  #: duration of each of `STEPS` [s]; that of `record` is of the tick before
    lost: int  #: rows lost because the ring was full
    overruns: int


class Operation(NamedTuple):
    """Request to the supervisor before this tick, its answer, and its decision on the guard's verdict."""

    t: float
    request: int  #: a code of `granite.config.run_modes.RequestKind`
    sender: int  #: number of the operator's key; 0: keyboard, or Granite itself; -n: client n of the live view
    argument: int  #: index of a gain, or the reason of a reported fault
    value: float  #: of a gain
    reply: int  #: a code of `granite.config.run_modes.Reply`
    mode: int  #: of this tick, a code of `granite.config.run_modes.RunMode`
    cause: int  #: the reason of the mode; 0 where nothing is wrong
    response: int  #: to the verdict: 0 none, else 1 + its index in `granite.config.responses.RESPONSES`
    #: of a behaviour that takes goals: the limit that the path uses most, the part of it, and the request's numbers
    goal: Array = NOTHING
    gains: Array = NOTHING  #: of the law in this tick, as its `Options.live_gains` lists them


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
    operation: Operation


def no_frame(n: int) -> Frame:
    """The frame of a sensor of n values that has not reported yet."""
    return Frame(float("nan"), 0, Status.NO_FRAME, np.full(n, np.nan))
