"""The tick of a loop with an operator channel: left alone, and under 10 000 bad messages a second."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.rt.loop.clock import RealClock
from granite.rt.operator.link import OperatorLink
from granite.rt.process.realtime import real_time
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

_RATE, _SECONDS = 10_000, 10.0


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        alone = _ticks(Path(folder) / "keys", attacked=False)
        attacked = _ticks(Path(folder) / "keys", attacked=True)
    for part in (50, 99):
        ours, peer = (float(np.percentile(ticks, part)) for ticks in (attacked, alone))
        which = "median" if part == 50 else f"{part} %"
        name = f"tick under {_RATE} bad messages a second, {which}"
        yield Result(name, "us", ours, peer, "left alone", "", None)


def _ticks(folder: Path, attacked: bool) -> np.ndarray:
    """Durations of the ticks [us]."""
    limits = ["loop.longest_lateness_s=1.0", "loop.watchdog_s=1.0", 'operator.address="tcp://127.0.0.1:5791"']
    bed = load("free-flyer", ["loop.period_s=0.002", f"loop.duration_s={_SECONDS}", *limits])
    run = Run(bed)
    run.source = link = OperatorLink.start(bed, folder)
    memory = Memory(run.channels, run.ticks)
    address, seconds, rate = bed.operator.address, str(_SECONDS), str(_RATE)
    attackers = [sys.executable, "-m", "benchmarks.attack", address, str(folder), seconds, rate]
    attacker = subprocess.Popen(attackers) if attacked else None
    try:
        with real_time(bed.loop):
            run.execute(RealClock(), memory)
    finally:
        if attacker is not None:
            attacker.wait()
        link.close()
    steps = memory.rows[500:, run.channels.columns("/timing", "steps")] * 1e6
    return np.asarray(steps.sum(axis=1))
