"""Testbeds as environments of Gymnasium, for learned policies: one, or many side by side in compiled code.

    import gymnasium
    import granite.gym

    env = gymnasium.make("granite/Testbed-v0", bed="free-flyer")
    envs = gymnasium.make_vec("granite/Testbed-v0", num_envs=64, bed="free-flyer")

A policy demands accelerations of the controlled coordinates, each in units of its largest one; sensors, estimator,
inverse dynamics, valves and guard are those of the testbed. Observation and reward are expressions of its signals, as
in a tuning session. An episode is terminated by a fault, and truncated at `loop.duration_s`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from granite.config.loader import changed, load
from granite.config.optional_packages import required
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import largest_accelerations
from granite.rt.parallel_runs import ParallelRuns, refuse_switching
from granite.tuning.expressions import Expression, Names

required("gymnasium", "gym")
import gymnasium  # noqa: E402 - after a sentence about the missing package

#: nothing is followed here, so nothing is off its path [m, rad]
_UNLIMITED = 1e6
#: seeds of single runs that a generator draws
_MOST_SEEDS = 2**31 - 1
Info = dict[str, Any]


class _Testbeds:
    """Runs of a testbed, their spaces, observations and rewards.

    Parameters
    ----------
    bed
        A testbed, or the name of one, with its changes.
    n
        How many runs.
    target
        Coordinates to reach, by their keys (`base_x_m`); default: the last waypoint of the testbed. The others stay
        where they begin.
    observation
        Expressions; default: deviation of each coordinate from the target, and its rate.
    reward
        An expression; default: minus the deviations, in metres and radians, summed.
    fault_reward
        Added where a fault ends the episode.
    ticks
        Of one step of the environment.
    """

    def __init__(
        self,
        bed: Testbed | str,
        n: int,
        target: Mapping[str, float] | None,
        observation: Sequence[str] | None,
        reward: str | None,
        fault_reward: float,
        ticks: int,
    ) -> None:
        whole = load(bed) if isinstance(bed, str) else bed
        refuse_switching(whole)
        self.bed = changed(
            whole,
            {
                "controller.law": {"kind": "demanded_acceleration"},
                "behaviour": {"kind": "waypoints"},
                "safety.tracking_error_m": _UNLIMITED,
                "safety.tracking_error_rad": _UNLIMITED,
            },
        )
        self.runs, self._fault_reward = ParallelRuns(self.bed, n, ticks), fault_reward
        channels, model = self.runs.run.channels, ControlModel(self.bed)
        self._columns = {
            f"{topic.name[1:]}.{value.key}": topic.start + i
            for topic in channels.topics
            for i, (_, value) in enumerate(topic.values)
        }
        names = Names((), self._columns)
        goal = _goal(whole, self.bed, target)
        off = [f"state.{key} - ({value!r})" for key, value in goal.items()]
        rates = [f"state.{c.key}" for c in self.bed.known.velocities]
        texts = [*off, *rates] if observation is None else observation
        self._observation = [Expression(text, names, of_ticks=True) for text in texts]
        misses = " + ".join(f"abs(truth.{key} - ({value!r}))" for key, value in goal.items())
        self._reward = Expression(reward or f"-({misses})", names, of_ticks=True)
        #: of each controlled coordinate [m/s^2, rad/s^2]
        self.largest = largest_accelerations(model)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(texts),), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self.largest),), np.float64)

    def observe(self, runs: Sequence[int]) -> Array:
        """One row for each of these runs."""
        return np.stack([self._values(expression, runs) for expression in self._observation], axis=1)

    def step(self, actions: NDArray[Any], runs: Sequence[int]) -> tuple[Array, NDArray[np.bool_], list[Reason | None]]:
        """Rewards, which episodes are over, and the faults that ended some."""
        reasons = self.runs.step(np.clip(actions, -1.0, 1.0) * self.largest, runs)
        rewards = self._values(self._reward, runs).copy()
        rewards[[reason is not None for reason in reasons]] += self._fault_reward
        last = self.bed.loop.duration_s - 1.5 * self.bed.loop.period_s
        return rewards, np.array([self.runs.time(i) >= last for i in runs]), reasons

    def _values(self, expression: Expression, runs: Sequence[int]) -> Array:
        rows = self.runs.last_rows[list(runs)]
        return np.broadcast_to(expression.values(lambda name: rows[:, self._columns[name]]), len(runs))


class TestbedEnv(gymnasium.Env):  # type: ignore[misc]
    """One testbed; see `granite.gym` and, for the arguments, `TestbedVectorEnv`."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        bed: Testbed | str = "free-flyer",
        target: Mapping[str, float] | None = None,
        observation: Sequence[str] | None = None,
        reward: str | None = None,
        fault_reward: float = -100.0,
        ticks: int = 10,
    ) -> None:
        self._beds = _Testbeds(bed, 1, target, observation, reward, fault_reward, ticks)
        self.observation_space, self.action_space = self._beds.observation_space, self._beds.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, Info]:
        """Begin an episode; the generator of the environment draws the seed of the run."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(1, _MOST_SEEDS))
        self._beds.runs.restart_run(0, drawn)
        return self._beds.observe([0])[0], {"seed": drawn}

    def step(self, action: NDArray[Any]) -> tuple[Array, float, bool, bool, Info]:
        """One step of the environment."""
        rewards, over, (reason,) = self._beds.step(np.asarray(action)[None], [0])
        info = {"t_s": float(self._beds.runs.time(0)), **({"fault": reason.name.lower()} if reason else {})}
        return self._beds.observe([0])[0], float(rewards[0]), reason is not None, bool(over[0]), info


class TestbedVectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Many runs of a testbed at once.

    Parameters
    ----------
    num_envs
        How many.
    bed, target, observation, reward, fault_reward, ticks
        The testbed; coordinates to reach by their keys; expressions of signals; added to the reward where a fault ends
        an episode; ticks of a step.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        bed: Testbed | str = "free-flyer",
        target: Mapping[str, float] | None = None,
        observation: Sequence[str] | None = None,
        reward: str | None = None,
        fault_reward: float = -100.0,
        ticks: int = 10,
    ) -> None:
        self._beds = beds = _Testbeds(bed, num_envs, target, observation, reward, fault_reward, ticks)
        self.num_envs, self._all = num_envs, list(range(num_envs))
        self.single_observation_space, self.single_action_space = beds.observation_space, beds.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(beds.observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(beds.action_space, num_envs)
        self._is_over = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, Info]:
        """Begin all episodes; with a list, the seed of each run."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        seeds = [self._drawn() for _ in self._all] if seed is None or isinstance(seed, int) else list(seed)
        for i, run_seed in zip(self._all, seeds, strict=True):
            self._beds.runs.restart_run(i, run_seed)
        self._is_over[:] = False
        return self._beds.observe(self._all), {}

    def step(self, actions: NDArray[Any]) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], Info]:
        """One step of those whose episode goes on; the others begin another one."""
        running = [i for i in self._all if not self._is_over[i]]
        for i in np.flatnonzero(self._is_over).tolist():
            self._beds.runs.restart_run(i, self._drawn())
        rewards, terminated, truncated = np.zeros(self.num_envs), self._is_over & False, self._is_over & False
        if running:
            rewards[running], truncated[running], reasons = self._beds.step(np.asarray(actions)[running], running)
            terminated[running] = [reason is not None for reason in reasons]
        self._is_over = terminated | truncated
        return self._beds.observe(self._all), rewards, terminated, truncated, {}

    def _drawn(self) -> int:
        return int(self.np_random.integers(1, _MOST_SEEDS))


def _goal(whole: Testbed, bed: Testbed, target: Mapping[str, float] | None) -> dict[str, float]:
    """Where every coordinate is to be, by its key."""
    waypoints = getattr(whole.behaviour, "waypoints", ())
    wanted = dict(waypoints[-1].target) if target is None and waypoints else dict(target or {})
    return {c.key: float(wanted.get(c.key, bed.simulation.initial.get(c.key, 0.0))) for c in bed.known.positions}


gymnasium.register(
    "granite/Testbed-v0", entry_point="granite.gym:TestbedEnv", vector_entry_point="granite.gym:TestbedVectorEnv"
)
