"""ROS 2: a run of a minute at 200 Hz read by another process over DDS on the loopback, and what it costs the tick.

The delay is from the due time of the tick to the pose in the reader.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.config.records import Array
from granite.logs.log import read_log
from granite.rt.run import Run
from tests.support.unhurried import LIMITS

_PEER = Path(__file__).parents[1] / "tests" / "support" / "ros2_peer.py"
_DOMAIN, _TOPIC = 97, "rt/granite/estimate/vehicle/pose"
_MINUTE_S, _ROUNDS, _ROUND_S = 60.0, 3, 15.0
#: the reader is there so long before the run, and after it [s]; ticks before the estimate is ready, which have no pose
_BEFORE_S, _AFTER_S, _FIRST = 5.0, 2.0, 200


def measure() -> Iterator[Result]:
    os.environ |= {"ROS_DOMAIN_ID": str(_DOMAIN), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "run.mcap"
        came = np.array(_read_run(log, _MINUTE_S))
        ticks = round(_MINUTE_S / read_log(log).bed.loop.period_s)
        median, p99 = np.percentile(came[:, 1], [50, 99]).tolist()
        yield Result("ROS 2, tick to another process, median", "ms", median, p99, "99 %", "below 2 ms", median < 2)
        lost = _missing(came[:, 0], read_log(log).bed.loop.period_s)
        shown = f"{len(came)} of {ticks} came"
        enough = len(came) > ticks - _FIRST
        yield Result("ROS 2, ticks lost in a minute", "ticks", lost, None, shown, "none", lost == 0 and enough)
        alone, read = [], []
        for _ in range(_ROUNDS):
            Run(load("free-flyer", {"loop.duration_s": _ROUND_S, **LIMITS})).record(log, realtime=True, overwrite=True)
            alone.append(_tick_us(log))
            _read_run(log, _ROUND_S)
            read.append(_tick_us(log))
    one, other = float(np.median(read)), float(np.median(alone))
    yield Result("tick with a reader by ROS 2, 99 %", "us", one, other, "without", "within 5 %", one <= 1.05 * other)


def _read_run(log: Path, seconds: float) -> list[tuple[float, float]]:
    """Stamp [s] and delay [ms] of each pose that another process got."""
    words = [sys.executable, str(_PEER), str(_DOMAIN), _TOPIC, str(seconds + _AFTER_S)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as reader:
        try:
            time.sleep(_BEFORE_S)
            bed = load("free-flyer", {"loop.duration_s": seconds, **LIMITS})
            Run(bed).record(log, realtime=True, ros2=True, overwrite=True)
            came: list[tuple[float, float]] = json.loads(reader.communicate()[0])
        finally:
            reader.kill()
    return came


def _missing(stamps: Array, period_s: float) -> int:
    """Ticks between the first and the last that came without one."""
    return round(float(stamps[-1] - stamps[0]) / period_s) + 1 - len(stamps)


def _tick_us(log: Path) -> float:
    """99 % of the steps of a tick."""
    read = read_log(log)
    steps = read.channels.columns("/timing", "steps")
    assert isinstance(steps, slice)
    return 1e6 * float(np.percentile(np.nansum(read.rows[_FIRST:, steps], axis=1), 99))
