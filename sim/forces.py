"""What the lab does to the modules: thrust, motor torque, resistance of the joints, slope and drag of the table."""

from __future__ import annotations

import math

import casadi as ca

from granite.config.base import spatial
from granite.config.coordinates import Coordinate
from granite.config.testbed import Testbed
from granite.mrds.symbols import vector
from granite.mrds.tree import Tree
from granite.sim.joint_resistance import resistance

GRAVITY = 9.81  #: [m/s^2]


def lab_force(bed: Testbed, trees: list[Tree], p: ca.SX) -> ca.SX:
    """Force on the velocities of all modules, with p = [thrust of each thruster; torque of each motor]."""
    thrust, torque = ca.vertsplit(p, [0, n_thrusters(bed), p.numel()])
    parts = [resistance(tree) for tree in trees]
    parts[0] += _thrust(bed, trees[0], thrust)
    if not bed.simulation.table.ideal:
        parts = [part + _table(bed, tree) for part, tree in zip(parts, trees, strict=True)]
    return ca.vertcat(*parts) + _torque(bed, bed.velocities, torque)


def n_thrusters(bed: Testbed) -> int:
    """How many thrusters there are."""
    return len(bed.devices.thrusters.units) if bed.devices.thrusters else 0


def _thrust(bed: Testbed, tree: Tree, thrust: ca.SX) -> ca.SX:
    body, root = tree.module.root.name, tree.root
    total = ca.SX.zeros(tree.u.numel())
    units = bed.devices.thrusters.units if bed.devices.thrusters else ()
    for i, unit in enumerate(units):
        direction = vector(spatial(unit.direction)) / math.hypot(*unit.direction)
        force = thrust[i] * (root.R_WB @ direction)
        total += _generalised(tree, tree.point_velocity(body, unit.position_m), force)
    return total


def _torque(bed: Testbed, velocities: tuple[Coordinate, ...], torque: ca.SX) -> ca.SX:
    names = [c.name for c in velocities]
    total = ca.SX.zeros(len(names))
    for i, motor in enumerate(bed.devices.motors):
        total[names.index(motor.joint)] += torque[i]
    return total


def _table(bed: Testbed, tree: Tree) -> ca.SX:
    """Slope and air-pad drag at each mass centre (Stanford report, chapter 1; the laws of drag are ours)."""
    table = bed.simulation.table
    downhill = vector([math.cos(table.tilt_direction_rad), math.sin(table.tilt_direction_rad), 0.0])
    total = ca.SX.zeros(tree.u.numel())
    for body in tree.bodies:
        weight = body.mass * GRAVITY
        force = weight * table.tilt_g * downhill
        if table.drag_ratio > 0:
            v, v0 = body.v_WC, table.drag_speed_m_s
            # Coulomb's law, made smooth where the velocity changes sign: v/|v| becomes v/sqrt(v^2 + v0^2).
            speed = ca.sqrt(ca.dot(v, v) + v0**2) if table.drag == "coulomb" else v0
            force -= table.drag_ratio * weight * v / speed
        total += _generalised(tree, body.v_WC, force)
    return total


def _generalised(tree: Tree, velocity: ca.SX, force: ca.SX) -> ca.SX:
    """Generalised force of a force on a point moving at `velocity`: (dv/du)^T f (virtual power)."""
    return ca.jtimes(velocity, tree.u, force, True)
