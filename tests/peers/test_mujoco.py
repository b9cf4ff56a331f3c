"""MuJoCo as referee: every quantity of the model on random trees in random states, and a short flight."""

from __future__ import annotations

import mujoco
import numpy as np

from granite.config.modules import Module
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
