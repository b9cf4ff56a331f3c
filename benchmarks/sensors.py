"""What sensors are worth: errors with a target on the hand and with a gyro, beside those without and at best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca
import numpy as np

from benchmarks.result import Result
from benchmarks.smoother import errors_of
from granite import Kinematics, load
from granite.rt.run_in_memory import simulate_in_memory

#: on which nothing was tuned
SEEDS = range(7001, 7101)
#: a bias that the seed draws
GYRO = {"devices.gyro": {"simulated": {"bias_deviation_rad_s": 0.01, "bias_walk_rad_s_per_rts": 1e-5}}}
#: ticks of the last 5 s
LAST = 1000


class HandErrors(NamedTuple):
    """Root mean squares over runs and time [m]."""

    estimate: float  #: of the estimated hand from the true one
    control: float  #: of the true hand from its reference
    ended_early: int


def hand_errors(name: str, seeds: range = SEEDS) -> HandErrors:
    """Errors of the tip of the arm of a vehicle over the last 5 s of its runs."""
    squares, ended_early = [], 0
    for seed in seeds:
        bed = load(name, {"seed": seed})
        log = simulate_in_memory(bed, keep=False)
        ended_early += len(log.rows) < round(bed.loop.duration_s / bed.loop.period_s)
        motion = Kinematics(bed, bed.layout)
        tip = ca.Function("tip", [motion.q], [motion.point("vehicle", "tip").position[:2]]).map(LAST)
        paths = [log.rows[-LAST:, log.channels.columns(topic, "q")] for topic in ("/truth", "/state", "/reference")]
        true, estimated, wanted = (np.array(tip(q.T)) for q in paths)
        squares.append([np.square(path - true).sum(axis=0).mean() for path in (estimated, wanted)])
    estimate, control = np.sqrt(np.mean(squares, axis=0))
    return HandErrors(estimate, control, ended_early)


def smoother_ratios(seeds: range = SEEDS[:20]) -> Iterator[Result]:
    """Errors of the estimate beside those of the best filter, which knows no later measurement, and of the smoother."""
    for what, changes, i, unit in (
        ("x", {}, 0, "mm"),
        ("heading", {}, 2, "mrad"),
        ("heading, with a gyro", GYRO, 2, "mrad"),
    ):
        ours, best, sharp, smooth = errors_of("free-flyer", changes, i, seeds)
        for k, name in enumerate((what, f"rate of {what}")):
            beside = f"filter without delay; {1e3 * sharp[k]:.3f} without margin, its smoother {1e3 * smooth[k]:.3f}"
            met = bool(ours[k] <= 1.1 * best[k])
            yield Result(name, unit if k == 0 else f"{unit}/s", 1e3 * ours[k], 1e3 * best[k], beside, "within 1.1", met)


def measure() -> Iterator[Result]:
    """The estimate beside filter and smoother; the hand of `free-flyer`, and of the same with a target on it."""
    yield from smoother_ratios()
    without, seen = (hand_errors(name) for name in ("free-flyer", "free-flyer/hand-target"))
    ended = f"without, {seen.ended_early} and {without.ended_early} of {len(SEEDS)} ended early"
    goal = "below 0.3 mm rms"
    yield Result(
        "hand, estimated", "mm", 1e3 * seen.estimate, 1e3 * without.estimate, ended, goal, seen.estimate < 3e-4
    )
    yield Result("hand, from its reference", "mm", 1e3 * seen.control, 1e3 * without.control, ended, "", None)
