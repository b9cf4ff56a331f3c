"""Imperfections of the simulated lab one by one and together: runs that complete, their last error, propellant.

`python -m benchmarks.imperfections [SEEDS] [BED ...] [--before]` prints the tables of docs/robustness.md; with
`--before` also those of the laws of `clean`. The benchmark judges the goals, on seeds that no gain was tuned on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.result import Result
from granite import ManyRun, Testbed, load, simulate_many

FIRST_SEED = 5001
#: with a free-floating base: light vehicles get a tenth of the hose
HOSES = {"free-flyer": 1.0, "two-arm-free-flyer": 1.0, "atmos": 1.0, "two-arm-catch": 1.0}
MACHINES = {"leap": 2, "two-arm-catch": 1}  #: catches of a run that holds
BEDS = ("free-flyer", "two-arm-free-flyer", "atmos", "spot", "spot/arm", "astrobee", "stanford-free-flyer", *MACHINES)
FRICTION = "simulation.joint_friction"


class Outcome(NamedTuple):
    """Runs of one lab: how many completed (and held), their errors in the last 5 s at 95 %, and the mean impulse."""

    runs: int
    completed: int
    error_m: float
    error_rad: float
    joints_rad: float
    impulse_n_s: float

    @property
    def row(self) -> str:
        """In mm, mrad and N s."""
        errors = (f"{1e3 * value:.2g}" for value in (self.error_m, self.error_rad, self.joints_rad))
        return f"{self.completed} of {self.runs} | {' | '.join(errors)} | {self.impulse_n_s:.1f}"


def labs(bed: Testbed, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each imperfection alone at three sizes, in a lab that has no other."""
    joints = [f"modules.{m.name}.joints.{j.name}.friction_n_m" for m in bed.controlled for j in m.joints]
    joints = [key for key in joints if "leap" not in name or "wheel" not in key]
    none: dict[str, Any] = {**dict.fromkeys(joints, 0.0), f"{FRICTION}.spread": 0.0, f"{FRICTION}.sticks": False}
    none |= {f"{FRICTION}.static_ratio": 1.0, "simulation.table.waves": [], "simulation.hoses": []}
    none |= {"devices.thrusters.simulated.shared_drop": 0.0} if bed.thrusters else {}
    # What the monitor of a harsh lab allows for.
    none |= {"safety.monitor.disturbance_thrust_ratio": 0.9, "safety.monitor.residual_thrust_ratio": 0.8}
    if joints and "spot" not in name:
        none["safety.monitor.residual_torque_ratio"] = max(0.04, bed.safety.monitor.residual_torque_ratio)
    yield "none", none
    sticks = {f"{FRICTION}.spread": 0.5, f"{FRICTION}.sticks": True, f"{FRICTION}.static_ratio": 1.3}
    part = 0.25 if name == "spot/arm" or "stanford" in name else 1.0
    if joints:
        for f in (0.005, 0.01, 0.02):
            yield f"friction {part * f * 1e3:g} mN m +-50 %", none | sticks | dict.fromkeys(joints, part * f)
        for f in (0.005, 0.01, 0.02):
            yield f"cogging {part * f * 1e3:g} mN m", none | {"devices.motors.simulated.cogging_n_m": part * f}
    for slope in (1e-4, 3e-4, 1e-3):
        waves = [{"length_m": length, "slope_g": slope} for length in (0.6, 1.5)]
        yield f"waves {slope:.0e} g", none | {"simulation.table.waves": waves}
    if not bed.thrusters:
        return
    module = next(m.name for m in bed.controlled if m.base == "floating")
    for stiffness in (0.1, 0.2, 0.4):
        k = stiffness * HOSES.get(name, 0.1)
        yield f"hose {k:g} N/m", none | {"simulation.hoses": [{"module": module, "stiffness_n_m": k}]}
    for drop in (0.05, 0.1, 0.2):
        yield f"supply -{100 * drop:g} % a valve", none | {"devices.thrusters.simulated.shared_drop": drop}
    for angle in (1.0, 3.0, 5.0):
        changes = {"devices.thrusters.simulated.misalignment_rad": float(np.radians(angle))}
        yield f"nozzles {angle:g} degrees", none | changes


def fly(bed: Testbed, changes: Mapping[str, Any], seeds: int, machine: str = "") -> Outcome:
    """Runs of a testbed in a changed lab."""
    runs = simulate_many(bed, [changes], range(FIRST_SEED, FIRST_SEED + seeds), processes=2)
    held = [run for run in runs if run.metrics["ended"] == "completed"]
    if machine:
        held = [run for run in held if len(run.metrics.get("catches") or []) >= MACHINES[machine]]
    errors = np.array([_errors(run, machine) for run in held]).reshape(-1, 4)
    at = np.percentile(errors, 95, axis=0) if len(held) else np.full(4, np.nan)
    impulse = float(errors[:, 3].mean()) if len(held) else float("nan")
    return Outcome(len(runs), len(held), float(at[0]), float(at[1]), float(at[2]), impulse)


def _errors(run: ManyRun, machine: str) -> tuple[float, float, float, float]:
    """Of position, heading and joints in the last 5 s, or the miss of a catch; and the impulse."""
    metrics: Any = run.metrics
    impulse = metrics["propellant"]["impulse_n_s"]
    if machine:
        return max(c["miss_m"] for c in metrics["catches"]), np.nan, np.nan, impulse
    last = {name: error["max_in_last_5_s"] for name, error in metrics["tracking_error"].items()}
    joints = [value for name, value in last.items() if name in run.bed.joints]
    x, y = (value for name, value in last.items() if name.endswith(("_x", "_y")))
    heading = next(value for name, value in last.items() if name.endswith("_heading"))
    return float(np.hypot(x, y)), heading, max(joints, default=np.nan), impulse


def measure() -> Iterator[Result]:
    """The goals: 95 of 100 complete, errors of the last 5 s at 95 %."""
    goals = {
        "free-flyer": (1.0, 1.5), "two-arm-free-flyer": (1.0, 1.5),
        "free-flyer/harsh": (1.5, 3.0), "two-arm-free-flyer/harsh": (1.5, 3.0),
    }  # fmt: skip
    for name, (mm, mrad) in goals.items():
        found = fly(load(name), {}, 100)
        yield Result(f"{name}, complete", "of 100", found.completed, None, "", "95", found.completed >= 95)
        yield Result(f"{name}, error", "mm", 1e3 * found.error_m, None, "", f"{mm}", 1e3 * found.error_m <= mm)
        yield Result(
            f"{name}, error", "mrad", 1e3 * found.error_rad, None, "", f"{mrad}", 1e3 * found.error_rad <= mrad
        )
    for name in MACHINES:
        friction = dict(labs(load(name), name))["friction 20 mN m +-50 %"]
        found = fly(load(name), friction, 100, name)
        yield Result(f"{name} with 20 mN m, holds", "of 100", found.completed, None, "", "95", found.completed >= 95)


def main() -> None:
    """Print a table for each testbed; those with arms also with the law of their clean variant."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    seeds = numbers[0] if numbers else 20
    for name in [word for word in sys.argv[1:] if not word.isdigit() and word[0] != "-"] or BEDS:
        bed, machine = load(name), name if name in MACHINES else ""
        clean = "spot/arm-clean" if name == "spot/arm" else f"{name}/clean"
        before = load(clean) if bed.joints and "--before" in sys.argv else None
        print(f"\n{name}: lab | complete | mm | mrad | joints mrad | N s" + (" | before: ..." if before else ""))
        rows = [*labs(bed, name), ("as the preset", {})]
        for lab, changes in rows:
            text = f"| {lab} | {fly(bed, changes, seeds, machine).row} |"
            if before:
                text += f" {fly(before, changes, seeds, machine).row} |"
            print(text, flush=True)
        if name != "spot/arm":
            print(f"| harsh | {fly(load(f'{name}/harsh'), {}, seeds, machine).row} |", flush=True)


if __name__ == "__main__":
    main()
