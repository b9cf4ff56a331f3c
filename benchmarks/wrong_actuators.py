"""Motors and thrusters that are wrong from the start: the greatest rate after the notice, in units of its limit."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.result import Result
from granite.config.loader import load
from tests.support.wrong_actuators import BRAKED, MOST, fastest_rate, wrong_motors, wrong_thrusters


def measure() -> Iterator[Result]:
    """One line for each preset and kind of fault, over all motors or thrusters that can have it."""
    for name in BRAKED:
        bed = load(name)
        worst: dict[str, float] = {}
        for wrong in (*wrong_motors(bed), *wrong_thrusters(bed)):
            worst[wrong.what] = max(worst.get(wrong.what, 0.0), fastest_rate(name, wrong).after)
        for what, rate in worst.items():
            yield Result(f"{name}, {what}", "of the limit", rate, None, "", f"at most {MOST}", rate <= MOST)
