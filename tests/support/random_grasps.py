"""Random grasps of several arms, in a plane and in space, whose limits some wrenches keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from granite.config.distribution import ForceDistributionTable
from granite.config.records import Array
from granite.controllers.distribution.grasp import Grasp, GraspShape, Grip, VehicleBase
from granite.controllers.thrusters.reach import reach

LIMIT, RATE, PERIOD, FORCE, MU = 5.0, 200.0, 0.005, 4.0, 0.6
STRESS = {"area_m2": 1e-4, "section_modulus_m3": 1e-6, "stress_pa": 4e6}


@dataclass(frozen=True)
class Case:
    """A distribution, and how grasps are drawn for it."""

    name: str
    shape: GraspShape
    table: ForceDistributionTable


#: of eight thrusters of 1 N at the corners of a vehicle, along its sides
THRUSTERS = np.array(
    [[-1, 0, 0, 1, 1, 0, 0, -1], [0, -1, -1, 0, 0, 1, 1, 0], [0.13, -0.13, 0.13, -0.13, 0.13, -0.13, 0.13, -0.13]]
)


def case(name: str, space: int, moment: int, arms: int, elastic: int, vehicles: int = 0, **table: object) -> Case:
    names = ("left", "right", "third")[:arms]
    joints = 3 if space == 2 else 6
    K = np.diag(np.geomspace(10.0, 1e4, elastic)) if elastic else np.zeros((0, 0))
    shape = GraspShape(
        tuple(Grip(n, space, moment) for n in names), tuple(f"{n}_{k}" for n in names for k in range(joints)),
        np.full(joints * arms, LIMIT), K, PERIOD,
        tuple(VehicleBase(n, *reach(THRUSTERS, np.ones(8))) for n in names[:vehicles]),
    )  # fmt: skip
    return Case(name, shape, ForceDistributionTable.model_validate(table))


SQUEEZE = {"kind": "internal_force_set_point", "first": "left", "second": "right", "squeeze_n": 2.0}
CONE = {"kind": "friction_cone", "coefficient": MU}
HOLD = {"kind": "gripper_force", "force_n": FORCE}
CASES = [
    case("least internal force", 2, 1, 2, 0, objective=["least_internal_force"], limit=["torque"]),
    case("pins", 2, 0, 2, 0, objective=["torque_norm", {**SQUEEZE, "weight": 10.0}], limit=["torque", CONE, HOLD]),
    case(
        "everything, in a plane", 2, 1, 3, 4,
        objective=["task_load_sharing", "joint_load_sharing", "least_elastic_acceleration", SQUEEZE],
        limit=["torque", {"kind": "torque_rate", "rate_n_m_s": RATE}, CONE, "one_sided", HOLD,
               {"kind": "object_stress", "first": "left", "second": "right", **STRESS}],
    ),
    case("strain energy", 2, 1, 2, 6,
         objective=[{"kind": "least_strain_energy", "ahead_s": 0.01}, "torque_norm", "led_from_outside"],
         limit=["torque"]),
    case("box", 3, 3, 2, 0, objective=["joint_load_sharing", SQUEEZE], limit=["torque", {**CONE, "form": "box"}]),
    case("pyramids, three arms", 3, 3, 3, 0, objective=["least_internal_force"], limit=["torque", CONE, HOLD]),
    # Objectives that do not see all wrenches: what is left is decided by the tie-break alone.
    case("squeeze alone", 2, 1, 2, 0, objective=[SQUEEZE],
         limit=["torque", CONE, {"kind": "object_stress", "first": "left", "second": "right", **STRESS}]),
    case("elastic accelerations alone", 2, 1, 2, 3, objective=["least_elastic_acceleration"],
         limit=["torque", CONE, HOLD]),
    case(
        "vehicles", 2, 0, 2, 0, vehicles=2, objective=["base_load_sharing", "joint_load_sharing", SQUEEZE],
        limit=["torque", "thrusters", {"kind": "torque_rate", "rate_n_m_s": RATE}, CONE,
               {"kind": "object_stress", "first": "left", "second": "right", **STRESS}],
    ),
]  # fmt: skip


def draw(case: Case, rng: np.random.Generator) -> Grasp:
    """A grasp with wrenches that keep all limits of `CASES`."""
    shape = case.shape
    n_s, n_g, n_w, n_j, n_e = shape.n_space, len(shape.grips), shape.n_wrench, len(shape.joints), shape.n_elastic
    positions, axes = rng.normal(size=(n_g, n_s)), np.array([_rotation(n_s, rng) for _ in range(n_g)])
    w = np.zeros(n_w)
    for i in range(n_g):
        normal = rng.uniform(0.0, 0.7 * FORCE)
        tangent = rng.normal(size=n_s - 1)
        tangent *= rng.uniform(0.0, 0.5 * MU * normal) / np.linalg.norm(tangent)
        w[shape.force_part(i)] = axes[i].T @ [normal, *tangent]
        w[shape.moment_part(i)] = rng.uniform(-0.3, 0.3, shape.grips[i].n_moment)
    matrix, torque_map = grasp_matrix(shape, positions), rng.normal(size=(n_j, n_w))
    torque = rng.uniform(-LIMIT, LIMIT, n_j)
    base_map = rng.normal(size=(shape.n_base, n_w))
    pushed = [THRUSTERS @ rng.uniform(0.0, 1.0, 8) for _ in shape.bases]
    return Grasp(
        matrix, matrix @ w, torque - torque_map @ w, torque_map,
        10 * rng.normal(size=n_e), rng.normal(size=(n_e, n_w)), 1e-2 * rng.normal(size=n_e), rng.normal(size=n_e),
        torque + rng.uniform(-RATE, RATE, n_j) * PERIOD, positions, axes, rng.normal(size=n_e),
        np.concatenate([np.zeros(0), *pushed]) - base_map @ w, base_map,
        rng.uniform(0.0, 1.0, 1) if shape.bases else np.ones(1),
    )  # fmt: skip


def grasp_matrix(shape: GraspShape, positions: Array) -> Array:
    """A1 (Sun 4.17): forces and moments of the grips about the origin."""
    blocks = []
    for grip, c in zip(shape.grips, positions, strict=True):
        n_m = 1 if shape.n_space == 2 else 3
        cross = np.array([[-c[1], c[0]]]) if shape.n_space == 2 else np.cross(np.eye(3), c).T * -1
        moment = np.eye(n_m)[:, : grip.n_moment]
        blocks.append(np.block([[np.eye(shape.n_space), np.zeros((shape.n_space, grip.n_moment))], [cross, moment]]))
    return np.hstack(blocks)


def _rotation(n: int, rng: np.random.Generator) -> Array:
    if n == 3:
        matrix: Array = Rotation.random(random_state=rng).as_matrix()
        return matrix
    a = rng.uniform(-np.pi, np.pi)
    return np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])
