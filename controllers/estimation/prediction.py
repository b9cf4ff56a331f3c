"""Prediction over one period as one compiled function: the model's acceleration, then every coordinate.

    x = [q; u; states of the rate filters]

Coordinates without a sensor of their own are double integrators under the model's acceleration; a joint with a sensor
also gets its measurement update here. What corrects the rates of joints acts inside a vehicle, as a wrong torque does,
and changes no momentum: its root moves against it,

    du_b = -M_bb^-1 M_bj du_j

A vehicle that contacts J u = 0 hold in part moves as they allow, with a large weight w:

    du_b = -(M_bb + w J_b'J_b)^-1 (M_bj du_j + w J_b'J u)

So a joint that friction holds holds its vehicle, too, although friction fades out at rest in the prediction.

That carries the noise of the joints' rates into those of the root. A heading whose rate a sensor measures does without:
the sensor shows the motion itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointDevice, JointSensors
from granite.config.records import Array
from granite.controllers.estimation.joint_filter import (
    JointCovariance,
    JointFilter,
    angle_offset,
    first_covariance,
    offset_devices,
)
from granite.controllers.estimation.root_filter import Root
from granite.controllers.estimation.unknown_forces import UnknownForces
from granite.controllers.loaded_model import loaded
from granite.controllers.model import ControlModel
from granite.mrds.dynamics import solve

#: of contacts that hold a root, in masses of its module
_STIFF = 1e3


class JointGroup(NamedTuple):
    """Joints that the same devices measure, the first of them with angles where one has any: one covariance for all."""

    devices: tuple[str, ...]
    coordinates: tuple[int, ...]  #: in u

    def sensors(self, joints: Mapping[str, JointDevice]) -> list[JointDevice]:
        """Of each joint, in turn."""
        return [joints[name] for name in self.devices]


def joint_groups(model: ControlModel, joints: Mapping[str, JointDevice]) -> list[JointGroup]:
    """All joints that are measured, by the devices that do."""
    measuring: dict[int, list[str]] = {}
    for name in sorted(joints, key=lambda name: not joints[name].has_angles):
        for _, i in known_joints(model, joints[name]):
            measuring.setdefault(i, []).append(name)
    groups: dict[tuple[str, ...], list[int]] = {}
    for name in joints:
        for _, i in known_joints(model, joints[name]):
            if measuring[i][0] == name:
                groups.setdefault(tuple(measuring[i]), []).append(i)
    return [JointGroup(devices, tuple(coordinates)) for devices, coordinates in groups.items()]


def n_states(model: ControlModel, joints: Mapping[str, JointDevice]) -> int:
    """Size of x: coordinates, velocities, states of rate filters device after device, offsets group after group."""
    offsets = sum(len(offset_devices(g.sensors(joints))) * len(g.coordinates) for g in joint_groups(model, joints))
    return _first_offset(model, joints) + offsets


def _first_offset(model: ControlModel, joints: Mapping[str, JointDevice]) -> int:
    return 2 * model.n + sum(n_extra(sensors) * len(known_joints(model, sensors)) for sensors in joints.values())


def n_extra(sensors: JointDevice) -> int:
    """Number of states of a joint's filter beside angle and rate: those of the sensor's rate filter."""
    return 2 if sensors.has_rate_filter else 0


def known_joints(model: ControlModel, sensors: JointDevice) -> list[tuple[int, int]]:
    """Of each sensed joint that the model has: its index in the device, and its index in u."""
    layout = model.layout
    return [(j, layout.joint_u(name)) for j, name in enumerate(sensors.joints) if name in layout.joints]


def first_covariances(model: ControlModel, joints: Mapping[str, JointDevice], copies: int) -> Array:
    """The covariances with the first frames, so many matrices for each group of joints."""
    groups = joint_groups(model, joints)
    return np.concatenate([np.zeros(0), *(np.tile(first_covariance(g.sensors(joints)), copies) for g in groups)])


def prediction(
    model: ControlModel,
    joints: Mapping[str, JointDevice],
    filters: Sequence[Sequence[JointFilter]],
    roots: Sequence[Root],
    offsets: Collection[int],
    unknown: UnknownForces,
    gripped: frozenset[str] = frozenset(),
    name: str = "prediction",
) -> ca.Function:
    """(x, torque of each motor, mean opening of each valve, frames of the joint sensors, numbers, covariances of the
    joints, velocity correction of the last tick, memory of the unknown forces) -> (x a period later, deviations of
    coordinates and velocities, covariances of the joints, innovations of the joint sensors, velocity correction, steps,
    memory of the unknown forces, disturbance, payload).

    `filters` are those of each group of joints, one for each of its devices. `numbers` are 1 and its age in periods for
    each joint sensor whose frame is new, else 0; then the gate of sensors all of whose joints have another one, that of
    the others, and 1 if unknown forces are observed. Innovations are in their standard deviations, those of unknown
    joints NaN; a frame with one beyond the gate is not used. The offset of a joint's sensor is part of its deviation,
    but for the joints in `offsets`, where it is estimated and taken off the frames. `steps` are the acceleration of
    each root, and the jump of its rate at the end of the period, which `root_filter.py` needs.
    """
    model = loaded(model)
    update = _update(model, joints, filters, roots, offsets, gripped)
    acceleration, n = model.acceleration_under(gripped), model.n
    # Without contacts everything is one expression; with them the contact set is a function of its own.
    symbol: Any = ca.SX if acceleration.is_a("SXFunction") else ca.MX
    x, _, *others = (
        symbol.sym(update.name_in(i), update.size1_in(i)) for i in range(update.n_in() - bool(unknown.n_payload))
    )
    torque, opening = symbol.sym("tau", len(model.driven)), symbol.sym("opening", len(model.bed.thrusters))
    memory, last = symbol.sym("unknown", len(unknown.memory)), symbol.sym("du", n)
    observed = unknown.function(model, gripped)
    memory_after, disturbance, opened = observed(memory, x[:n], x[n : 2 * n], last, opening, others[1][-1])
    payload = memory_after[len(unknown.memory) - unknown.n_payload :]
    a = acceleration(
        x[:n], x[n : 2 * n], torque, ca.DM(model.available) * opened, memory_after[:n],
        *([payload] if unknown.n_payload else []),
    )  # fmt: skip
    given = [x, torque, opening, *others, last, memory]
    updated = update.call([x, a, *others, *([payload] if unknown.n_payload else [])])
    return ca.Function(name, given, [*updated, memory_after, disturbance, payload])


def _extras(model: ControlModel, joints: Mapping[str, JointDevice]) -> dict[tuple[str, int], range]:
    """Entries of x that are states of rate filters, by device and joint."""
    entries, first = {}, 2 * model.n
    for name, sensors in joints.items():
        for _, i in known_joints(model, sensors):
            entries[name, i] = range(first, first + n_extra(sensors))
            first += n_extra(sensors)
    return entries


def _moved_roots(model: ControlModel, gripped: frozenset[str], q: ca.SX) -> Iterator[tuple[list[int], ca.SX]]:
    """Velocities of planar roots that move against the joints, with the Jacobian of the contacts that hold them.

    Contacts that leave a root no motion of its own are left out: grips that report to hold, and do not, would make the
    root follow every motion of the arms.
    """
    free = model.free_roots(gripped)
    for root in free:
        yield root, ca.SX.zeros(0, model.n)
    planar = [model.layout.root_u(module) for module in model.floating if module.dimension == "planar"]
    held = [i for root in planar if [*range(root.start, root.stop)] not in free for i in range(root.start, root.stop)]
    if held and not model.ignored:
        J = ca.substitute(model.constraint_jacobian(model.contacts_under(gripped)), model.q, q)
        if J.size1() < len(held):
            yield held, J


class _Joint:
    """A joint in an update: which entries of x it has, its state, and that a period before."""

    def __init__(self, own: list[int], before: ca.SX, filters: JointFilter, a: ca.SX) -> None:
        self.own, self.before = own, before
        self.state = ca.DM(filters.F) @ before + ca.DM(filters.G) * a
        self.rate = self.state[1]
        #: of the rate, by measurements; of the angle, variance by the time of its frames
        self.correction, self.late = ca.SX(0.0), ca.SX(0.0)
        self.innovation = ca.SX(0, 1)


def _update(
    model: ControlModel,
    joints: Mapping[str, JointDevice],
    filters: Sequence[Sequence[JointFilter]],
    roots: Sequence[Root],
    offsets: Collection[int],
    gripped: frozenset[str],
) -> ca.Function:
    """(x, acceleration, frames of the joint sensors, numbers, covariances) -> the results of `prediction`."""
    n, period, groups = model.n, model.bed.loop.period_s, joint_groups(model, joints)
    x = ca.SX.sym("x", n_states(model, joints))
    a, measured = (
        ca.SX.sym("a", n),
        ca.SX.sym("measured", sum(d.n_signals * len(d.joints) for d in joints.values())),
    )
    numbers = ca.SX.sym("numbers", len(joints) + 3)
    noises = [[None] if of_group[0].stated is None else [None, of_group[0].stated] for of_group in filters]
    stored = ca.SX.sym("P_joints", sum(len(Q) * len(f[0].F) ** 2 for Q, f in zip(noises, filters, strict=True)))

    after, deviation = ca.SX(x), ca.SX(np.full(2 * n, np.nan))
    for i in range(n):
        after[i] = x[i] + period * (x[n + i] + period / 2 * a[i])
        after[n + i] = x[n + i] + period * a[i]
    innovations, correction = ca.SX(np.full(measured.numel(), np.nan)), ca.SX.zeros(n)
    extras, first, first_entry = _extras(model, joints), _first_offset(model, joints), 0
    #: of each group, under the process noise and, where the deviations of rates have another one, under that
    spreads: list[list[JointCovariance]] = []
    states: list[list[_Joint]] = []
    for group, of_group, Qs in zip(groups, filters, noises, strict=True):
        size, n_offsets = len(of_group[0].F), len(offset_devices(group.sensors(joints)))
        spreads.append([])
        for Q in Qs:
            P = ca.reshape(stored[first_entry : first_entry + size * size], size, size)
            spreads[-1].append(of_group[0].spread(P, Q))
            first_entry += size * size
        states.append([])
        for i in group.coordinates:
            own = [i, n + i, *(k for name in group.devices for k in extras[name, i]), *range(first, first + n_offsets)]
            states[-1].append(_Joint(own, x[own], of_group[0], a[i]))
            first += n_offsets
    first_value = 0
    for k, (name, device) in enumerate(joints.items()):
        usable, age, of_device = numbers[k] > 0, numbers[k] - 1, []
        first_of_others = [group.devices[0] for group in groups if name in group.devices]
        gate = numbers[-2] if name in first_of_others else numbers[-3]
        columns = {i: j for j, i in known_joints(model, device)}
        timing = device.time_deviation_s if isinstance(device, JointSensors) else 0.0
        for g, group in enumerate(groups):
            if name not in group.devices:
                continue
            this = filters[g][group.devices.index(name)]
            update = this.update(spreads[g][0], age)
            of_device.append((g, update))
            for i, joint in zip(group.coordinates, states[g], strict=True):
                values = [first_value + row * len(device.joints) + columns[i] for row in range(device.n_signals)]
                innovation = measured[values] - ca.DM(this.C) @ (joint.state + age * (joint.before - joint.state))
                if timing > 0:
                    # One covariance serves all joints of the device: the angle of a fast one counts less.
                    S, late = update.sigma[0] ** 2, (joint.rate * timing) ** 2
                    innovations[values] = innovation / ca.vertcat(ca.sqrt(S + late), update.sigma[1])
                    innovation = ca.vertcat(innovation[0] * (S / (S + late)), innovation[1])
                    joint.late = late if name == group.devices[0] else joint.late
                else:
                    innovations[values] = innovation / update.sigma
                for value in values:
                    usable = ca.logic_and(usable, ca.fabs(innovations[value]) <= gate)
                joint.innovation = innovation
        for g, update in of_device:
            size = update.K.size1()
            for joint in states[g]:
                added = ca.if_else(usable, update.K @ joint.innovation, np.zeros(size))
                joint.state, joint.correction = joint.state + added, joint.correction + added[1]
                if groups[g].devices[-1] != name:
                    joint.before += ca.if_else(usable, update.K_before @ joint.innovation, np.zeros(size))
            spreads[g] = [
                JointCovariance(*(ca.if_else(usable, *pair) for pair in zip(update.after(spread), spread, strict=True)))
                for spread in spreads[g]
            ]
        first_value += device.n_signals * len(device.joints)
    for group, (spread, *by_model), moved_joints in zip(groups, spreads, states, strict=True):
        offset = angle_offset(group.sensors(joints)[0])
        is_state = bool(offset_devices(group.sensors(joints)))
        for i, joint in zip(group.coordinates, moved_joints, strict=True):
            after[joint.own], correction[i] = joint.state, joint.correction
            variance = spread.P[0, 0] if is_state or i in offsets else spread.P[0, 0] + offset**2
            # The steps of a converter are no white noise at rest: an angle keeps the margin.
            deviation[i], deviation[n + i] = ca.sqrt(variance + joint.late), ca.sqrt([spread, *by_model][-1].P[1, 1])
    covariances_after = ca.vertcat(ca.SX(0, 1), *(ca.vec(spread.P) for of_group in spreads for spread in of_group))
    M = ca.substitute(model.mass_matrix, model.q, x[:n])
    for moved, J in _moved_roots(model, gripped, x[:n]):
        w = _STIFF * M[moved[0], moved[0]]
        impulse = M[moved, :] @ correction + w * J[:, moved].T @ (J @ after[n : 2 * n])
        against = -solve(M[moved, moved] + w * J[:, moved].T @ J[:, moved], impulse)
        after[[n + i for i in moved]] += against
        correction[moved] += against
    steps = ca.SX(0, 1)
    for root in roots:
        at, step = root.first, ca.SX.zeros(6)
        if at is not None:
            step[:3], step[3:] = a[at : at + 3], correction[at : at + 3]
        for i in root.accelerations:  # a sensor shows the motion itself
            step[3 + i] = 0
        if root.has_rate:
            step[5] = 0
        steps = ca.vertcat(steps, step)
    found_now = [after, deviation, covariances_after, innovations, correction, steps]
    given = [x, a, measured, numbers, stored, *([model.payload] if model.payload.numel() else [])]
    return ca.Function("update", given, found_now)
