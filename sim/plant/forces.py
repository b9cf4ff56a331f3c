"""Forces of the lab on the modules: thrust, motor torque, resistance of the joints, slope and drag of the table."""

from __future__ import annotations

import math

import casadi as ca

from granite.config.base import spatial
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.events import BodyEvent, PushEvent
from granite.config.simulation import GraniteTable
from granite.config.testbed import Testbed
from granite.mrds.symbols import vector
from granite.mrds.tree import Tree
from granite.sim.plant.joint_resistance import resistance

GRAVITY = 9.81  #: [m/s^2]
PUSH = 4  #: numbers of a push: force along x, y and z [N], moment about z [N m]


def lab_force(bed: Testbed, trees: list[Tree], p: ca.SX) -> ca.SX:
    """Force on the velocities of all modules, with p = [thrust of each thruster; torque of each motor; pushes]."""
    n_t, n_m = n_thrusters(bed), len(bed.motors)
    thrust, torque, pushes = ca.vertsplit(p, [0, n_t, n_t + n_m, p.numel()])
    of_module = {tree.module.name: tree for tree in trees}
    parts = {name: resistance(tree) for name, tree in of_module.items()}
    first = 0
    for device in bed.devices_of(Thrusters).values():
        name, n = device.pushed(bed).name, len(device.units)
        parts[name] += _thrust(device, of_module[name], thrust[first : first + n])
        first += n
    for i, (name, body) in enumerate(pushed_bodies(bed)):
        parts[name] += _push(of_module[name], body, pushes[PUSH * i : PUSH * (i + 1)])
    if not bed.simulation.table.ideal:
        parts = {name: part + _table(bed, of_module[name]) for name, part in parts.items()}
    return ca.vertcat(*parts.values()) + _torque(bed, torque)


def n_thrusters(bed: Testbed) -> int:
    """Number of thrusters."""
    return len(bed.thrusters)


def n_held(bed: Testbed) -> int:
    """Number of forces held constant over a tick (zero-order hold): motor torques, and pushes of timed events."""
    return len(bed.motors) + PUSH * len(pushed_bodies(bed))


def pushed_bodies(bed: Testbed) -> list[tuple[str, str]]:
    """Module and body of every push among the timed events, each once."""
    found = []
    for event in bed.simulation.events:
        if isinstance(event, PushEvent):
            found.append((module_of_body(bed, event), event.body))
    return list(dict.fromkeys(found))


def module_of_body(bed: Testbed, event: BodyEvent) -> str:
    """The module of an event: the one it names, or the only one with such a body.

    Raises
    ------
    InputError
        Where there is none, or more than one.
    """
    key, names = f"simulation.events.{bed.simulation.events.index(event)}", [module.name for module in bed.modules]
    if event.module is not None and event.module not in names:
        known = one_of(event.module, names)
        raise InputError("no such module", key=f"{key}.module", value=event.module, expected=known)
    bodies = {module.name: [body.name for body in module.bodies] for module in bed.modules}
    asked = names if event.module is None else [event.module]
    found = [name for name in asked if event.body in bodies[name]]
    if not found:
        known = one_of(event.body, dict.fromkeys(body for name in asked for body in bodies[name]))
        raise InputError("no such body", key=f"{key}.body", value=event.body, expected=known)
    if len(found) > 1:
        raise InputError.missing(f"{key}.module", f"one of {', '.join(found)}, which have a body '{event.body}' each")
    return found[0]


def _thrust(device: Thrusters, tree: Tree, thrust: ca.SX) -> ca.SX:
    body, root = tree.module.root.name, tree.root
    total = ca.SX.zeros(tree.u.numel())
    for i, unit in enumerate(device.units):
        direction = vector(spatial(unit.direction)) / math.hypot(*unit.direction)
        force = thrust[i] * (root.R_WB @ direction)
        total += _generalised(tree, tree.point_velocity(body, unit.position_m), force)
    return total


def _push(tree: Tree, body: str, push: ca.SX) -> ca.SX:
    """A force in world axes at the mass centre of a body, and a moment about z."""
    centre = next(b.com_m for b in tree.module.bodies if b.name == body)
    point = tree.point(body, centre)
    return _generalised(tree, point.velocity, push[:3]) + _generalised(tree, point.angular_velocity[2], push[3])


def _torque(bed: Testbed, torque: ca.SX) -> ca.SX:
    total = ca.SX.zeros(len(bed.velocities))
    for i, motor in enumerate(bed.motors):
        total[bed.layout.joint_u(motor.joint)] += torque[i]
    return total


def _table(bed: Testbed, tree: Tree) -> ca.SX:
    """Slope and air-pad drag on each body (Stanford report, chapter 1; the laws of drag are ours)."""
    table = bed.simulation.table
    downhill = vector([math.cos(table.tilt_direction_rad), math.sin(table.tilt_direction_rad), 0.0])
    total = ca.SX.zeros(tree.u.numel())
    for body in tree.bodies:
        weight = body.mass * GRAVITY
        force = weight * table.tilt_g * downhill
        if table.drag_ratio > 0:
            force -= table.drag_ratio * weight * _direction(table, body.v_WC)
        total += _generalised(tree, body.v_WC, force)
        if table.drag_ratio > 0 and table.pad_radius_m > 0:
            turning = (body.frame.R_WB @ body.frame.w)[2]
            moment = table.drag_ratio * weight * table.pad_radius_m * _direction(table, table.pad_radius_m * turning)
            total -= _generalised(tree, turning, moment)
    return total


def _direction(table: GraniteTable, v: ca.SX) -> ca.SX:
    """v/|v| of Coulomb's law, smooth where the velocity changes sign: v/sqrt(v^2 + v0^2); viscous: v/v0."""
    v0 = table.drag_speed_m_s
    return v / (ca.sqrt(ca.dot(v, v) + v0**2) if table.drag == "coulomb" else v0)


def _generalised(tree: Tree, velocity: ca.SX, force: ca.SX) -> ca.SX:
    """Generalised force of a force on a point moving at `velocity`: (dv/du)^T f (virtual power)."""
    return ca.jtimes(velocity, tree.u, force, True)
