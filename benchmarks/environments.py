"""Environments of Gymnasium: closed-loop ticks of many free-flyers per second of one processor."""

from __future__ import annotations

import time
from collections.abc import Iterator

import granite.gym
from benchmarks.result import Result

_ENVIRONMENTS, _STEPS, _TICKS = 1000, 20, 10


def measure() -> Iterator[Result]:
    envs = granite.gym.TestbedVectorEnv(_ENVIRONMENTS, "free-flyer", ticks=_TICKS)
    envs.action_space.seed(1)
    began = time.process_time()
    envs.reset(seed=1)
    reset = time.process_time() - began
    actions = [0.1 * envs.action_space.sample() for _ in range(_STEPS)]
    began = time.process_time()
    for action in actions:
        envs.step(action)
    rate = _ENVIRONMENTS * _STEPS * _TICKS / (time.process_time() - began)
    yield Result(f"{_ENVIRONMENTS} environments", "ticks/s", rate, None, "", "at least 100000", rate >= 1e5)
    yield Result("reset of one", "ms", 1e3 * reset / _ENVIRONMENTS, None, "", "", None)
