"""A thousand Runge-Kutta steps of the two-arm free-flyer in one call: ours, and MuJoCo by `mj_step` and by `rollout`.

The step is the classical Runge-Kutta method in both, under a constant force: four evaluations of the dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import mujoco
import mujoco.rollout
import numpy as np

from benchmarks.forward_dynamics import without_energy
from benchmarks.result import Result, side_by_side
from granite.config.loader import load
from granite.kernels.compilation import compile_functions
from tests.peers.mujoco_twin import MujocoTwin
from tests.support.dense_model import functions

STEPS, H = 1000, 1e-3


def measure() -> Iterator[Result]:
    module = load("two-arm-free-flyer").modules[0]
    other = MujocoTwin(module)
    without_energy(other)
    other.model.opt.timestep, other.model.opt.integrator = H, mujoco.mjtIntegrator.mjINT_RK4
    rng = np.random.default_rng(0)
    q, u, force = (0.3 * rng.normal(size=other.model.nv) for _ in range(3))
    x = np.concatenate([q, u])
    run = compile_functions("many_steps", [_steps(next(f for f in functions(module) if f.name() == "rk4"))])[
        "steps"
    ].run
    in_mujoco = q[other.q_order], u[other.u_order], force[other.u_order]

    def reset() -> None:
        mujoco.mj_resetData(other.model, other.data)
        other.data.qpos[:], other.data.qvel[:], other.data.qfrc_applied[:] = in_mujoco

    def mj_step() -> None:
        reset()
        for _ in range(STEPS):
            mujoco.mj_step(other.model, other.data)

    def mj_step_at_once() -> None:
        reset()
        mujoco.mj_step(other.model, other.data, nstep=STEPS)

    mj_step()
    order = [*other.q_order, *(len(q) + i for i in other.u_order)]
    theirs = np.concatenate([other.data.qpos, other.data.qvel])
    np.testing.assert_allclose(run((x, force))[order], theirs, rtol=1e-9, atol=1e-9)
    state = np.zeros(mujoco.mj_stateSize(other.model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    reset()
    mujoco.mj_getState(other.model, other.data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    controls = np.tile(in_mujoco[2], (1, STEPS, 1))
    with mujoco.rollout.Rollout(nthread=0) as rollout:

        def at_once() -> tuple[np.ndarray, np.ndarray]:
            return rollout.rollout(other.model, other.data, state, controls, control_spec=spec)

        final = at_once()[0][0, -1]
        np.testing.assert_allclose(final[1 : 1 + len(theirs)], theirs, rtol=1e-9, atol=1e-9)
        calls = {
            "granite": lambda: run((x, force)),
            "MuJoCo mj_step, one by one": mj_step,
            "MuJoCo mj_step, nstep": mj_step_at_once,
            "MuJoCo rollout": at_once,
        }
        times = side_by_side(calls, number=1, rounds=60)
    mine = times.pop("granite")
    fastest = min(times, key=lambda name: times[name])
    for name, peer in times.items():
        goal, met = ("at most half", mine <= 0.5 * peer) if name == fastest else ("", None)
        what = f"RK4 step, {STEPS} in one call, two-arm free-flyer"
        yield Result(what, "us", mine / STEPS * 1e6, peer / STEPS * 1e6, name, goal, met)


def _steps(step: ca.Function) -> ca.Function:
    """(x, force) -> x after all steps: a loop in the generated code."""
    x, force = ca.MX.sym("x", step.size1_in(0)), ca.MX.sym("force", step.size1_in(1))
    forces, lengths = ca.repmat(force, 1, STEPS), ca.DM.ones(1, STEPS) * H
    return ca.Function("steps", [x, force], [step.fold(STEPS)(x, forces, lengths)])
