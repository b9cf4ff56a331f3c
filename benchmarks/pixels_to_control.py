"""The free-flyer rehearsed from rendered pixels, beside pose sources without pixels: error and latency of poses.

All processes run: plant, renderer of frames, vision sensor, boards, loop. The error of a pose is at its time of
exposure as the loop knows it, so it contains the error of the mapped clock.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.logs.log import Log, read_log
from granite.rt.rehearsal.rehearsal import rehearsal
from granite.rt.run import Run

SECONDS = 15.0
PERFECT, NOISY = "perfect pose source", "pose source with noise"
#: frames before the estimate of the sender's clock has settled
SETTLING = 60
UNITS = {"x": ("mm", "m", 1e3), "y": ("mm", "m", 1e3), "heading": ("mrad", "rad", 1e3)}


def measure() -> Iterator[Result]:
    if not shutil.which("cc"):
        print("pixels_to_control is left out: the program of the boards needs a C compiler")
        return
    ours = _rehearsed("free-flyer/camera", {})
    for peer, changes in ((PERFECT, {"devices.vision.simulated.perfect": True}), (NOISY, {})):
        theirs = _rehearsed("free-flyer", changes)
        for (name, unit), value in ours.items():
            yield Result(f"pixels to control: {name}", unit, value, theirs[name, unit], peer, "", None)


def _rehearsed(bed_name: str, changes: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Numbers of a rehearsal, by what they are and their unit."""
    patient = {"loop.duration_s": SECONDS, "safety.age_s.joint_sensors": 1.0, "loop.longest_lateness_s": 1.0}
    bed = load(bed_name, {**patient, "loop.watchdog_s": 1.0, **changes})
    with tempfile.TemporaryDirectory() as folder:
        with rehearsal(bed, 1.0) as outside:
            summary = Run(bed, rehearsal=outside).record(Path(folder) / "run.mcap", realtime=True)
        if summary["ended"] != "completed":
            print(f"{bed_name} ended by {summary['text']}")
        log = read_log(Path(folder) / "run.mcap")
        return {**_of_poses(log), **_of_motion(log)}


def _of_poses(log: Log) -> dict[tuple[str, str], float]:
    seen, truth = log["/sample"], log["/truth"]
    new = np.flatnonzero(np.diff(seen["vision_number"], prepend=0) > 0)[SETTLING:]
    exposed = seen["vision_t_s"][new]
    found = {}
    for axis, (unit, si, factor) in UNITS.items():
        true = np.interp(exposed, truth["t_s"], truth[f"base_{axis}_{si}"])
        found[f"rms error of poses, {axis}", unit] = factor * _rms(seen[f"vision_base_{axis}_{si}"][new] - true)
    age = 1e3 * (seen["t_s"][new] - exposed)
    return {**found, ("mean age of a pose at its arrival", "ms"): age.mean(), ("99 %", "ms"): np.percentile(age, 99)}


def _of_motion(log: Log) -> dict[tuple[str, str], float]:
    """Estimate and tracking, against the truth at the times of the ticks."""
    truth, state, reference = log["/truth"], log["/state"], log["/reference"]
    found = {}
    for what, channel in (("rms error of the estimate", state), ("largest tracking error", reference)):
        for axis, (unit, si, factor) in UNITS.items():
            true = np.interp(channel["t_s"], truth["t_s"], truth[f"base_{axis}_{si}"])
            off = (channel[f"base_{axis}_{si}"] - true)[SETTLING:]
            found[f"{what}, {axis}", unit] = factor * (_rms(off) if channel is state else float(np.abs(off).max()))
    return found


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))
