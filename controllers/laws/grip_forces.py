"""Forces of grips by their gauges, in symbols: the measured grasp wrenches, and contact and slip of each grip.

The internal part of the measured wrenches is what no motion of the object shows, so that only gauges can control it:

    w_i = (1 - A1^+ A1) w                                                     (Sun 4.29)
    c <- c + K T (w_i demanded - w_i measured)            an integral, bounded, in the axes of the grips
    tau' <- tau' + J1^T c_i                               before the distribution, which then keeps torques in limits
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from granite.config.base import NotNegative, Positive, Table
from granite.config.devices.force_gauges import ForceGauges
from granite.config.devices.gauge import Gauge
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.controllers.laws.carrying import ArmGrip, GraspSymbols
from granite.controllers.model import ControlModel
from granite.mrds.dynamics import solve


class InternalForce(Table):
    """Feedback of the internal force through force gauges."""

    #: gain of the integral; 0: none, and no gauges are needed
    integral_1_s: NotNegative = 0.0
    #: most that the integral adds to a component of a grip's wrench [N, N m]
    integral_limit: NotNegative = 5.0


class Friction(Table):
    """Grips that hold by friction, watched through force gauges: the guard warns where one slips or lets go."""

    #: a force outside the cone of this coefficient slips
    coefficient: Positive
    #: a grip that pushes less has lost its contact
    least_n: NotNegative = 0.0


class GaugedGrip(NamedTuple):
    """Where the components of a grip's wrench stand among the signals of all gauges."""

    grip: ArmGrip
    columns: tuple[int, ...]


def measured_grips(bed: Testbed, grips: tuple[ArmGrip, ...], key: str) -> tuple[GaugedGrip, ...]:
    """The gauges of all grips; `InputError` at the key where one is missing."""
    column_of: dict[tuple[str, str], int] = {}
    at = 0
    for device in bed.devices_of(Gauge).values():
        if isinstance(device, ForceGauges):
            pairs = [(unit.contact, axis) for unit in device.units for axis in device.measured_axes(bed, unit)]
            column_of.update({pair: at + i for i, pair in enumerate(pairs)})
        at += len(device.signals(bed))
    measured = []
    for grip in grips:
        name = grip.contact.name
        missing = [axis for axis in grip.components if (name, axis) not in column_of]
        if missing:
            problem = f"no force gauge measures {' and '.join(missing)} of grip '{name}'"
            raise InputError(problem, key=key, expected="a device of kind 'force_gauges' with these axes")
        measured.append(GaugedGrip(grip, tuple(column_of[name, axis] for axis in grip.components)))
    return tuple(measured)


def n_gauge_signals(bed: Testbed) -> int:
    """How many signals all gauges have."""
    return sum(len(device.signals(bed)) for device in bed.devices_of(Gauge).values())


def measured_wrenches(model: ControlModel, measured: tuple[GaugedGrip, ...], gauges: ca.SX) -> ca.SX:
    """w on the object, in world axes; a gauge measures in the axes of the body of its contact's first side."""
    wrenches = []
    for grip, columns in measured:
        side, value = grip.contact.first, gauges[list(columns)]
        of_arm = side.module == grip.arm.name
        R = model.point(side.module, str(side.point)).rotation
        n = 2 if grip.arm.dimension == "planar" else 3
        parts = [R[:n, :n] @ value[:n]]
        if grip.has_moment:
            parts.append(value[n:] if n == 2 else R @ value[n:])
        wrenches.append(ca.vertcat(*parts) * (1 if of_arm else -1))
    return ca.vertcat(*wrenches)


def local(grips: tuple[ArmGrip, ...], axes: ca.SX, wrenches: ca.SX) -> list[ca.SX]:
    """The wrench of each grip in its own axes."""
    parts, at, n = [], 0, axes.shape[0]
    for i, grip in enumerate(grips):
        size = len(grip.rows)
        own, B = wrenches[at : at + size], axes[:, n * i : n * (i + 1)]
        moment = own[n:] if n == 2 else B.T @ own[n:] if size > n else own[n:]
        parts.append(ca.vertcat(B.T @ own[:n], moment))
        at += size
    return parts


def in_world(grips: tuple[ArmGrip, ...], axes: ca.SX, wrenches: ca.SX) -> ca.SX:
    """Wrenches in the axes of their grips, in world axes."""
    parts, at, n = [], 0, axes.shape[0]
    for i, grip in enumerate(grips):
        size = len(grip.rows)
        own, B = wrenches[at : at + size], axes[:, n * i : n * (i + 1)]
        moment = own[n:] if n == 2 or size == n else B @ own[n:]
        parts.append(ca.vertcat(B @ own[:n], moment))
        at += size
    return ca.vertcat(*parts)


def internal(grasp: GraspSymbols, wrenches: ca.SX) -> ca.SX:
    """The part of wrenches that does not move the object."""
    At = grasp.matrix
    return wrenches - At @ solve(At.T @ At, At.T @ wrenches)


def friction_excess(force: ca.SX, coefficient: float) -> ca.SX:
    """Tangential force beyond the friction cone [N], of a force in the axes of its grip; negative inside."""
    return ca.norm_2(force[1:]) - coefficient * force[0]
