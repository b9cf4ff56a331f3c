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

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointDevice, JointSensors
from granite.controllers.estimation.joint_filter import JointFilter
from granite.controllers.estimation.root_filter import Root
from granite.controllers.estimation.unknown_forces import UnknownForces
from granite.controllers.model import ControlModel
from granite.mrds.dynamics import solve

#: of contacts that hold a root, in masses of its module
_STIFF = 1e3
#: joint sensors with their filters
Joints = Mapping[str, tuple[JointDevice, JointFilter]]


def n_states(model: ControlModel, joints: Iterable[JointDevice]) -> int:
    """Size of x."""
    return 2 * model.n + sum(n_extra(sensors) * len(known_joints(model, sensors)) for sensors in joints)


def n_extra(sensors: JointDevice) -> int:
    """Number of states of a joint's filter beside angle and rate: those of the sensor's rate filter."""
    return 2 if sensors.has_rate_filter else 0


def known_joints(model: ControlModel, sensors: JointDevice) -> list[tuple[int, int]]:
    """Of each sensed joint that the model has: its index in the device, and its index in u."""
    layout = model.layout
    return [(j, layout.joint_u(name)) for j, name in enumerate(sensors.joints) if name in layout.joints]


def n_covariances(joints: Iterable[JointDevice]) -> int:
    """Numbers in the covariances of the joint sensors, one matrix for each device."""
    return sum((2 + n_extra(sensors)) ** 2 for sensors in joints)


def prediction(
    model: ControlModel,
    joints: Joints,
    roots: Sequence[Root],
    offsets: Collection[int],
    unknown: UnknownForces,
    gripped: frozenset[str] = frozenset(),
    name: str = "prediction",
) -> ca.Function:
    """(x, torque of each motor, mean opening of each valve, frames of the joint sensors, numbers, covariances of the
    joints, velocity correction of the last tick, memory of the unknown forces) -> (x a period later, deviations of
    coordinates and velocities, covariances of the joints, innovations of the joint sensors, velocity correction, steps,
    memory of the unknown forces, disturbance).

    `numbers` are 1 and its age in periods for each joint sensor whose frame is new, else 0; then the gate, and 1 if
    unknown forces are observed. Innovations are in their standard deviations, those of unknown joints NaN; a frame with
    one beyond the gate is not used. The offset of a joint's sensor is part of its deviation, but for the joints in
    `offsets`, where it is estimated and taken off the frames. `steps` are the acceleration of each root, and the jump
    of its rate at the end of the period, which `root_filter.py` needs.
    """
    update = _update(model, joints, roots, offsets, gripped)
    acceleration, n = model.acceleration_under(gripped), model.n
    # Without contacts everything is one expression; with them the contact set is a function of its own.
    symbol: Any = ca.SX if acceleration.is_a("SXFunction") else ca.MX
    x, _, *others = (symbol.sym(update.name_in(i), update.size1_in(i)) for i in range(update.n_in()))
    torque, opening = symbol.sym("tau", len(model.driven)), symbol.sym("opening", len(model.bed.thrusters))
    memory, last = symbol.sym("unknown", len(unknown.memory)), symbol.sym("du", n)
    observed = unknown.function(model, gripped)
    memory_after, disturbance, opened = observed(memory, x[:n], last, opening, others[1][-1])
    a = acceleration(x[:n], x[n : 2 * n], torque, ca.DM(model.available) * opened, memory_after[:n])
    given = [x, torque, opening, *others, last, memory]
    return ca.Function(name, given, [*update.call([x, a, *others]), memory_after, disturbance])


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
        J = model.constraint_jacobian(model.contacts_under(gripped)).expand()(q)
        if J.size1() < len(held):
            yield held, J


def _update(
    model: ControlModel,
    joints: Joints,
    roots: Sequence[Root],
    offsets: Collection[int],
    gripped: frozenset[str],
) -> ca.Function:
    """(x, acceleration, frames of the joint sensors, numbers, covariances) -> the results of `prediction`."""
    n, period, devices = model.n, model.bed.loop.period_s, [sensors for sensors, _ in joints.values()]
    x = ca.SX.sym("x", n_states(model, devices))
    a, measured = (
        ca.SX.sym("a", n),
        ca.SX.sym("measured", sum(d.n_signals * len(d.joints) for d in devices)),
    )
    numbers = ca.SX.sym("numbers", len(joints) + 2)
    before = ca.SX.sym("P_joints", n_covariances(devices))

    after, deviation = ca.SX(x), ca.SX(np.full(2 * n, np.nan))
    for i in range(n):
        after[i] = x[i] + period * (x[n + i] + period / 2 * a[i])
        after[n + i] = x[n + i] + period * a[i]
    innovations, correction = ca.SX(np.full(measured.numel(), np.nan)), ca.SX.zeros(n)
    covariances_after = ca.SX(0, 1)
    first_value, first_extra, first_covariance = 0, 2 * n, 0
    for k, (sensors, filters) in enumerate(joints.values()):
        count, size = len(sensors.joints), len(filters.F)
        offset, timing = 0.0, 0.0  # of angles, one standard deviation
        if isinstance(sensors, JointSensors):
            offset, timing = sensors.angle_offset_rad, sensors.time_deviation_s
        stored = ca.reshape(before[first_covariance : first_covariance + size * size], size, size)
        usable, age = numbers[k] > 0, numbers[k] - 1
        P, update, known = filters.predicted(stored), filters.update(stored, age), known_joints(model, sensors)
        updates = []
        for j, i in known:
            own = [i, n + i, *range(first_extra, first_extra + filters.n_extra)]
            predicted = ca.DM(filters.F) @ x[own] + ca.DM(filters.G) * a[i]
            values = [first_value + row * count + j for row in range(sensors.n_signals)]
            innovation = measured[values] - ca.DM(filters.C) @ (predicted + age * (x[own] - predicted))
            late = (predicted[1] * timing) ** 2
            if timing > 0:
                # One covariance serves all joints of the device: the angle of a fast one counts less.
                S = update.sigma[0] ** 2
                innovations[values] = innovation / ca.vertcat(ca.sqrt(S + late), update.sigma[1])
                innovation = ca.vertcat(innovation[0] * (S / (S + late)), innovation[1])
            else:
                innovations[values] = innovation / update.sigma
            for value in values:
                usable = ca.logic_and(usable, ca.fabs(innovations[value]) <= numbers[-2])
            updates.append((i, own, predicted, innovation, late))
            first_extra += filters.n_extra
        P = ca.if_else(usable, update.P, P)
        for i, own, predicted, innovation, late in updates:
            spread = P[0, 0] if i in offsets else P[0, 0] + offset**2
            added = ca.if_else(usable, update.K @ innovation, np.zeros(size))
            after[own], correction[i] = predicted + added, added[1]
            deviation[i], deviation[n + i] = ca.sqrt(spread + late if timing > 0 else spread), ca.sqrt(P[1, 1])
        covariances_after = ca.vertcat(covariances_after, ca.vec(P))
        first_value, first_covariance = first_value + sensors.n_signals * count, first_covariance + size * size
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
        if root.has_rate:
            step[5] = 0
        steps = ca.vertcat(steps, step)
    found_now = [after, deviation, covariances_after, innovations, correction, steps]
    return ca.Function("update", [x, a, measured, numbers, before], found_now)
