"""The wiggle before a run: which wrong actuators it finds on each preset, and how far and fast robots move in it."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.result import Result
from granite.config.loader import load
from tests.support.wrong_actuators import PRESETS, wiggled_robot, wrong_motors, wrong_thrusters


def measure() -> Iterator[Result]:
    """Of each preset: the right robot, then every wrong one."""
    for name in PRESETS:
        robot = wiggled_robot(name)
        yield Result(f"{name}, right: refused", "", len(robot.failed), None, "", "none", not robot.failed)
        yield Result(f"{name}, right: lasts", "s", robot.lasted_s, None, "", "", None)
        yield Result(f"{name}, right: base moves", "m", robot.way_m, None, "", "", None)
        yield Result(f"{name}, right: greatest rate", "of the limit", robot.rate, None, "", "", None)
        bed = load(name)
        robots = [wiggled_robot(name, wrong) for wrong in (*wrong_motors(bed), *wrong_thrusters(bed))]
        missed, rate = sum(not robot.failed for robot in robots), max(robot.rate for robot in robots)
        yield Result(f"{name}, {len(robots)} wrong ones: missed", "", missed, None, "", "none", not missed)
        yield Result(f"{name}, wrong: greatest rate", "of the limit", rate, None, "", "at most 1", rate <= 1)
