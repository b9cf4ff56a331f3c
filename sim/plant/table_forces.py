"""Forces of the table on each body: slope of the floor, and friction of the air pads."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca

from granite.config.errors import InputError
from granite.config.floor import GraniteTable, Stiction
from granite.config.testbed import Testbed
from granite.mrds.height_map import GRAVITY
from granite.mrds.tree import Tree
from granite.sim.plant.bristles import bristles
from granite.sim.plant.floor import downhill
from granite.sim.plant.stable_step import refuse_faster


def n_pads(bed: Testbed) -> int:
    """Number of deflections of bristles of pads that stick: along x and y and, where they resist it, of turning."""
    table = bed.simulation.table
    if table.ideal or table.stiction is None:
        return 0
    return (2 + (table.pad_radius_m > 0)) * sum(len(module.bodies) for module in bed.modules)


def table_forces(
    bed: Testbed, trees: Mapping[str, Tree], pads: ca.SX, drawn: Mapping[str, ca.SX]
) -> tuple[dict[str, ca.SX], ca.SX]:
    """Generalised force on each module (Stanford report, chapter 1; the laws of drag are ours), rates of the pads."""
    table, r = bed.simulation.table, bed.simulation.table.pad_radius_m
    forces: dict[str, ca.SX] = {}
    rates, deflections = [ca.SX(0, 1)], pads
    for name, tree in trees.items() if not table.ideal else ():
        forces[name] = ca.SX.zeros(tree.u.numel())
        for body in tree.bodies:
            weight, turning = body.mass * GRAVITY, (body.frame.R_WB @ body.frame.w)[2]
            sliding = body.v_WC if table.stiction is None else body.v_WC[:2]
            drags = []
            for v in (sliding, *[r * turning] * (r > 0)) if table.drag_ratio > 0 else ():
                if table.stiction is None:
                    drags.append(_direction(table, v))
                    continue
                z, deflections = ca.vertsplit(deflections, [0, v.numel(), deflections.numel()])
                part, rate = _sticking(table, table.stiction, v, z, bed.simulation.physics_step_s)
                drags.append(part)
                rates.append(rate)
            force = downhill(table, weight, tree.origin + body.p_OC, drawn)
            if drags:
                force[: sliding.numel()] -= table.drag_ratio * weight * drags[0]
            forces[name] += generalised(tree, body.v_WC, force)
            if len(drags) > 1:
                forces[name] -= generalised(tree, turning, table.drag_ratio * weight * r * drags[1])
    return forces, ca.vertcat(*rates)


def refuse_stiff_pads(bed: Testbed) -> None:
    """Raise where the physics step is too long for pads that stick, or where a link bends on them.

    About rest no motion is faster than that of a body alone: z'' = -(k / m) (z + damping z').
    """
    table = bed.simulation.table
    if n_pads(bed) == 0 or table.stiction is None:
        return
    for module in bed.modules:
        for body in module.bodies:
            if body.flexible is not None:
                where = "simulation.table.stiction"
                raise InputError(
                    f"link '{body.name}' is flexible", key=where, expected="rigid bodies on pads that stick"
                )
    stiffness = GRAVITY * table.drag_ratio / table.stiction.presliding_m
    damping = stiffness * table.stiction.presliding_damping_s
    fastest = damping / 2 + math.sqrt(damping**2 / 4 + stiffness)
    problem = f"pads that stick stop a body within {1 / fastest:.3g} s"
    refuse_faster(bed, fastest, problem, "more simulation.table.stiction.presliding_m")


def _sticking(table: GraniteTable, stiction: Stiction, v: ca.SX, z: ca.SX, step: float) -> tuple[ca.SX, ca.SX]:
    return bristles(
        v,
        z,
        presliding=stiction.presliding_m,
        damping_s=stiction.presliding_damping_s,
        static_ratio=stiction.static_ratio,
        v0=table.drag_speed_m_s,
        step=step,
    )


def _direction(table: GraniteTable, v: ca.SX) -> ca.SX:
    """v/|v| of Coulomb's law, smooth where the velocity changes sign: v/sqrt(v^2 + v0^2); viscous: v/v0."""
    v0 = table.drag_speed_m_s
    return v / (ca.sqrt(ca.dot(v, v) + v0**2) if table.drag == "coulomb" else v0)


def generalised(tree: Tree, velocity: ca.SX, force: ca.SX) -> ca.SX:
    """Generalised force of a force on a point moving at `velocity`: (dv/du)^T f (virtual power)."""
    return ca.jtimes(velocity, tree.u, force, True)
