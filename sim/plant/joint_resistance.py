"""Damping and Coulomb friction of the joints, which only the plant has."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.coordinates import velocities
from granite.config.errors import InputError
from granite.config.joints import RESISTANCE, Joint
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree

#: rate of decay times step up to which classical Runge-Kutta is stable
_STABLE = 2.785


def resistance(tree: Tree) -> ca.SX:
    """Generalised force of damping and friction: -d v - f v / sqrt(v^2 + v0^2) on each joint."""
    force, rows = ca.SX.zeros(tree.u.numel()), _rows(tree.module)
    for joint in tree.module.joints:
        if _slope(joint) == 0:
            continue
        (damping, friction, v0), v = joint.resistance, tree.u[rows[joint.name]]
        # Coulomb's law, smoothed where the velocity changes sign, like the drag of the table.
        force[rows[joint.name]] -= damping * v + friction * v / ca.sqrt(v**2 + v0**2)
    return force


def refuse_stiff_joints(bed: Testbed, q: Array) -> None:
    """Raise where the physics step is too long for the joints' resistance near rest, at the start.

    About rest u' = -M^-1 D u with D = d + f / v0. Contacts that are closed only slow that down.
    """
    first, step = 0, bed.simulation.physics_step_s
    for module in bed.modules:
        tree = Tree(module)
        q_module = q[first : first + tree.q.numel()]
        first += tree.q.numel()
        slopes = {joint.name: _slope(joint) for joint in module.joints if _slope(joint) > 0}
        if not slopes:
            continue
        rows = [_rows(module)[name] for name in slopes]
        M = ca.Function("M", [tree.q], [ca.densify(Dynamics(tree).mass_matrix)])(q_module).full()
        root_D = np.sqrt(list(slopes.values()))
        rates, motions = np.linalg.eigh(root_D[:, None] * np.linalg.inv(M)[np.ix_(rows, rows)] * root_D)
        if rates[-1] * step > _STABLE:
            name = list(slopes)[int(np.abs(motions[:, -1]).argmax())]
            [joint] = [joint for joint in module.joints if joint.name == name]
            damping, friction, fades = RESISTANCE[joint.kind]
            raise InputError(
                f"damping or friction stops joint '{name}' of module '{module.name}' within {1 / rates[-1]:.3g} s",
                file=bed.name,
                key="simulation.physics_step_s",
                value=step,
                expected=f"at most {_STABLE / rates[-1]:.3g} s, or less {damping} and {friction}, or more {fades}",
            )


def _slope(joint: Joint) -> float:
    """Derivative of the resistance by the rate, at rest."""
    damping, friction, v0 = joint.resistance
    return damping + friction / v0


def _rows(module: Module) -> dict[str, int]:
    return {coordinate.name: i for i, coordinate in enumerate(velocities(module))}
