"""Forward dynamics of the two-arm free-flyer, called from Python with NumPy arrays: ours, Pinocchio, MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.result import Result, side_by_side
from granite.config.loader import load
from tests.mrds.model import Model
from tests.peers.mujoco_twin import MujocoTwin
from tests.peers.pinocchio_twin import PinocchioTwin


def measure() -> Iterator[Result]:
    module = load("two-arm-free-flyer").modules[0]
    model, ours = Model(module), PinocchioTwin(module)
    other = MujocoTwin(module)
    rng = np.random.default_rng(0)
    q, u, force = (rng.normal(size=model.n_u) for _ in range(3))
    expected = model.forward_dynamics(q, u, force).copy()
    np.testing.assert_allclose(ours.forward_dynamics(q, u, force), expected, rtol=1e-9)
    np.testing.assert_allclose(other.forward_dynamics(q, u, force), expected, rtol=1e-9)
    run = model.kernel("forward_dynamics").run
    pin_q, pin_v, pin_f = ours._q(q), ours._v(q, u), ours._v(q, force)

    def mj_forward() -> None:
        other.data.qpos[:], other.data.qvel[:], other.data.qfrc_applied[:] = q, u, force
        mujoco.mj_forward(other.model, other.data)

    times = side_by_side(
        {
            "granite": lambda: run((q, u, force)),
            "Pinocchio aba": lambda: pin.aba(ours.model, ours.data, pin_q, pin_v, pin_f),
            "MuJoCo mj_forward": mj_forward,
        }
    )
    mine = times.pop("granite")
    fastest = min(times, key=lambda name: times[name])
    for name, peer in times.items():
        goal, met = ("at most half", mine <= 0.5 * peer) if name == fastest else ("", None)
        yield Result(
            f"forward dynamics, two-arm free-flyer ({model.n_u} DOF)", "us", mine * 1e6, peer * 1e6, name, goal, met
        )
