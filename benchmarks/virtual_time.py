"""Simulated seconds per second in virtual time at 1 kHz, everything on, recorded to disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.result import Result
from granite.config.loader import load
from granite.rt.run import simulate


def measure() -> Iterator[Result]:
    bed = load("free-flyer", ["loop.period_s=0.001", "simulation.physics_step_s=0.001", "loop.duration_s=30.0"])
    with tempfile.TemporaryDirectory() as folder:
        summary = simulate(bed, Path(folder) / "run.mcap")
    factor = summary["real_time_factor"]
    yield Result("simulated seconds per second, 1 kHz", "x", factor, None, "", "at least 10", factor >= 10)
