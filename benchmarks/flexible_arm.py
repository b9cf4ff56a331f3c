"""Right-hand side of the flexible two-link arm, two modes a link, nothing left out: compiled, and interpreted."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result, side_by_side
from granite.config.loader import load
from tests.support.dense_model import Model

GOAL_US = 3.0


def measure() -> Iterator[Result]:
    module = load("mrds-2a").modules[0]
    compiled, interpreted = Model(module), Model(module)
    q, u, force = np.random.default_rng(0).normal(size=(3, compiled.n_u)) * 0.1
    expected = compiled.forward_dynamics(q, u, force).copy()
    os.environ["GRANITE_NO_COMPILER"] = "1"  # read when a function is compiled
    try:
        np.testing.assert_array_equal(interpreted.forward_dynamics(q, u, force), expected)
    finally:
        del os.environ["GRANITE_NO_COMPILER"]
    fast, slow = (model.kernel("forward_dynamics").run for model in (compiled, interpreted))
    times = side_by_side(
        {
            "compiled": lambda: fast((q, u, force)),
            "virtual machine": lambda: slow((q, u, force)),
        }
    )
    ours, other = (1e6 * times[name] for name in ("compiled", "virtual machine"))
    goal = f"at most {GOAL_US:g} us"
    yield Result("flexible two-link arm, right-hand side", "us", ours, other, "virtual machine", goal, ours <= GOAL_US)
