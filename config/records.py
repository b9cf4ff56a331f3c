"""The records that cross the steps of the tick.

Each is immutable and carries the time it speaks of [s since the start of the run]. The arrays in a record
belong to it: a step that gets one reads, never writes. Sizes follow from the testbed: n_q and n_u coordinates
and velocities of the robot, n_s sensed joints, n_m motors, n_t thrusters, n_g grips (each in configuration order).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: `new(Record, (each, field))` is `Record(each, field)` in half the time, for what is made in every tick. Nobody counts
#: the fields here; the row of the tick does.
new = tuple.__new__

#: of what a testbed does not have
NOTHING: Array = np.zeros(0)
NOTHING.setflags(write=False)


class Applied(NamedTuple):
    """What the actuators report to have done with the last command."""

    t: float
    torque: Array  #: (n_m) [N m]
    opening: Array  #: (n_t) of each valve, 0 closed, 1 open
    grip: Array = NOTHING  #: (n_g) of each grip, 1 told to hold, 0 told to let go


class Sample(NamedTuple):
    """What was measured, and when. A sensor that has never reported has count 0 and NaN values."""

    t: float
    joint_taken: float  #: when the joints were sampled [s]
    joint_count: float  #: how many frames the joint sensors have given so far
    joint_angle: Array  #: (n_s) [rad]
    joint_rate: Array  #: (n_s) [rad/s], behind the analogue filter
    pose_taken: float  #: when the newest picture was exposed [s]
    pose_count: float  #: how many poses vision has given so far; the same number is the same picture
    pose: Array  #: (3) x [m], y [m], heading [rad] of the root body
    applied: Applied  #: of the tick before


class State(NamedTuple):
    """The estimate of the model's coordinates."""

    t: float
    ready: bool  #: every sensor has reported at least once
    q: Array  #: (n_q)
    u: Array  #: (n_u)
    deviation: Array  #: (n_u) one standard deviation of the position of each coordinate
    pose_age: float  #: t minus the exposure of the newest pose used [s]
    joint_age: float  #: t minus the newest joint sample used [s]


class Reference(NamedTuple):
    """Where the robot should be now."""

    t: float
    q: Array  #: (n_q)
    u: Array  #: (n_u)
    a: Array  #: (n_u)
    done: bool  #: the last waypoint and its hold are over
    grip: Array = NOTHING  #: (n_g) of each grip, 1 to hold, 0 to let go


class Demand(NamedTuple):
    """What the law asks for."""

    t: float
    acceleration: Array  #: (n_u)
    force: Array  #: (n_u) generalised force that gives it: F = M a + h
    wrench: Array  #: its part on a floating root body, in that body's axes (planar fx, fy [N], mz [N m]; else empty)


class Command(NamedTuple):
    """What goes out, and the thrust that it will really deliver on average until the next tick."""

    t: float
    torque: Array  #: (n_m) [N m]
    opening: Array  #: (n_t) of each valve, 0 or 1 (between only for ideal, throttled thrusters)
    thrust: Array  #: (n_t) [N], expected
    grip: Array = NOTHING  #: (n_g) of each grip, 1 to hold, 0 to let go


class Verdict(NamedTuple):
    """The command that may go out, and why it is what it is (a code of `rt.reasons.Reason`)."""

    t: float
    command: Command
    reason: int
    stop: bool  #: the run must end now
