"""False alarms and missed faults on harsh testbeds: `python -m benchmarks.alarms [RUNS] [BED ...]`.

False alarms: shuttles of ten minutes of virtual time to the target of the testbed and back, without a fault, a part of
them at twice the speed. Whatever ends or holds a run, or is reported as a fault, is one. Missed faults: motors with a
wrong gain on a quick move, each at its own time under its own seed, and the time until they are noticed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.result import Result
from granite import Testbed, load, simulate_many
from granite.config.devices.motors import Motors
from granite.rt.run_in_memory import simulate_in_memory

FIRST_SEED = 7001
RUN_S = 600.0
RUNS = 100
#: every so many runs one is at twice the speed
QUICK = 4
BEDS = (
    "free-flyer/harsh", "two-arm-free-flyer/harsh", "atmos/harsh", "spot/harsh", "spot/arm-harsh", "astrobee/harsh",
    "stanford-free-flyer/harsh", "two-flyers/harsh",
)  # fmt: skip
#: notices of a healthy run
_NO_ALARMS = ("passed", "setpoint_clamped", "waiting_for_sensors", "measurement_refused")
#: wrong gains of a motor, the time in which they must be noticed [s], and how many of each joint
GAINS = {"half torque": (0.5, 2.0), "dead": (0.0, 0.5), "wrong way": (-1.0, 0.2)}
FAULTS = 24


class AlarmCount(NamedTuple):
    """Runs without a fault: hours, what ended or held how many of them, and what was reported in how many."""

    hours: float
    ended: Mapping[str, int]
    reported: Mapping[str, int]


def shuttle(bed: Testbed, faster: float = 1.0, seconds: float = RUN_S) -> dict[str, Any]:
    """Changes that let a testbed go to its target and back for so long.

    Where it is faster, bases go less far, so that thrusters need to give no more, and joints go as far.
    """
    waypoint = {key: value for key, value in bed.behaviour.model_dump()["waypoints"][0].items() if value is not None}
    waypoint |= {key: waypoint[key] / faster for key in ("duration_s", "hold_s", "ramp_s") if key in waypoint}
    back = {key: bed.simulation.initial.get(key, 0.0) for key in waypoint["target"]}
    part = {key: 1.0 if key.removesuffix("_rad") in bed.joints else faster**-2 for key in back}
    forth = {key: back[key] + part[key] * (target - back[key]) for key, target in waypoint["target"].items()}
    legs = int(seconds / (waypoint["duration_s"] + waypoint["hold_s"])) + 1
    waypoints = [{**waypoint, "target": back if i % 2 else forth} for i in range(legs)]
    changes = {"behaviour.waypoints": waypoints, "behaviour.check_moves": False, "loop.duration_s": seconds}
    tanks = {name: table for name, table in bed.devices.items() if getattr(table, "simulated", None)}
    large = {f"devices.{name}.simulated.tank_n_s": 1e5 for name, d in tanks.items() if hasattr(d.simulated, "tank_n_s")}
    return changes | large


def count_alarms(bed: Testbed, runs: int) -> AlarmCount:
    """Of so many shuttles."""
    hours, ended, reported = 0.0, Counter[str](), Counter[str]()
    for faster, seeds in ((1.0, [i for i in range(runs) if i % QUICK]), (2.0, range(0, runs, QUICK))):
        numbers = [FIRST_SEED + i for i in seeds]
        for run in simulate_many(bed, [shuttle(bed, faster)], numbers, processes=1) if numbers else ():
            metrics: Any = run.metrics
            hours += metrics["duration_s"] / 3600
            ended.update([] if metrics["ended"] == "completed" else [metrics["ended"]])
            reported.update(name for name in metrics["guard"] if name not in _NO_ALARMS)
    return AlarmCount(hours, ended, reported)


def quick_move(bed: Testbed) -> list[dict[str, Any]]:
    """Arms to and fro by their limits' half in 2.5 s, the base by a decimetre: faster than the thrusters allow."""
    start = {c.key: bed.simulation.initial.get(c.key, 0.0) for c in bed.known.positions}
    forth = {key: value + (0.2 if key.endswith("heading_rad") else 0.12) for key, value in start.items()}
    for limit in bed.safety.joints:
        key = f"{limit.joint}_rad"
        side = -1.0 if start[key] > (limit.lower_rad + limit.upper_rad) / 2 else 1.0
        forth[key] = start[key] + side * 0.3 * (limit.upper_rad - limit.lower_rad)
    return [{"duration_s": 2.5, "target": target} for target in (forth, start) * 4]


def delays(name: str, joint: str, gain: float, n: int) -> tuple[list[float], int]:
    """Times until a wrong gain is noticed [s], infinite where it is not, and the number of alarms before it."""
    bed, times, early = load(name), [], 0
    for i in range(n):
        at = 3.5 + 0.005 * (i * 617 % 1000)
        fault = {"kind": "fault", "at_s": at, "device": "motors", "what": "torque_factor", "unit": joint, "value": gain}
        changes = {"behaviour.waypoints": quick_move(bed), "behaviour.check_moves": False, "simulation.events": [fault]}
        log = simulate_in_memory(load(name, {**changes, "seed": FIRST_SEED + i, "loop.duration_s": at + 6.0}))
        noticed = [float(event["t_s"]) - at for event in log.events if event["level"] in ("warning", "error")]
        early += bool(noticed) and noticed[0] < 0
        times += [min(noticed, default=np.inf)] if not noticed or noticed[0] >= 0 else []
    return times, early


def measure() -> Iterator[Result]:
    """No false alarm in 100 runs of 10 minutes on each; every wrong motor in time."""
    for name in BEDS:
        count = count_alarms(load(name), RUNS)
        alarms = sum(count.ended.values()) + sum(count.reported.values())
        yield Result(f"{name}, false alarms", f"in {count.hours:.1f} h", alarms, None, "", "0", alarms == 0)
    for name in ("free-flyer/harsh", "two-arm-free-flyer/harsh"):
        for joint, what, (gain, goal) in _motors(name):
            times, _ = delays(name, joint, gain, FAULTS)
            yield Result(f"{name}, {joint} {what}", "s", max(times), None, "", f"{goal}", max(times) <= goal)


def _motors(name: str) -> Iterator[tuple[str, str, tuple[float, float]]]:
    for device in load(name).devices_of(Motors).values():
        for motor in device.units:
            for what, gain_and_goal in GAINS.items():
                yield motor.joint, what, gain_and_goal


def main() -> None:
    """Print false alarms of each testbed, and times of wrong motors where it has an arm."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    runs = numbers[0] if numbers else RUNS
    for name in [word for word in sys.argv[1:] if "/" in word] or BEDS:
        if "--faults" not in sys.argv:
            count = count_alarms(load(name), runs)
            per_hour = (sum(count.ended.values()) + sum(count.reported.values())) / count.hours
            print(f"{name}: {runs} runs, {count.hours:.1f} h, {per_hour:.2g} alarms an hour", end="; ")
            print(f"ended {dict(count.ended)}, reported {dict(count.reported)}", flush=True)
        for joint, what, (gain, goal) in _motors(name) if "--alarms" not in sys.argv else ():
            times, early = delays(name, joint, gain, FAULTS)
            median, most, missed = np.median(times), np.percentile(times, 90), sum(np.isinf(times))
            text = f"{name} {joint} {what}: median {median:.2f}, 90 % {most:.2f}, longest {max(times):.2f} s"
            in_time = f"in time {sum(t <= goal for t in times)} of {len(times)}"
            print(f"{text}, {in_time}, missed {missed}, early {early}", flush=True)


if __name__ == "__main__":
    main()
