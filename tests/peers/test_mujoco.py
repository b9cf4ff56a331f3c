"""MuJoCo as referee: every quantity of the model on random trees in random states, and a short flight."""

from __future__ import annotations

import casadi as ca
import mujoco
import numpy as np

from granite.config.loader import load
from granite.config.modules import Module
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from tests.peers.comparison import disagreement
from tests.peers.interpreted import interpreted
from tests.peers.mujoco_twin import MujocoTwin
from tests.peers.random_trees import random_module, random_state

TOLERANCE = 1e-9


def test_every_quantity_agrees(tree: Module) -> None:
    model, twin, rng = interpreted(tree), MujocoTwin(tree), np.random.default_rng(1)
    for _ in range(10):
        for quantity, difference in disagreement(model, twin, random_state(tree, rng)).items():
            assert difference < TOLERANCE, quantity


def test_a_tumbling_flight_ends_where_mujocos_ends() -> None:
    """Both integrate with fourth-order Runge-Kutta, MuJoCo its quaternion by the exponential map."""
    tree = random_module(303, "spatial", "floating", 4)
    model, twin = interpreted(tree), MujocoTwin(tree)
    start = random_state(tree, np.random.default_rng(3))
    gaps = []
    for h in (2e-3, 1e-3):
        twin.move(start.q, start.u)
        twin.model.opt.integrator, twin.model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, h
        q, u = start.q, start.u
        for _ in range(round(0.2 / h)):
            mujoco.mj_step(twin.model, twin.data)
            q, u = model.rk4(q, u, np.zeros(model.n_u), h)
        gaps.append(np.max(np.abs(q[twin.q_order] - twin.data.qpos)))
    assert gaps[1] < 1e-6
    assert gaps[1] < gaps[0] / 8


def test_motors_behind_a_cable_accelerate_as_on_fixed_tendons() -> None:
    arm, rng = load("fixed-dual-arm/cable").modules[0], np.random.default_rng(4)
    assert arm.transmission is not None
    twin, tree, torque = MujocoTwin(arm), Tree(arm), ca.SX.sym("torque", 2)
    pushed = ca.DM(arm.transmission.matrix) @ torque
    forward = ca.Function("forward", [tree.q, tree.u, torque], [Dynamics(tree).forward(pushed)])
    for _ in range(20):
        q, u, tau = rng.normal(size=(3, 2))
        twin.data.ctrl[:] = tau
        expected = twin.forward_dynamics(q, u, np.zeros(2))
        np.testing.assert_allclose(forward(q, u, tau).full().ravel(), expected, rtol=1e-9)
