"""Runs side by side in compiled code, and the environments of Gymnasium that step them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import granite.gym
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.kernels.c_compiler import find_compiler
from granite.rt.loop.clock import VirtualClock
from granite.rt.parallel_runs import ParallelRuns
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="compiled runs need a C compiler")
CHANGES = ["controller.law=demanded_acceleration", "loop.duration_s=1", "safety.tracking_error_m=1000"]
CHANGES += ["devices.motors.simulated.gain_error=0.05", "safety.tracking_error_rad=1000"]
DEMAND = np.array([0.01, -0.01, 0.02, 0.1, -0.1])


def row_of_the_loop(bed: granite.Testbed, seed: int, demanded_from_s: float, t: float) -> tuple[Run, Array]:
    """The row at time t of a run in Python under the demand from some time on."""
    run = Run(bed.model_copy(update={"seed": seed}))
    memory, law = Memory(run.channels, run.ticks), run.stack.law
    control, run.compiled_steps = law.control, None

    def demanding(state: granite.State, reference: granite.Reference) -> granite.Demand:
        law.parameters["acceleration"][:] = DEMAND if state.t > demanded_from_s else 0.0  # type: ignore[attr-defined]
        return control(state, reference)

    law.control = demanding  # type: ignore[method-assign]
    run.execute(VirtualClock(), memory)
    return run, memory.rows[round(t / bed.loop.period_s)]


def test_runs_side_by_side_have_the_bits_of_the_loop():
    """Three seeds under one demand, one of them begun anew in between."""
    bed, seeds = load("free-flyer", CHANGES), [5, 6, 7]
    runs = ParallelRuns(bed, 3, 10)
    for i, seed in enumerate(seeds):
        runs.restart_run(i, seed)
    demanded_from = [runs.time(i) + 0.001 for i in range(3)]
    for k in range(12):
        assert runs.step(DEMAND, [0, 1, 2]) == [None] * 3
        if k == 3:
            seeds[1] = 8
            runs.restart_run(1, 8)
            demanded_from[1] = runs.time(1) + 0.001
    for i, seed in enumerate(seeds):
        run, expected = row_of_the_loop(bed, seed, demanded_from[i], runs.time(i))
        for topic in ("/state", "/command", "/truth"):
            columns = slice(run.channels.topic(topic).start, run.channels.topic(topic).stop)
            assert np.array_equal(runs.last_rows[i, columns], expected[columns], equal_nan=True), (seed, topic)


def test_a_fault_ends_one_run_and_is_named():
    runs = ParallelRuns(load("free-flyer", [*CHANGES, "loop.duration_s=5"]), 2, 10)
    for i in range(2):
        runs.restart_run(i, i + 1)
    ended: dict[int, Reason] = {}
    for _ in range(60):
        going = [i for i in range(2) if i not in ended]
        demands = np.array([[0.0, 0.0, 0.0, 0.0, 20.0], [0.0] * 5])[going]
        ended |= {i: why for i, why in zip(going, runs.step(demands, going), strict=True) if why is not None}
    assert list(ended) == [0]
    assert ended[0] >= 10


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasium_accepts_the_environment():
    check_env(gymnasium.make("granite/Testbed-v0", bed="spot").unwrapped, skip_render_check=True)


def test_many_environments_are_those_of_one_and_begin_anew():
    changes = {"loop.duration_s": 0.3}
    one = granite.gym.TestbedEnv(granite.load("spot", changes), reward="-abs(truth.base_x_m - 1.0)")
    many = granite.gym.TestbedVectorEnv(3, granite.load("spot", changes), reward="-abs(truth.base_x_m - 1.0)")
    first, info = one.reset(seed=4)
    start, _ = many.reset(seed=[1, info["seed"], 2])
    assert np.array_equal(start[1], first)
    actions = np.full((3, 3), 0.2)
    for _ in range(6):
        seen, reward, terminated, truncated, _ = many.step(actions)
        expected, own, _, over, _ = one.step(actions[1])
        if truncated[1]:
            break
    assert over
    assert np.array_equal(seen[1], expected)
    assert reward[1] == own
    assert not terminated.any()
    again, *_ = many.step(actions)
    assert not np.array_equal(again, seen)


def test_what_can_not_be_run_side_by_side_is_refused():
    with pytest.raises(InputError, match="without grips"):
        granite.gym.TestbedEnv("two-arm-catch")
    with pytest.raises(InputError, match=r"no metric or signal 'state\.base_z_m'"):
        granite.gym.TestbedEnv("spot", reward="state.base_z_m")
