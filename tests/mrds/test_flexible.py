"""Flexible links: the energy of all their mass points, what free motion keeps, and the rigid link as a limit."""

from __future__ import annotations

import json
from typing import Any

import casadi as ca
import numpy as np
import pytest
from pydantic import ValidationError
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

from granite.config.base import spatial
from granite.config.contacts import Contact, Side
from granite.config.coordinates import positions, velocities
from granite.config.loader import load, to_json
from granite.config.modules import Flexible, Module
from granite.config.testbed import Testbed as Bed
from granite.config.validation_errors import complaint
from granite.mrds.dynamics import Dynamics
from granite.mrds.flexible.integrals import at_section, integrals
from granite.mrds.flexible.shapes import bending_shapes
from granite.mrds.system import System
from granite.mrds.tree import Tree
from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.support.flexible_arms import (
    EI,
    GROUND,
    LINE_DENSITY,
    Array,
    BruteForce,
    bent_state,
    flexible,
    planar_arm,
    spatial_robot,
    stiffness,
)

pytestmark = pytest.mark.usefixtures("interpreted")

PLANAR = planar_arm([flexible(1.0, 2), flexible(0.5, 3, tip_mass_kg=0.5)], gravity_m_s2=[1.0, -2.0])
SPATIAL = spatial_robot(gravity_m_s2=[1.0, -2.0, 3.0])
UNTWISTED = spatial_robot(modes_x=0, name="untwisted_robot")
#: a motor on the tip of the first link, stretch, and sections that resist turning
MOTOR = {"tip_mass_kg": 0.6, "tip_com_m": [0.02, -0.04], "tip_inertia_kg_m2": 2e-3, "shapes": "cantilever"}
STRETCH = {"ea_n": 4e3, "modes_stretch": 2, "rotary_inertia": True}
LOADED = planar_arm(
    [flexible(1.0, 2, **MOTOR, **STRETCH), flexible(0.5, 2, foreshortening=False, shapes="cantilever")],
    name="loaded_arm",
    gravity_m_s2=[1.0, -2.0],
)
TOOL = {"tip_mass_kg": 0.3, "tip_com_m": [0.02, -0.04, 0.03], "tip_inertia_kg_m2": [2e-3, 3e-3, 2e-3, 1e-4, 0.0, 2e-4]}
TOOLED = spatial_robot(name="tooled_robot", second=TOOL | STRETCH)
ROBOTS = [PLANAR, SPATIAL, UNTWISTED, LOADED, TOOLED]
robots = pytest.mark.parametrize("robot", ROBOTS, ids=["planar", "spatial", "untwisted", "loaded", "tooled"])
seeds = pytest.mark.parametrize("seed", range(5))
STEP = 1e-5


def rate_of(model: Model, q: Array, u: Array, u_dot: Array, what: Any) -> Array:
    """Central difference of `what(q, u)` along the motion."""
    q_dot = model.position_rate(q, u).copy()
    there, back = (np.copy(what(q + t * q_dot, u + t * u_dot)) for t in (STEP, -STEP))
    difference: Array = (there - back) / (2 * STEP)
    return difference


@robots
@seeds
def test_kinetic_energy_is_that_of_all_mass_points(robot: Module, seed: int) -> None:
    model = interpreted(robot)
    q, u = bent_state(model, seed)
    expected = BruteForce(robot, model).kinetic_energy(q, u)
    assert model.kinetic_energy(q, u) == pytest.approx(expected, rel=1e-12)
    assert 0.5 * u @ model.mass_matrix(q) @ u == pytest.approx(expected, rel=1e-12)


@robots
@seeds
def test_the_mass_matrix_is_symmetric_and_positive(robot: Module, seed: int) -> None:
    model = interpreted(robot)
    M = model.mass_matrix(bent_state(model, seed)[0])
    assert pytest.approx(M.T, rel=1e-12, abs=1e-14) == M
    assert np.linalg.eigvalsh(M).min() > 0


@robots
@seeds
def test_forward_undoes_inverse_dynamics(robot: Module, seed: int) -> None:
    model = interpreted(robot)
    q, u = bent_state(model, seed)
    acceleration = np.random.default_rng(seed).normal(size=model.n_u)
    force = model.inverse_dynamics(q, u, acceleration)
    assert force == pytest.approx(model.mass_matrix(q) @ acceleration + model.bias(q, u), rel=1e-11, abs=1e-10)
    assert model.forward_dynamics(q, u, force) == pytest.approx(acceleration, rel=1e-8, abs=1e-8)


@robots
@seeds
def test_power_is_the_rate_of_energy(robot: Module, seed: int) -> None:
    """u' is any: the force that makes it is found by inverse dynamics."""
    model = interpreted(robot)
    q, u = bent_state(model, seed)
    u_dot = np.random.default_rng(seed).normal(size=model.n_u)
    power = model.inverse_dynamics(q, u, u_dot) @ u
    rate = rate_of(model, q, u, u_dot, lambda q, u: model.kinetic_energy(q, u) + model.potential_energy(q))
    assert rate == pytest.approx(power, rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("robot", [PLANAR, SPATIAL], ids=["planar", "spatial"])
def test_gravity_is_what_the_bias_lacks_without_it(robot: Module) -> None:
    model = interpreted(robot)
    free = interpreted(robot.model_copy(update={"gravity_m_s2": tuple(0.0 for _ in robot.gravity_m_s2)}))
    q, u = bent_state(model, 8)
    assert model.bias(q, u) - free.bias(q, u) == pytest.approx(model.gravity_force(q), abs=1e-11)


@pytest.mark.parametrize(
    "robot",
    [
        PLANAR,
        LOADED,
        spatial_robot(base="fixed", gravity_m_s2=[1.0, -2.0, 3.0]),
        spatial_robot(base="fixed", name="fixed_tool", second=TOOL | STRETCH),
    ],
)
@seeds
def test_the_bias_is_that_of_lagranges_equations(robot: Module, seed: int) -> None:
    """d/dt dT/du - dT/dq + dV/dq, where u = q'."""
    tree = Tree(robot)
    dynamics = Dynamics(tree)
    T, V = dynamics.kinetic_energy(), dynamics.potential_energy()
    lagrange = ca.jtimes(ca.gradient(T, tree.u), tree.q, tree.u) - ca.gradient(T, tree.q) + ca.gradient(V, tree.q)
    both = ca.Function("both", [tree.q, tree.u], [dynamics.bias, lagrange])
    bias, expected = (np.array(h).ravel() for h in both(*bent_state(interpreted(robot), seed)))
    assert bias == pytest.approx(expected, rel=1e-10, abs=1e-10)


@robots
@seeds
def test_places_are_where_brute_force_has_them(robot: Module, seed: int) -> None:
    model = interpreted(robot)
    brute, bodies = BruteForce(robot, model), {b.name: b for b in robot.bodies}
    q, u = bent_state(model, seed)
    for point in robot.points:
        R, p = brute.poses(q)[point.body]
        r, R_BS, arm = brute.place(bodies[point.body], spatial(point.position_m), q)
        motion = model.point(point.name, q, u)
        assert motion.position == pytest.approx(p + R @ (r + R_BS @ arm), abs=1e-12)
        assert motion.rotation == pytest.approx(R @ R_BS, abs=1e-12)


@robots
@seeds
def test_twists_jacobians_and_drift_of_places_are_derivatives(robot: Module, seed: int) -> None:
    model = interpreted(robot)
    q, u = bent_state(model, seed)
    u_dot = np.random.default_rng(seed).normal(size=model.n_u)
    for point in robot.points:
        name = point.name
        _, R, twist, J, drift = (x.copy() for x in model.point(name, q, u))
        moved = rate_of(model, q, u, u_dot, lambda q, u, n=name: model.point(n, q, u).position)
        turned = R.T @ rate_of(model, q, u, u_dot, lambda q, u, n=name: model.point(n, q, u).rotation)
        assert twist[:3] == pytest.approx(moved, rel=1e-7, abs=1e-7)
        assert R.T @ twist[3:] == pytest.approx([turned[2, 1], turned[0, 2], turned[1, 0]], rel=1e-7, abs=1e-7)
        assert J @ u == pytest.approx(twist, abs=1e-12)
        accelerated = rate_of(model, q, u, u_dot, lambda q, u, n=name: model.point(n, q, u).twist)
        assert J @ u_dot + drift == pytest.approx(accelerated, rel=1e-6, abs=1e-5)


@robots
def test_the_mass_centre_moves_with_its_velocity_and_carries_the_momentum(robot: Module) -> None:
    model = interpreted(robot)
    q, u = bent_state(model, 4)
    _, velocity = (x.copy() for x in model.centre_of_mass(q, u))
    moved = rate_of(model, q, u, 0 * u, lambda q, u: model.centre_of_mass(q, u)[0])
    assert velocity == pytest.approx(moved, abs=1e-8)
    mass = sum(b.mass_kg + (_beam(b.flexible) if b.flexible else 0.0) for b in robot.bodies)
    assert model.momentum(q, u)[:3] == pytest.approx(mass * velocity, abs=1e-12)


def _beam(link: Flexible) -> float:
    return link.line_density_kg_m * link.length_m + link.tip_mass_kg


@pytest.mark.parametrize("robot", [spatial_robot(name="free_robot"), UNTWISTED], ids=["spatial", "untwisted"])
@seeds
def test_momentum_and_energy_of_a_robot_that_floats_freely_do_not_change(robot: Module, seed: int) -> None:
    """Their rates along its motion, differentiated symbolically: to rounding of what they are made of."""
    tree = Tree(robot)
    dynamics = Dynamics(tree)
    x = ca.vertcat(tree.q, tree.u)
    u_dot = dynamics.forward(ca.SX.zeros(tree.u.numel()))
    kept = ca.vertcat(dynamics.momentum(), dynamics.kinetic_energy() + dynamics.potential_energy())
    rates = ca.Function("rates", [tree.q, tree.u], [ca.jtimes(kept, x, ca.vertcat(tree.q_dot, u_dot)), u_dot])
    rate, acceleration = (np.array(y).ravel() for y in rates(*bent_state(interpreted(robot), seed)))
    assert rate == pytest.approx(np.zeros(7), abs=1e-12 * np.abs(acceleration).max())


@pytest.mark.parametrize("steps", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_robot_that_floats_freely_keeps_momentum_and_energy_while_it_moves(steps: int) -> None:
    model = Model(UNTWISTED)
    q, u = bent_state(model, 1, bend=0.01)
    still = np.zeros(model.n_u)
    momentum = model.momentum(q, u).copy()
    energy = model.kinetic_energy(q, u) + model.potential_energy(q)
    for _ in range(steps):
        q, u = model.rk4(q, u, still, 5e-5)
    assert model.momentum(q, u) == pytest.approx(momentum, rel=1e-8)
    assert model.kinetic_energy(q, u) + model.potential_energy(q) == pytest.approx(energy, rel=1e-6)


@pytest.mark.parametrize("steps", [10_000, pytest.param(60_000, marks=pytest.mark.slow)])
def test_an_arm_in_the_plane_keeps_energy_and_angular_momentum_about_its_joint(steps: int) -> None:
    model = Model(planar_arm([flexible(1.0, 1), flexible(0.5, 1)], name="free_arm"))
    q, u = np.array([0.0, 0.5, 0.02, -0.01]), np.array([1.0, -2.0, 0.0, 0.0])
    momentum, still = model.momentum(q, u)[5], np.zeros(4)
    energy = model.kinetic_energy(q, u) + model.potential_energy(q)
    for _ in range(steps):
        q, u = model.rk4(q, u, still, 5e-5)
    assert model.momentum(q, u)[5] == pytest.approx(momentum, rel=1e-9)
    assert model.kinetic_energy(q, u) + model.potential_energy(q) == pytest.approx(energy, rel=1e-8)


# --- the rigid link as a limit


def rod(name: str, length: float, dimension: str = "planar") -> dict[str, Any]:
    """A rigid body of the same mass as a flexible link."""
    mass = LINE_DENSITY * length
    across = mass * length**2 / 12
    inertia = across if dimension == "planar" else [2e-4 * length, across, across, 0.0, 0.0, 0.0]
    return {"name": name, "mass_kg": mass, "com_m": [length / 2, 0.0], "inertia_kg_m2": inertia}


def rigid_twin(module: Module, *lengths: float) -> Module:
    content = json.loads(module.model_dump_json())
    links = [rod(b["name"], L, module.dimension) for b, L in zip(content["bodies"][1:], lengths, strict=True)]
    return Module.model_validate({**content, "name": f"{module.name}_rigid", "bodies": [content["bodies"][0], *links]})


def test_a_link_without_modes_is_a_rod() -> None:
    arm = planar_arm([flexible(1.0, 0), flexible(0.5, 0)], gravity_m_s2=[0.0, -9.81])
    bent, rigid = interpreted(arm), interpreted(rigid_twin(arm, 1.0, 0.5))
    for q, u in np.random.default_rng(1).normal(size=(10, 2, 2)):
        assert bent.mass_matrix(q) == pytest.approx(rigid.mass_matrix(q), rel=1e-12)
        assert bent.bias(q, u) == pytest.approx(rigid.bias(q, u), rel=1e-11, abs=1e-12)
        assert bent.potential_energy(q) == pytest.approx(rigid.potential_energy(q), rel=1e-12)
        assert bent.momentum(q, u) == pytest.approx(rigid.momentum(q, u), rel=1e-12, abs=1e-14)


def test_a_spatial_link_without_modes_is_a_rod() -> None:
    link = {"length_m": 1.0, "line_density_kg_m": LINE_DENSITY, "polar_inertia_kg_m": 2e-4, "modes_y": 0}
    content = {
        "name": "rod",
        "dimension": "spatial",
        "base": "floating",
        "bodies": [{**GROUND, "inertia_kg_m2": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]}, {"name": "link", "flexible": link}],
        "joints": [{"name": "joint", "parent": "ground", "child": "link", "axis": [1.0, 1.0, 0.0]}],
    }
    arm = Module.model_validate(content)
    bent, rigid = interpreted(arm), interpreted(rigid_twin(arm, 1.0))
    q, u = bent_state(bent, 2)
    assert bent.mass_matrix(q) == pytest.approx(rigid.mass_matrix(q), rel=1e-12, abs=1e-14)
    assert bent.bias(q, u) == pytest.approx(rigid.bias(q, u), rel=1e-11, abs=1e-12)


@pytest.mark.slow
def test_a_very_stiff_arm_moves_as_a_rigid_one() -> None:
    arm = planar_arm([flexible(1.0, 2, ei_n_m2=1e5), flexible(0.5, 1, ei_n_m2=1e5)], gravity_m_s2=[0.0, -9.81])
    stiff = Model(arm.model_copy(update={"name": "stiff_arm"}))
    rigid = Model(rigid_twin(arm, 1.0, 0.5))
    torque = np.array([0.5, -0.2])
    q, u, p, v = np.zeros(5), np.zeros(5), np.zeros(2), np.zeros(2)
    for _ in range(40_000):
        q, u = stiff.rk4(q, u, np.array([*torque, 0.0, 0.0, 0.0]), 1e-5)
        p, v = rigid.rk4(p, v, torque, 1e-5)
    assert abs(p[0]) > 0.5
    assert q[:2] == pytest.approx(p, abs=2e-5)
    assert np.abs(q[2:]).max() < 1e-5


# --- bending


def test_spinning_stiffens_a_link() -> None:
    """K = K_E + w^2 (K_G - H_ff) (Bonaventura 2002, eq. 125): without foreshortening it would soften."""
    model, spin = interpreted(planar_arm([flexible(1.0, 2)])), 3.0
    u, step = np.array([spin, 0.0, 0.0]), 1e-4
    K = np.array([(model.bias(e, u).copy() - model.bias(-e, u)) / (2 * step) for e in step * np.eye(3)])[1:, 1:]
    K_E = EI * np.diag([12.3623633683262, 485.518818513371])
    K_G = LINE_DENSITY / 2 * np.array([[2.38667274821651, -1.37171056689486], [-1.37171056689486, 12.9564497281511]])
    assert pytest.approx(K_E + spin**2 * (K_G - LINE_DENSITY * np.eye(2)), rel=1e-6) == K
    assert K[0, 0] > K_E[0, 0]


def test_a_cubic_shape_bends_under_a_tip_load_as_the_beam_does() -> None:
    link = flexible(2.0, 1, shapes="polynomial", polynomials=[[3.0, -1.0]])
    model = interpreted(planar_arm([link]))
    load, still = 0.01, np.zeros(2)
    J = model.point("tip", still, still).jacobian.copy()
    amplitude = load * J[1, 1] / stiffness(model)[1, 1]
    assert J[1, 1] * amplitude == pytest.approx(load * 2.0**3 / (3 * EI), rel=1e-7)
    assert J[5, 1] * amplitude == pytest.approx(load * 2.0**2 / (2 * EI), rel=1e-7)


@pytest.mark.parametrize(
    ("shapes", "at_tip"),
    [("cantilever", (2, 3)), ("pinned_free", (2, 3)), ("pinned_pinned", (2, 4)), ("clamped_clamped", (0, 1))],
)
def test_shapes_meet_their_end_conditions_in_all_six_modes(shapes: str, at_tip: tuple[int, ...]) -> None:
    L = 0.8
    link = Flexible(length_m=L, line_density_kg_m=1.0, ei_n_m2=1.0, modes_y=6, shapes=shapes)
    ends = np.array([0.0, L])
    for shape in bending_shapes(link):
        assert [shape(ends, d)[0] for d in (0, 1)] == pytest.approx([0, 0], abs=1e-12 * shape.b)
        assert [shape(ends, d)[1] / shape.b**d for d in at_tip] == pytest.approx([0, 0], abs=1e-12)
        if shapes.startswith("pinned"):
            assert shape(ends, 2)[0] / shape.b**2 == pytest.approx(0, abs=1e-12)
        for d in (0, 1, 2):
            slope = (shape(ends / 2 + 1e-6, d) - shape(ends / 2 - 1e-6, d)) / 2e-6
            assert shape(ends / 2, d + 1) == pytest.approx(slope, rel=1e-6, abs=1e-6 * shape.b ** (d + 1))
    assert np.linalg.eigvalsh(integrals(link).mass[2:8, 2:8]).min() > 0


def test_a_round_link_has_no_favourite_plane() -> None:
    """Turning the deflection about the link's axis turns the tip with it, to third order."""
    stiff = {"eiy_n_m2": 1.0, "eiz_n_m2": 1.0, "polar_inertia_kg_m": 1e-3}
    link = {"length_m": 1.0, "line_density_kg_m": 1.0, **stiff, "modes_y": 2, "modes_z": 2}
    content = {"dimension": "spatial", "base": "fixed", "bodies": [{"name": "link", "flexible": link}]}
    tip = {"name": "tip", "body": "link", "position_m": [1.0, 0.0, 0.0]}
    model = interpreted(Module.model_validate({"name": "round", **content, "points": [tip]}))
    rng = np.random.default_rng(5)
    y, z = rng.normal(size=(2, 2))
    angle = 0.7
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    errors = []
    for size in (1e-2, 1e-3):
        before = np.concatenate([y, z]) * size
        after = np.concatenate([c * y - s * z, s * y + c * z]) * size
        R, turned = (model.point("tip", q, np.zeros(4)).rotation.copy() for q in (before, after))
        errors.append(np.abs(turn @ R @ turn.T - turned).max())
    assert errors[1] < 2e-3 * errors[0]


def test_twist_vibrates_as_a_shaft_held_at_one_end() -> None:
    model = interpreted(
        Module.model_validate(
            {
                "name": "shaft",
                "dimension": "spatial",
                "base": "fixed",
                "bodies": [
                    {
                        "name": "shaft",
                        "flexible": {
                            "length_m": 1.3,
                            "line_density_kg_m": 2.0,
                            "gj_n_m2": 5.0,
                            "polar_inertia_kg_m": 0.01,
                            "modes_y": 0,
                            "modes_x": 3,
                        },
                    }
                ],
            }
        )
    )
    squares = eigh(stiffness(model), model.mass_matrix(np.zeros(3)), eigvals_only=True)
    assert np.sqrt(squares) == pytest.approx((np.arange(3) + 0.5) * np.pi / 1.3 * np.sqrt(5.0 / 0.01), rel=1e-9)


# --- damping


def damped(**damping: float) -> Module:
    link = flexible(1.0, 2, tip_mass_kg=0.2, shapes="polynomial", polynomials=[[1.0], [0.5, 1.0]], **damping)
    return planar_arm([link])


def test_each_mode_of_the_link_has_the_damping_ratio() -> None:
    model = interpreted(damped(damping_ratio=0.03))
    M, K = model.mass_matrix(np.zeros(3))[1:, 1:].copy(), stiffness(model)[1:, 1:]
    D = np.array([model.bias(np.zeros(3), e).copy() for e in 1e-6 * np.eye(3)])[1:, 1:] / 1e-6
    inverse = np.linalg.inv(M)
    poles = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -inverse @ D]]))
    assert -poles.real / np.abs(poles) == pytest.approx(np.full(4, 0.03), rel=1e-6)


def test_material_damping_is_the_stiffness_times_a_time_and_takes_energy() -> None:
    robot = damped(material_damping_s=2e-3)
    model = interpreted(robot)
    link = robot.bodies[1].flexible
    assert link is not None
    assert integrals(link).damping == pytest.approx(2e-3 * integrals(link).stiffness)
    q, u = bent_state(model, 3)
    u_dot = model.forward_dynamics(q, u, np.zeros(3)).copy()
    rate = rate_of(model, q, u, u_dot, lambda q, u: model.kinetic_energy(q, u) + model.potential_energy(q))
    assert rate == pytest.approx(-u[1:] @ integrals(link).damping @ u[1:], rel=1e-5)


# --- contacts


def test_two_links_in_one_module_are_two_modules_joined_by_a_revolute_contact() -> None:
    first, second = flexible(1.0, 2), flexible(0.5, 2)
    whole = interpreted(planar_arm([first, second]))
    arm = planar_arm([first], name="first")
    content = {"dimension": "planar", "base": "floating", "bodies": [{"name": "link2", "flexible": second}]}
    points = [{"name": "foot", "body": "link2", "position_m": [0.0, 0.0]}]
    loose = Module.model_validate({"name": "second", **content, "points": points})
    elbow = Contact(
        name="elbow",
        kind="revolute",
        first=Side(module="first", point="tip"),
        second=Side(module="second", point="foot"),
    )
    joined = System([arm, loose], [elbow]).contact_set()
    link = arm.bodies[1].flexible
    assert link is not None
    slope = at_section(link, 1.0).slope
    for seed in range(5):
        q, u = bent_state(whole, seed)
        torque = np.random.default_rng(seed).normal(size=2)
        u_dot = whole.forward_dynamics(q, u, np.array([*torque, 0.0, 0.0, 0.0, 0.0])).copy()
        bent, rates = [q[0], *q[2:4]], [u[0], *u[2:4]]
        tip = interpreted(arm).point("tip", bent, rates)
        base = [*tip.position[:2], q[0] + slope @ q[2:4] + q[1]]
        moving = [*tip.twist[:2], u[0] + slope @ u[2:4] + u[1]]
        motion = joined.accelerate(
            [*bent, *base, *q[4:]],
            [*rates, *moving, *u[4:]],
            np.array([torque[0], *(0.0 for _ in range(7))]),
            free_force=[torque[1]],
        )
        expected = [u_dot[0], *u_dot[2:4], u_dot[0] + slope @ u_dot[2:4] + u_dot[1], *u_dot[4:]]
        assert np.delete(motion.acceleration, [3, 4]) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_a_spatial_joint_on_a_bent_and_twisted_link_is_a_revolute_contact() -> None:
    stiff = {"eiy_n_m2": 9.0, "eiz_n_m2": 4.0, "gj_n_m2": 3.0, "polar_inertia_kg_m": 2e-3, "line_density_kg_m": 0.6}
    stiff |= {"shapes": "cantilever"}
    ground = {**GROUND, "inertia_kg_m2": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]}
    first = {"name": "one", "flexible": {**stiff, "length_m": 1.0, "modes_y": 2, "modes_z": 2, "modes_x": 1}}
    second = {"name": "two", "flexible": {**stiff, "length_m": 0.7, "modes_y": 1, "modes_z": 2, "modes_x": 1}}
    shoulder = {"name": "shoulder", "parent": "ground", "child": "one", "axis": [1.0, 1.0, 0.0]}
    place = {"rotation_rad": [0.3, -0.4, 0.5]}
    at = [0.6, 0.02, -0.01]
    elbow = {"name": "elbow", "parent": "one", "child": "two", "origin_m": at, **place}
    foot = {"name": "foot", "body": "two", "position_m": [0.0, 0.0, 0.0]}
    dimension = {"dimension": "spatial"}
    whole = interpreted(
        Module.model_validate(
            {
                **{"name": "whole", "base": "fixed", **dimension, "bodies": [ground, first, second]},
                **{"joints": [shoulder, elbow], "points": [foot]},
            }
        )
    )
    hand = {"name": "hand", "body": "one", "position_m": at, **place}
    arm = {"name": "arm", "base": "fixed", **dimension, "bodies": [ground, first], "joints": [shoulder]}
    loose = {"name": "loose", "base": "floating", **dimension, "bodies": [second], "points": [foot]}
    contact = Contact(
        name="elbow", kind="revolute", first=Side(module="arm", point="hand"), second=Side(module="loose", point="foot")
    )
    system = System([Module.model_validate({**arm, "points": [hand]}), Module.model_validate(loose)], [contact])
    joined = system.contact_set()
    for seed in range(3):
        q, u = bent_state(whole, seed)
        u_dot = whole.forward_dynamics(q, u, np.zeros(whole.n_u)).copy()
        position, R, twist, J, drift = (x.copy() for x in whole.point("foot", q, u))
        quaternion = np.roll(Rotation.from_matrix(R).as_quat(), 1)
        mine, its = [0, *range(2, 7)], range(7, 11)
        motion = joined.accelerate(
            [*q[mine], *position, *quaternion, *q[its]],
            [*u[mine], *twist[:3], *(R.T @ twist[3:]), *u[its]],
            np.zeros(6 + 6 + 4),
        )
        foot_acceleration = J @ u_dot + drift
        expected = [*u_dot[mine], *foot_acceleration[:3], *(R.T @ foot_acceleration[3:]), *u_dot[its]]
        assert motion.acceleration == pytest.approx(expected, rel=1e-8, abs=1e-7)


# --- configuration


def test_amplitudes_come_after_the_joints_and_have_names() -> None:
    assert [c.key for c in positions(PLANAR)][2:] == [
        "link1_y1_m", "link1_y2_m", "link2_y1_m", "link2_y2_m", "link2_y3_m",
    ]  # fmt: skip
    names = [(c.name, c.unit) for c in velocities(SPATIAL)][6:]
    assert names == [
        ("shoulder", "rad/s"), ("elbow", "rad/s"),
        ("first_y1", "m/s"), ("first_y2", "m/s"), ("first_z1", "m/s"), ("first_z2", "m/s"), ("first_z3", "m/s"),
        ("first_x1", "rad/s"), ("second_y1", "m/s"), ("second_y2", "m/s"), ("second_z1", "m/s"),
    ]  # fmt: skip


@robots
def test_a_module_comes_back_from_its_json(robot: Module) -> None:
    assert Module.model_validate(json.loads(robot.model_dump_json())) == robot


def complaint_about(changed: dict[str, Any], body: dict[str, Any] | None = None, **module: Any) -> str:
    content = json.loads(to_json(load("free-flyer")))
    link = {"length_m": 0.3, "line_density_kg_m": 3.0, "ei_n_m2": 5.0, "modes_y": 2, **changed}
    forearm = content["modules"][0]["bodies"][2]
    forearm["flexible"] = {key: value for key, value in link.items() if value is not None}
    forearm.update(body or {})
    content["modules"][0].update(module)
    try:
        Bed.model_validate(content)
    except ValidationError as failure:
        return str(complaint(failure, content))
    return "nothing"


FOREARM = "modules.vehicle.bodies.forearm"
LINK = f"{FOREARM}.flexible"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"length_m": 0.0}, f"{LINK}.length_m = 0.0: expected a number greater than 0"),
        ({"line_density_kg_m": -1.0}, f"{LINK}.line_density_kg_m = -1.0: expected a number greater than 0"),
        ({"ei_n_m2": -5.0}, f"{LINK}.ei_n_m2 = -5.0: expected a number greater than 0"),
        ({"ei_n_m2": None}, f"{LINK}.ei_n_m2 is missing, expected a number in a planar module"),
        ({"eiy_n_m2": 2.0}, f"{LINK}.eiy_n_m2 = 2.0: expected none in a planar module"),
        ({"modes_z": 1}, f"{LINK}.modes_z = 1: expected none in a planar module"),
        ({"modes_y": 7}, f"{LINK}.modes_y = 7: expected a number of at most 6"),
        ({"modes_y": 2.5}, f"{LINK}.modes_y = 2.5: expected a whole number"),
        ({"modes_y": None}, f"{LINK}.modes_y is missing, expected a whole number"),
        ({"tip_mass_kg": -0.1}, f"{LINK}.tip_mass_kg = -0.1: expected a number of at least 0"),
        ({"tip_com_m": [0.0, 0.1]}, f"{LINK}.tip_mass_kg = 0.0: expected a mass greater than 0 for a tip"),
        ({"tip_mass_kg": 1.0, "tip_inertia_kg_m2": -1.0}, f"{LINK}.tip_inertia_kg_m2"),
        (
            {"tip_mass_kg": 1.0, "tip_inertia_kg_m2": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]},
            f"{LINK}.tip_inertia_kg_m2 = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]: expected one",
        ),
        ({"modes_stretch": 1}, f"{LINK}.ea_n is missing, expected a number greater than 0 where modes_stretch is 1"),
        ({"rotary_inertia": True}, f"{LINK}.ea_n is missing, expected a number greater than 0 with rotary_inertia"),
        ({"shapes": "cantilver"}, f"{LINK}.shapes = \"cantilver\": expected 'cantilever', "),
        ({"lenght_m": 1.0}, f"{LINK}.lenght_m = 1.0: unknown key, expected one of "),
        (
            {"shapes": "polynomial", "polynomials": [[1.0]]},
            f"{LINK}.polynomials = [[1.0]]: 1 are given, expected none, or one for each of 2 modes",
        ),
        ({"polynomials": [[1.0]]}, f"{LINK}.polynomials = [[1.0]]: expected none with shapes = 'cantilever'"),
        ({"shapes": "polynomial", "polynomials": [[1.0], [2.0]]}, f"{LINK}.polynomials: one is a sum of the others"),
        ({"shapes": "polynomial", "polynomials": 3.0}, f"{LINK}.polynomials = 3.0: expected a list"),
        ({"damping_ratio": -0.1}, f"{LINK}.damping_ratio = -0.1: expected a number of at least 0"),
        ({"damping_ratio": 0.1, "material_damping_s": 1e-3}, f"{LINK}.damping_ratio = 0.1: expected 0 where there is"),
        (
            {"modes_x": 1, "polar_inertia_kg_m": 0.1},
            f"{LINK}.gj_n_m2 = none: expected a number greater than 0 where modes_x",
        ),
        ({"modes_x": 1, "gj_n_m2": 1.0}, f"{LINK}.polar_inertia_kg_m = 0.0: expected a number greater than 0 where"),
    ],
)
def test_a_link_that_cannot_be_is_refused_in_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    assert complaint_about(changed).startswith(sentence)


def test_a_hub_may_weigh_nothing_but_not_less() -> None:
    assert complaint_about({}, {"mass_kg": 0.0, "inertia_kg_m2": 0.0}) == "nothing"
    assert complaint_about({}, {"mass_kg": -1.0}) == f"{FOREARM}.mass_kg = -1.0: expected a number of at least 0"
    assert complaint_about({}, {"inertia_kg_m2": -1.0}).startswith(f"{FOREARM}.inertia_kg_m2 = -1.0: expected a number")


def test_a_line_needs_something_that_resists_turning_about_it() -> None:
    """Twist of a last link would have no inertia at all (Mackay 1988 leaves it out)."""
    link = {"length_m": 1.0, "line_density_kg_m": 1.0, "eiy_n_m2": 1.0, "eiz_n_m2": 1.0, "modes_y": 1, "modes_z": 1}
    content = {"dimension": "spatial", "base": "floating", "bodies": [{"name": "link", "flexible": link}]}
    with pytest.raises(ValidationError, match=r"polar_inertia_kg_m = 0.0: expected a number greater than 0 for a link"):
        Module.model_validate({"name": "line", **content})
