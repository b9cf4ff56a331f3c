"""A plan gives the motions that it was made of, and leaves alone what has no task."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from granite.config.loader import load
from granite.controllers.behaviours.leap import Leap
from granite.controllers.behaviours.task_plan import TaskPlan, polynomial_reference
from granite.controllers.behaviours.tasks import CENTRE, TARGET, TaskLayout
from granite.controllers.trajectories.quintic import Quintic
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

RNG = np.random.default_rng(1)
LAYOUT = TaskLayout(load("leap"))
N = LAYOUT.n
Q, U = RNG.normal(size=N), RNG.normal(size=N)


def path(n: int) -> Quintic:
    start, end = (tuple(RNG.normal(size=(3, n))) for _ in range(2))
    return Quintic(2.0, 3.0, start, end)


def reference(plan: TaskPlan, t: float) -> list[np.ndarray]:
    results = polynomial_reference(LAYOUT, ca.SX(t), ca.SX(Q), ca.SX(U), ca.SX(plan.numbers))
    return [np.array(ca.evalf(result)).ravel() for result in results]


@pytest.mark.parametrize("t", [2.0, 2.7, 4.99, 5.0, 6.5])
def test_coordinates_follow_their_paths_and_the_others_stay_where_they_are(t: float):
    plan, positions, rates = TaskPlan(LAYOUT, 3), path(4), path(1)
    plan.follow([5, 1], positions, 2.0, of=[0, 3])
    plan.follow_rate([7], rates, 0.5)
    q, u, a, task = reference(plan, t)
    for i, column in ((5, 0), (1, 3)):
        motion = [level[column] for level in positions.at(t)]
        assert [q[i], u[i], a[i]] == pytest.approx(motion, rel=1e-12, abs=1e-12)
    assert [u[7], a[7]] == pytest.approx([level[0] for level in rates.at(t)[:2]], rel=1e-12, abs=1e-12)
    free = [i for i in range(N) if i not in (5, 1, 7)]
    assert np.array_equal(q[[*free, 7]], Q[[*free, 7]])
    assert np.array_equal(u[free], U[free])
    assert not a[free].any()
    assert task[0] == 3
    assert task[[6, 2, 8]].tolist() == [2.0, 2.0, 0.5]
    assert np.count_nonzero(task) == 4


@pytest.mark.parametrize("t", [2.0, 3.1, 5.5])
def test_targets_follow_their_paths_in_the_plane(t: float):
    plan, motion = TaskPlan(LAYOUT, 0), path(2)
    plan.aim(CENTRE, motion, 10.0)
    *_, task = reference(plan, t)
    at = 1 + N + TARGET * [target.name for target in LAYOUT.targets].index(CENTRE)
    assert task[at : at + TARGET] == pytest.approx([*np.concatenate(motion.at(t)), 10.0], rel=1e-12, abs=1e-12)
    assert not np.delete(task, range(at, at + TARGET)).any()


@pytest.mark.slow
def test_a_sleeping_state_looks_at_its_conditions_only_at_events(monkeypatch: pytest.MonkeyPatch):
    """In each state the first tick, the last one, and those in which a grip reports something else."""
    looked: list[str] = []
    leave = Leap.leave_turn
    monkeypatch.setattr(Leap, "leave_turn", lambda self, now: looked.append(self.name) or leave(self, now))
    run = Run(load("leap", ["loop.duration_s=16"]))
    memory = Memory(run.channels, run.ticks)
    run.execute(VirtualClock(), memory)
    code = list(run.bed.behaviour.state_names).index("turn")
    assert np.count_nonzero(memory.rows[:, run.channels.column("/reference", "machine_state")] == code) > 100
    assert 2 <= len(looked) <= 4
