"""Kinematics: twists are the time derivatives of poses, Jacobians the derivatives of points."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from granite.config.modules import Body, Joint, Module, Point
from granite.mrds.symbols import rotation, rotation_of_quaternion
from granite.mrds.tree import Tree
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import Array, has_quaternion, random_module, random_state, rotation_of_joint

KINDS = [(d, b) for d in ("planar", "spatial") for b in ("fixed", "floating")]
STEP = 1e-5


@pytest.fixture(params=KINDS, ids=lambda kind: "-".join(kind))
def tree(request: pytest.FixtureRequest) -> Module:
    return random_module(500, *request.param, 5)


def central_difference(along: Callable[[float], Array]) -> Array:
    return (along(STEP) - along(-STEP)) / (2 * STEP)


def unskewed(W: Array) -> Array:
    """The vector w of which W is the cross-product matrix."""
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def test_body_twists_are_the_time_derivatives_of_body_poses(tree: Module) -> None:
    symbols = Tree(tree)
    frames = [body.frame for body in symbols.bodies]
    poses = ca.Function("poses", [symbols.q], [e for f in frames for e in (f.R_WB, symbols.origin + f.p_OB)])
    twists = ca.Function("twists", [symbols.q, symbols.u], [e for f in frames for e in (f.w, f.v)])
    rate = ca.Function("rate", [symbols.q, symbols.u], [symbols.q_dot])
    q, u, *_ = random_state(tree, np.random.default_rng(5))
    q_dot = rate(q, u).full().ravel()
    for i in range(len(symbols.bodies)):
        R, w, v = (np.array(x) for x in (poses(q)[2 * i], *twists(q, u)[2 * i : 2 * i + 2]))
        R_dot, p_dot = (
            central_difference(lambda t, e=2 * i + part: np.array(poses(q + t * q_dot)[e])) for part in (0, 1)
        )
        assert unskewed(R.T @ R_dot) == pytest.approx(w.ravel(), abs=1e-8)
        assert R.T @ p_dot == pytest.approx(v, abs=1e-8)


def test_point_jacobian_and_drift_are_derivatives(tree: Module) -> None:
    model = interpreted(tree)
    q, u, acceleration, _ = random_state(tree, np.random.default_rng(6))
    q_dot = model.position_rate(q, u).copy()
    for point in tree.points:
        _, R, twist, jacobian, drift = (x.copy() for x in model.point(point.name, q, u))

        def at(t: float, name: str = point.name) -> Array:
            return model.point(name, q + t * q_dot, u + t * acceleration).position.copy()

        def twist_at(t: float, name: str = point.name) -> Array:
            return model.point(name, q + t * q_dot, u + t * acceleration).twist.copy()

        assert twist[:3] == pytest.approx(central_difference(at), abs=1e-7)
        assert twist == pytest.approx(jacobian @ u, abs=1e-12)
        assert jacobian @ acceleration + drift == pytest.approx(central_difference(twist_at), abs=1e-6)
        assert pytest.approx(np.eye(3), abs=1e-12) == R @ R.T
        for k, direction in enumerate(np.eye(model.n_u)):
            along = model.position_rate(q, direction).copy()
            moved = central_difference(lambda t, d=along, n=point.name: model.point(n, q + t * d, u).position.copy())
            assert jacobian[:3, k] == pytest.approx(moved, abs=1e-8)


def test_the_mass_centre_moves_with_its_velocity(tree: Module) -> None:
    model = interpreted(tree)
    q, u, *_ = random_state(tree, np.random.default_rng(7))
    q_dot = model.position_rate(q, u).copy()
    moved = central_difference(lambda t: model.centre_of_mass(q + t * q_dot, u)[0].copy())
    assert model.centre_of_mass(q, u)[1] == pytest.approx(moved, abs=1e-8)


def test_the_quaternion_turns_with_the_body_rate_and_keeps_its_length() -> None:
    """One turn about an axis fixed in the body, in closed form: q(t) = q0 * (cos wt/2, n sin wt/2)."""
    module = random_module(501, "spatial", "floating", 1)
    symbols = Tree(module)
    rate = ca.Function("rate", [symbols.q, symbols.u], [symbols.q_dot])
    q, u, *_ = random_state(module, np.random.default_rng(8))
    q_dot = rate(q, u).full().ravel()
    assert has_quaternion(module)
    assert np.dot(q[3:7], q_dot[3:7]) == pytest.approx(0.0, abs=1e-14)
    w = np.linalg.norm(u[3:6])

    def turned(t: float) -> Array:
        w0, v0 = q[3], q[4:7]
        c, s = np.cos(w * t / 2), np.sin(w * t / 2) * u[3:6] / w
        return np.array([w0 * c - v0 @ s, *(w0 * s + c * v0 + np.cross(v0, s))])

    assert q_dot[3:7] == pytest.approx(central_difference(turned), abs=1e-9)


def test_projection_gives_back_a_unit_quaternion_and_leaves_the_rest() -> None:
    module = random_module(502, "spatial", "floating", 2)
    symbols = Tree(module)
    project = ca.Function("project", [symbols.q], [symbols.projected()])
    q, *_ = random_state(module, np.random.default_rng(9))
    stretched = q.copy()
    stretched[3:7] *= 1.01
    assert project(stretched).full().ravel() == pytest.approx(q, abs=1e-14)


def test_rotations_are_right_handed_and_orthogonal() -> None:
    rng = np.random.default_rng(10)
    for axis in (*np.eye(3), *-np.eye(3), *rng.normal(size=(5, 3))):
        n = axis / np.linalg.norm(axis)
        angle = rng.uniform(-3, 3)
        R = np.array(ca.DM(ca.evalf(rotation(tuple(n), ca.SX(angle)))))
        half = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * n)])
        assert pytest.approx(np.eye(3), abs=1e-14) == R @ R.T
        assert R @ n == pytest.approx(n, abs=1e-14)
        assert unskewed(R) == pytest.approx(np.sin(angle) * n, abs=1e-14)
        assert np.array(ca.DM(ca.evalf(rotation_of_quaternion(ca.SX(half))))) == pytest.approx(R, abs=1e-14)


def test_joint_frames_turn_by_roll_then_pitch_then_yaw() -> None:
    def body(name: str) -> Body:
        return Body(name=name, mass_kg=1.0, com_m=(0.0, 0.0, 0.0), inertia_kg_m2=(1, 1, 1, 0, 0, 0))

    joint = Joint(
        name="j", parent="a", child="b", origin_m=(0.1, 0.2, 0.3), rotation_rad=(0.4, -0.7, 1.1), axis=(0, 0, 1)
    )
    point = Point(name="p", body="b", position_m=(1.0, 2.0, 3.0))
    module = Module(
        name="m", dimension="spatial", base="fixed", gravity_m_s2=(0, 0, 0),
        bodies=(body("a"), body("b")), joints=(joint,), points=(point,),
    )  # fmt: skip
    symbols = Tree(module)
    place = ca.Function("place", [symbols.q], [symbols.point_position("b", point.position_m)])
    expected = np.array(joint.origin_m) + rotation_of_joint(joint) @ point.position_m
    assert place(0.0).full().ravel() == pytest.approx(expected, abs=1e-14)
    x_axis = [np.cos(1.1) * np.cos(0.7), np.sin(1.1) * np.cos(0.7), np.sin(0.7)]
    assert rotation_of_joint(joint)[:, 0] == pytest.approx(x_axis, abs=1e-14)


def test_planar_motion_costs_only_what_it_needs() -> None:
    """z, roll and pitch are structural zeros."""
    symbols = Tree(random_module(503, "planar", "floating", 3))
    for body in symbols.bodies:
        assert body.frame.R_WB.nnz() == 5
        assert body.p_OC.sparsity().row() == [0, 1]
        assert body.frame.w.sparsity().row() == [2]
        assert body.v_WC.sparsity().row() == [0, 1]
