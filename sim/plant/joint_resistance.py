"""Damping and friction of the joints: Coulomb friction that fades out towards rest, or bristles that hold a joint."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import casadi as ca
import numpy as np

from granite.config.coordinates import positions, velocities
from granite.config.joints import RESISTANCE, Joint
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.simulation import JointFriction
from granite.config.testbed import Testbed
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from granite.sim.plant.bristles import bristles
from granite.sim.plant.stable_step import refuse_faster


def rubbing_joints(bed: Testbed) -> list[tuple[str, Joint]]:
    """The joints with friction, each with the name of its module."""
    return [(module.name, joint) for module in bed.modules for joint in module.joints if joint.resistance[1] > 0]


def n_bristles(bed: Testbed) -> int:
    """Number of joints whose bristles have a deflection."""
    return len(rubbing_joints(bed)) if bed.simulation.joint_friction.sticks else 0


def resistance(
    bed: Testbed, trees: Mapping[str, Tree], deflections: ca.SX, drawn: Mapping[str, ca.SX]
) -> tuple[dict[str, ca.SX], ca.SX]:
    """Generalised force of damping and friction on each module, and the rates of the bristles' deflections."""
    table, step = bed.simulation.joint_friction, bed.simulation.physics_step_s
    forces = {name: ca.SX.zeros(tree.u.numel()) for name, tree in trees.items()}
    for name, tree in trees.items():
        for joint in tree.module.joints:
            if joint.resistance[0] > 0:
                row = _rows(tree.module)[joint.name]
                forces[name][row] -= joint.resistance[0] * tree.u[row]
    rates = []
    for i, (name, joint) in enumerate(rubbing_joints(bed)):
        row = _rows(trees[name].module)[joint.name]
        (_, friction, v0), v = joint.resistance, trees[name].u[row]
        factor = 1 + drawn["joint_friction"][i] if table.spread > 0 else ca.SX(1)
        lean = drawn["joint_asymmetry"][i] if table.asymmetry > 0 else ca.SX(0)
        if table.sticks:
            part, rate = bristles(
                v,
                deflections[i],
                presliding=_presliding(table, joint),
                damping_s=table.presliding_damping_s,
                static_ratio=table.static_ratio,
                v0=v0,
                step=step,
                lean=lean,
            )
            rates.append(rate)
        else:
            # Coulomb's law, smoothed where the velocity changes sign, like the drag of the table.
            part = v / ca.sqrt(v**2 + v0**2)
            part *= 1 + lean * part
        forces[name][row] -= friction * factor * part
    return forces, ca.vertcat(ca.SX(0, 1), *rates)


def _presliding(table: JointFriction, joint: Joint) -> float:
    return table.presliding_rad if joint.kind == "revolute" else table.presliding_m


def refuse_stiff_joints(bed: Testbed, q: Array) -> None:
    """Raise where the physics step is too long for the joints' resistance near rest, at the start.

    About rest u' = -M^-1 (D u + K z), z' = u with D = d + f / v0 and K = 0, or with bristles of stiffness K. Contacts
    that are closed only slow that down.
    """
    first = 0
    for module in bed.modules:
        n_q = len(positions(module))
        q_module = q[first : first + n_q]
        first += n_q
        slopes = {joint.name: _slopes(bed.simulation.joint_friction, joint) for joint in module.joints}
        slopes = {name: slope for name, slope in slopes.items() if any(slope)}
        if not slopes:
            continue
        rows = [_rows(module)[name] for name in slopes]
        M = _mass_matrix(module)(q_module).full()
        D, K = np.array(list(slopes.values())).T
        admittance, n = np.linalg.inv(M)[np.ix_(rows, rows)], len(rows)
        system = np.block([[-admittance * D, -admittance * K], [np.eye(n), np.zeros((n, n))]])
        eigenvalues, motions = np.linalg.eig(system)
        fastest = int(np.abs(eigenvalues).argmax())
        rate = float(np.abs(eigenvalues[fastest]))
        name = list(slopes)[int(np.abs(motions[:n, fastest]).argmax())]
        [joint] = [joint for joint in module.joints if joint.name == name]
        damping, friction, fades = RESISTANCE[joint.kind]
        if bed.simulation.joint_friction.sticks:
            fades = f"simulation.joint_friction.{'presliding_rad' if joint.kind == 'revolute' else 'presliding_m'}"
        problem = f"damping or friction stops joint '{name}' of module '{module.name}' within {1 / rate:.3g} s"
        refuse_faster(bed, rate, problem, f"less {damping} and {friction}, or more {fades}")


@functools.lru_cache(maxsize=32)
def _mass_matrix(module: Module) -> ca.Function:
    """The mass matrix of a module by its coordinates: written in symbols once for all runs of a testbed."""
    tree = Tree(module)
    return ca.Function("M", [tree.q], [ca.densify(Dynamics(tree).mass_matrix)])


def _slopes(table: JointFriction, joint: Joint) -> tuple[float, float]:
    """Largest derivatives of the resistance at rest by the rate and by the deflection of the bristles."""
    damping, friction, v0 = joint.resistance
    friction *= 1 + table.spread
    if not table.sticks:
        return damping + friction * (1 + table.asymmetry) / v0, 0.0
    stiffness = friction / _presliding(table, joint)
    return damping + stiffness * table.presliding_damping_s, stiffness


def _rows(module: Module) -> dict[str, int]:
    return {coordinate.name: i for i, coordinate in enumerate(velocities(module))}
