"""Time from starting the interpreter to the end of the first tick, with an empty and with a filled cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.result import Result

ONE_TICK = """
from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory
simulate_in_memory(load("free-flyer", ["loop.duration_s=0.005"]))
"""


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as cache:
        for name, limit in (("cold", 30.0), ("warm", 2.0)):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", ONE_TICK], check=True, env={**os.environ, "GRANITE_CACHE": cache})
            took = time.perf_counter() - began
            yield Result(f"time to the first tick, {name}", "s", took, None, "", f"at most {limit:g} s", took <= limit)
