"""Disturbance observer: the generalised force that model and commands do not explain, from the velocity corrections.

The prediction has every known force, also that of valves and motors as they were *applied*. So what measurements add to
the velocities, du, is the effect of an unknown force d; M du is its impulse over the tick. With d in the prediction,

    d <- d + M(q) du / T          bounded by `limit`

is the momentum observer (De Luca and Mattone, Actuator failure detection and isolation using generalized momenta, ICRA
2003) on top of the Kalman filter: the error of d decays with the time constant T. The control error is not an input, so
nothing winds up while actuators saturate or while a reference is followed with a lag. What exceeds the bound stays in
the corrections, where the guard's monitor sees it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Table
from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: shorter than the delay of a pose and the filter behind it, the observer would oscillate
Time = Annotated[float, Field(ge=0.3, le=60.0)]


class DisturbanceTable(Table):
    """Time constants and bounds of the disturbance observer."""

    #: false: no disturbance is estimated
    observe: bool = True
    #: it begins so long after the state is ready, because the velocities are not known before
    after_s: Annotated[float, Field(ge=0.0, le=60.0)] = 0.7
    #: time constant of the wrench on a base, and of the torque on a joint
    base_time_s: Time = 1.0
    joint_time_s: Time = 0.3  #: time constant of the torque on a joint
    #: largest wrench on a base, in forces and moments of its weakest thruster
    base_ratio: Annotated[float, Field(gt=0.0, le=10.0)] = 1.2
    #: largest torque on a joint, as a part of its motor's limit; the friction of the joint comes on top of it
    joint_ratio: Annotated[float, Field(gt=0.0, le=1.0)] = 0.03


class DisturbanceObserver:
    """The observer of a testbed; its memory is the disturbance itself, in the coordinates of u [N, N m].

    Velocities without an actuator have none: nothing could act against it. Nor has a testbed with contacts that the
    model ignores, because their forces are unexplained too. Under contacts that the model has, M du is the part of the
    impulse that moves the robot; the part that only loads a contact is not observed.
    """

    def __init__(self, table: DisturbanceTable, bed: Testbed, knows_contacts: bool) -> None:
        n = len(bed.known.velocities)
        #: of each velocity, zero where nothing is observed
        self.limit: Array = np.zeros(n)
        self._gain = np.zeros(n)
        if table.observe and knows_contacts:
            frictions = joint_frictions(bed)
            for i, torque in motor_torques(bed).items():
                friction, _ = frictions.get(i, (0.0, 0.0))
                self.limit[i], self._gain[i] = table.joint_ratio * torque + friction, 1.0 / table.joint_time_s
            for i, force in weakest_thrust(bed).items():
                self.limit[i], self._gain[i] = table.base_ratio * force, 1.0 / table.base_time_s

    @property
    def memory(self) -> Array:
        """What it starts with."""
        return np.zeros(len(self.limit))

    def expression(self, memory: ca.SX, impulse: ca.SX, observes: ca.SX) -> ca.SX:
        """The disturbance with the impulse M du of the last tick; unchanged unless `observes`."""
        after = memory + ca.if_else(observes, ca.DM(self._gain) * impulse, 0.0)
        return ca.fmin(ca.fmax(after, -ca.DM(self.limit)), ca.DM(self.limit))


def motor_torques(bed: Testbed) -> dict[int, float]:
    """The torque that the motors can give to each driven joint [N m], by the index of its velocity."""
    return {bed.known.joint_u(joint): torque for joint, torque in bed.joint_torques.items()}


def joint_frictions(bed: Testbed) -> dict[int, tuple[float, float]]:
    """Friction [N m, N] and the rate below which it fades out, of each joint that has any, by its velocity's index."""
    joints = ((bed.known.name(module, joint.name), joint) for module in bed.known.modules for joint in module.joints)
    frictions = {bed.known.joint_u(name): joint.resistance[1:] for name, joint in joints}
    return {i: (friction, v0) for i, (friction, v0) in frictions.items() if friction}


def weakest_thrust(bed: Testbed) -> dict[int, float]:
    """Force [N] and moment [N m] of the weakest thruster on each planar root, by the index of the velocity."""
    known = bed.known
    limit_by_index: dict[int, float] = {}
    for thrusters in bed.devices_of(Thrusters).values():
        module = thrusters.pushed(bed)
        if module.dimension != "planar":  # its root has other axes than the wrench
            continue
        wrenches = abs(thruster_matrix(thrusters, "planar") * available_thrust(thrusters))
        force = [math.hypot(fx, fy) for fx, fy, _ in wrenches.T if fx or fy]
        moment = [m for m in wrenches[2] if m > 1e-9]
        limits = [min(force, default=math.inf)] * 2 + [min(moment, default=math.inf)]
        limit_by_index |= dict(zip(range(known.root_u(module).start, known.root_u(module).stop), limits, strict=True))
    return limit_by_index
