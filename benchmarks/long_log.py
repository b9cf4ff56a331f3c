"""Peak memory and time of reading, measuring, plotting and replaying a log of one hour: 720 000 rows at 200 Hz."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.result import Result

DURATION_S = 3600
#: beyond the interpreter with everything imported [MB]
LIMIT_MB = 500
#: processor time of the works that make a summary, which begin with reading the log [s]
SUMMARY_S = 10.0
SUMMARIES = ("read", "metrics", "latencies")

_WORK = """
import resource, sys
import granite, granite.logs.latency, granite.views.plots, granite.rt.replay
path = sys.argv[1]
log = granite.read_log(path) if len(sys.argv) > 2 else None
{work}
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)
"""
WORKS = {
    "read": "",
    "one signal": 'assert len(log["/truth"].base_x_m) == log.ticks',
    "metrics": 'assert granite.metrics(log)["ticks"] == log.ticks',
    "latencies": "assert granite.logs.latency.latencies(log)",
    "plot": 'granite.plot(log, path + ".png", overwrite=True)',
    "replay": "assert granite.rt.replay.replay(log).first is None",
}


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hour.mcap"
        command = ["sim", "free-flyer", "--duration", str(DURATION_S), "--out", str(path), "--json"]
        subprocess.run([sys.executable, "-m", "granite.cli", *command], check=True, stdout=subprocess.DEVNULL)
        yield from measure_log(path)


def measure_log(path: Path) -> Iterator[Result]:
    """Each work in a process of its own, against one that only imports."""
    before, imported, _ = _run("", path)
    for name, work in WORKS.items():
        peak, busy, took = _run(work, path, "read")
        used, goal = peak - before, f"at most {LIMIT_MB} MB"
        yield Result(f"hour of log, {name}: memory", "MB", used, None, f"{took:.0f} s", goal, used <= LIMIT_MB)
        if name in SUMMARIES:
            busy, goal = busy - imported, f"at most {SUMMARY_S:g} s"
            yield Result(f"hour of log, {name}: processor", "s", busy, None, "", goal, busy <= SUMMARY_S)


def _run(work: str, *arguments: object) -> tuple[float, float, float]:
    """Peak memory [MB], processor time and time [s] of a process."""
    began = time.perf_counter()
    command = [sys.executable, "-c", _WORK.format(work=work), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    peak, busy = map(float, done.stdout.split()[-2:])
    return peak, busy, time.perf_counter() - began
