"""Forces of the lab on the modules: thrust, motor torque, resistance of the joints, slope and drag of the table."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from granite.config.base import spatial
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.events import BodyEvent, PushEvent
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.symbols import vector
from granite.mrds.tree import Tree
from granite.sim.plant.draws import by_name
from granite.sim.plant.hoses import hose_forces
from granite.sim.plant.joint_resistance import n_bristles, resistance
from granite.sim.plant.motor_torque import drives_at_rest, motor_torque, n_drive_states
from granite.sim.plant.plume import plume_forces
from granite.sim.plant.table_forces import generalised, n_pads, table_forces

PUSH = 4  #: numbers of a push: force along x, y and z [N], moment about z [N m]


def lab_force(bed: Testbed, trees: list[Tree], time: ca.SX, inner: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Force on the velocities of all modules, and the rate of the inner states of the lab.

    Time is empty where nothing depends on it. p = [thrust of each thruster; torque of each motor; pushes; constants
    drawn by the seed].
    """
    n_t, n_m = n_thrusters(bed), len(bed.motors)
    thrust, torque, pushes, constants = ca.vertsplit(p, [0, n_t, n_t + n_m, n_t + n_held(bed), p.numel()])
    drawn = by_name(bed, constants)
    of_module = {tree.module.name: tree for tree in trees}
    ends = np.cumsum([0, n_bristles(bed), n_drive_states(bed), n_pads(bed)]).tolist()
    deflections, gears, pads = ca.vertsplit(inner, ends)
    parts, bristle_rates = resistance(bed, of_module, deflections, drawn)
    q, u = (ca.vertcat(*(getattr(tree, name) for tree in trees)) for name in ("q", "u"))
    motors, gear_rates = motor_torque(bed, q, u, torque, gears, drawn)
    first = 0
    for device in bed.devices_of(Thrusters).values():
        name, n = device.pushed(bed).name, len(device.units)
        turned = drawn["nozzle_angles"][2 * first : 2 * (first + n)] if _is_misaligned(device) else None
        parts[name] += _thrust(device, of_module[name], thrust[first : first + n], turned)
        for struck, velocity, force in plume_forces(bed, device, of_module, thrust[first : first + n]):
            parts[struck] += generalised(of_module[struck], velocity, force)
        first += n
    for i, (name, body) in enumerate(pushed_bodies(bed)):
        parts[name] += _push(of_module[name], body, pushes[PUSH * i : PUSH * (i + 1)])
    for name, velocity, force in hose_forces(bed, of_module, time, drawn):
        parts[name] += generalised(of_module[name], velocity, force)
    by_table, pad_rates = table_forces(bed, of_module, pads, drawn)
    parts = {name: part + by_table.get(name, 0) for name, part in parts.items()}
    return ca.vertcat(*parts.values()) + motors, ca.vertcat(bristle_rates, gear_rates, pad_rates)


def n_inner(bed: Testbed) -> int:
    """Number of inner states of the lab: bristles of joints that stick, rotors behind gears, bristles of pads."""
    return n_bristles(bed) + n_drive_states(bed) + n_pads(bed)


def initial_inner(bed: Testbed, q: Array, u: Array) -> Array:
    """The inner states at the start."""
    return np.concatenate([np.zeros(n_bristles(bed)), drives_at_rest(bed, q, u), np.zeros(n_pads(bed))])


def n_thrusters(bed: Testbed) -> int:
    """Number of thrusters."""
    return len(bed.thrusters)


def n_held(bed: Testbed) -> int:
    """Number of forces held constant over a tick (zero-order hold): motor torques, and pushes of timed events."""
    return len(bed.motors) + PUSH * len(pushed_bodies(bed))


def pushed_bodies(bed: Testbed) -> list[tuple[str, str]]:
    """Module and body of every push among the timed events, each once."""
    bodies = []
    for event in bed.simulation.events:
        if isinstance(event, PushEvent):
            bodies.append((module_of_body(bed, event), event.body))
    return list(dict.fromkeys(bodies))


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
    owners = [name for name in asked if event.body in bodies[name]]
    if not owners:
        known = one_of(event.body, dict.fromkeys(body for name in asked for body in bodies[name]))
        raise InputError("no such body", key=f"{key}.body", value=event.body, expected=known)
    if len(owners) > 1:
        raise InputError.missing(f"{key}.module", f"one of {', '.join(owners)}, which have a body '{event.body}' each")
    return owners[0]


def _thrust(device: Thrusters, tree: Tree, thrust: ca.SX, turned: ca.SX | None) -> ca.SX:
    """Of all nozzles; `turned` has two normal numbers of each, for how their directions are wrong."""
    body, root = tree.module.root.name, tree.root
    total = ca.SX.zeros(tree.u.numel())
    for i, unit in enumerate(device.units):
        direction = vector(spatial(unit.direction)) / math.hypot(*unit.direction)
        if turned is not None:
            direction = _misaligned(device, tree, direction, turned[2 * i : 2 * i + 2])
        force = thrust[i] * (root.R_WB @ direction)
        total += generalised(tree, tree.point_velocity(body, unit.position_m), force)
    return total


def _is_misaligned(device: Thrusters) -> bool:
    return not device.simulated.ideal and device.simulated.misalignment_rad > 0


def _misaligned(device: Thrusters, tree: Tree, direction: ca.SX, turned: ca.SX) -> ca.SX:
    """The direction turned in the plane or, in space, about two axes across it."""
    planar, (x, y, z) = tree.module.dimension == "planar", np.array(ca.DM(direction)).ravel().tolist()
    across = np.array([-y, x, 0.0]) if planar or math.hypot(x, y) > 0.1 else np.array([0.0, -z, y])
    across /= np.linalg.norm(across)
    second = np.zeros(3) if planar else np.cross([x, y, z], across)
    angle = device.simulated.misalignment_rad * turned
    size = ca.sqrt(angle[0] ** 2 + (0 if planar else angle[1] ** 2))
    aside = (angle[0] * ca.DM(across) + angle[1] * ca.DM(second)) / ca.fmax(size, np.finfo(float).tiny)
    return ca.cos(size) * direction + ca.sin(size) * aside


def _push(tree: Tree, body: str, push: ca.SX) -> ca.SX:
    """A force in world axes at the mass centre of a body, and a moment about z."""
    centre = next(b.com_m for b in tree.module.bodies if b.name == body)
    point = tree.point(body, centre)
    return generalised(tree, point.velocity, push[:3]) + generalised(tree, point.angular_velocity[2], push[3])
