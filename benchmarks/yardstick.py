"""Speed of this machine at this moment: one small NumPy operation, of which a tick has dozens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result, side_by_side


def measure() -> Iterator[Result]:
    a, b = np.zeros(7), np.ones(7)
    took = side_by_side({"add": lambda: a + b})["add"]
    yield Result("yardstick: sum of two arrays of 7 numbers", "us", took * 1e6, None, "", "", None)
