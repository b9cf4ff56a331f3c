"""Time from starting the interpreter until a preset is ready to tick, with an empty cache: mostly the compiler's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.result import Result
from granite.config.loader import presets

GOAL_S = 20.0
READY = """
import sys
from granite.config.loader import load
from granite.rt.run import Run
Run(load(sys.argv[1]))
"""


def measure() -> Iterator[Result]:
    for preset in presets():
        with tempfile.TemporaryDirectory() as cache:
            began = time.perf_counter()
            command = [sys.executable, "-c", READY, preset.name]
            subprocess.run(command, check=True, env={**os.environ, "GRANITE_CACHE": cache})
            took = time.perf_counter() - began
        goal = f"at most {GOAL_S:g} s"
        yield Result(f"ready from an empty cache, {preset.name}", "s", took, None, "", goal, took <= GOAL_S)
