"""A long rehearsal: memory of each process and latencies in its first and in its last minute.

`python -m benchmarks endurance --minutes 30`. The loop, its recorder, the boards and the plant are processes of a
`granite rehearse` whose robot moves to and fro all the time. A first part is left out, in which caches fill.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.result import Result
from granite.config.records import STEPS, Array
from granite.logs.log import Log, read_log

#: of `make bench`
MINUTES = 0.5
#: parts of the run that are compared, at most a minute each; the first begins after the second of these
_PART, _LEFT_OUT = 0.3, 0.2
_LONGEST_S = 60.0
#: between two looks at the memory [s]
_LOOK_S = 1.0
MOST_GROWTH, MOST_SLOWER = 0.02, 1.2
#: to and fro, each way as long as the free-flyer's own move
_WAY_S = 12.0
_TARGETS = (
    "base_x_m=1.4, base_y_m=1.1, base_heading_rad=0.5, shoulder_rad=0.3, elbow_rad=0.6",
    "base_x_m=1.0, base_y_m=0.8, base_heading_rad=0.0, shoulder_rad=0.6, elbow_rad=0.9",
)
#: a machine that is busy with others does not end the run
_PATIENT = (
    "loop.longest_lateness_s=2.0",
    "loop.watchdog_s=2.0",
    "safety.age_s.joint_sensors=2.0",
    "safety.age_s.vision=2.0",
    "devices.thrusters.simulated.tank_n_s=1e7",  # thrust falls with what is left in the tank
    "behaviour.check_moves=false",
)


class Memory(NamedTuple):
    """What a process has in memory at one time [bytes]."""

    t: float
    name: str
    bytes: int


def measure(minutes: float = MINUTES, keep: Path | None = None) -> Iterator[Result]:
    """Rehearse for so long; the log may be kept."""
    if not shutil.which("cc"):
        print("endurance is left out: the program of the boards needs a C compiler")
        return
    seconds = 60 * minutes
    ways = [f"{{duration_s={_WAY_S}, target={{{_TARGETS[i % 2]}}}}}" for i in range(int(seconds / _WAY_S) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = keep or Path(folder) / "run.mcap"
        command = [sys.executable, "-m", "granite.cli", "rehearse", "free-flyer", "--duration", f"{seconds:g}"]
        command += ["--watchdog", "1.0", "--out", str(path), "--set", f"behaviour.waypoints=[{','.join(ways)}]"]
        for change in _PATIENT:
            command += ["--set", change]
        memory, ended = _watched(command)
        log = read_log(path)
        name = f"rehearsal of {minutes:g} min"
        yield Result(f"{name}, ticks of {round(seconds / log.bed.loop.period_s)}", "", log.ticks, None, ended, "", None)
        yield from _grown(name, memory)
        yield from _slower(name, log)


def _watched(command: list[str]) -> tuple[list[Memory], str]:
    """Run it and look at its memory; what it said if it failed."""
    found: list[Memory] = []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        now = time.monotonic()
        found += [Memory(now, *each) for each in _memory(process.pid)]
        time.sleep(_LOOK_S)
    assert process.stderr is not None
    said = process.stderr.read().strip()
    return found, said.splitlines()[-1] if said and process.returncode else ""


def _memory(pid: int) -> Iterator[tuple[str, int]]:
    """Of the loop and of each process that it started."""
    names = {pid: "loop"}
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in map(int, children):
        try:
            words = Path(f"/proc/{child}/cmdline").read_text()
        except OSError:
            continue
        names[child] = "plant" if "plant_process" in words else "board" if "granite-board" in words else "recorder"
    for each, name in names.items():
        try:
            status = Path(f"/proc/{each}/status").read_text().splitlines()
        except OSError:
            continue
        # Without files and the ring, which is shared with the recorder.
        own = [int(line.split()[1]) for line in status if line.startswith("RssAnon")]
        if own:
            yield name, 1024 * own[0]


def _grown(name: str, memory: list[Memory]) -> Iterator[Result]:
    # After its last tick the loop reads the log for its report: the recorder is gone then.
    end = max((each.t for each in memory if each.name == "recorder"), default=0.0)
    memory = [each for each in memory if each.t <= end]
    for process in dict.fromkeys(each.name for each in memory):
        own = [each for each in memory if each.name == process]
        t, size = np.array([each.t for each in own]), np.array([each.bytes for each in own])
        first, last = _parts(t)
        before, after = float(np.median(size[first])) / 1e6, float(np.median(size[last])) / 1e6
        is_met = after <= before * (1 + MOST_GROWTH) + 1.0
        goal = f"start + {MOST_GROWTH:.0%} + 1 MB"
        yield Result(f"{name}, memory of the {process} at the end", "MB", after, before, "start", goal, is_met)


def _slower(name: str, log: Log) -> Iterator[Result]:
    timing, sample = log["/timing"], log["/sample"]
    spans = {
        "tick": sum(timing[f"{step}_s"] for step in STEPS),
        "wake-up": timing["delay_s"],
        "age of joint angles": sample["t_s"] - sample["joint_sensors_t_s"],
        "age of poses": sample["t_s"] - sample["vision_t_s"],
    }
    first, last = _parts(log.t)
    for what, values in spans.items():
        for percentile, label in ((50, "median"), (99, "99 %")):
            before, after = (float(np.percentile(values[part], percentile)) * 1e3 for part in (first, last))
            is_met = after <= before * MOST_SLOWER if label == "median" else None
            goal = f"{MOST_SLOWER:g} times the start" if label == "median" else ""
            yield Result(f"{name}, {what} at the end, {label}", "ms", after, before, "start", goal, is_met)


def _parts(t: Array) -> tuple[Array, Array]:
    """Which times are of the first part, and which of the last."""
    length = t[-1] - t[0]
    span = min(_PART * length, _LONGEST_S)
    begin = t[0] + min(_LEFT_OUT * length, _LONGEST_S)
    return (t >= begin) & (t < begin + span), t >= t[-1] - span
