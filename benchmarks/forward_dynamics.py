"""Forward dynamics of the two-arm free-flyer, called from Python with NumPy arrays: ours, Pinocchio, MuJoCo.

Each peer in its fastest form: Pinocchio with a planar base joint and joints about z, in world convention; MuJoCo
without energies, with the state in its own order.
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.planar_pinocchio import PlanarPinocchio
from benchmarks.result import Result, side_by_side
from granite.config.loader import load
from tests.peers.mujoco_twin import MujocoTwin
from tests.support.dense_model import Model


def measure() -> Iterator[Result]:
    module = load("two-arm-free-flyer").modules[0]
    model, planar, other = Model(module), PlanarPinocchio(module), MujocoTwin(module)
    rng = np.random.default_rng(0)
    q, u, force = (rng.normal(size=model.n_u) for _ in range(3))
    expected = model.forward_dynamics(q, u, force).copy()
    run = model.kernel("forward_dynamics").run
    in_pinocchio = planar.arguments(q, u, force)
    without_energy(other)
    in_mujoco = q[other.q_order], u[other.u_order], force[other.u_order]

    def aba() -> np.ndarray:
        return pin.aba(planar.model, planar.data, *in_pinocchio, pin.Convention.WORLD)

    def mj_forward() -> None:
        other.data.qpos[:], other.data.qvel[:], other.data.qfrc_applied[:] = in_mujoco
        mujoco.mj_forward(other.model, other.data)

    mj_forward()
    np.testing.assert_allclose(planar.accelerations(q, u, aba()), expected, rtol=1e-9)
    np.testing.assert_allclose(other.data.qacc, expected[other.u_order], rtol=1e-9)
    times = side_by_side({"granite": lambda: run((q, u, force)), "Pinocchio aba": aba, "MuJoCo mj_forward": mj_forward})
    mine = times.pop("granite")
    fastest = min(times, key=lambda name: times[name])
    for name, peer in times.items():
        goal, met = ("at most half", mine <= 0.5 * peer) if name == fastest else ("", None)
        yield Result(
            f"forward dynamics, two-arm free-flyer ({model.n_u} DOF)", "us", mine * 1e6, peer * 1e6, name, goal, met
        )


def without_energy(twin: MujocoTwin) -> None:
    """Switch off the energies of MuJoCo, which the tests switch on."""
    twin.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
