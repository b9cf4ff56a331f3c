"""Imperfections of the simulated lab one by one and together: runs that complete, their last error, propellant.

`python -m benchmarks.imperfections [SEEDS] [BED ...]` prints the rows of docs/measurements/imperfections.csv, on seeds
that no gain was tuned on. The benchmark judges the goals. The same file runs on an older commit, in the labs that this
one had: `PYTHONPATH=OLD python benchmarks/imperfections.py`.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.result import Result
from granite import ManyRun, Testbed, load, simulate_many

FIRST_SEED = 5001
#: light vehicles get a tenth of the hose
LIGHT = ("spot", "spot/arm", "astrobee", "stanford-free-flyer")
#: weak motors get a quarter of the friction and cogging
WEAK = ("spot/arm", "stanford-free-flyer")
MACHINES = {"leap": 2, "two-arm-catch": 1, "two-flyers/docking": 1}  #: catches of a run that holds
BEDS = (
    "free-flyer", "two-arm-free-flyer", "atmos", "spot", "spot/arm", "astrobee", "stanford-free-flyer", "two-flyers",
    "two-flyers/beam", "two-flyers/docking", "three-flyers", "two-arm-carry", *list(MACHINES)[:2],
)  # fmt: skip
#: with a variant of that name
HARSH = {*BEDS} - {"two-flyers/beam", "two-flyers/docking", "three-flyers", "two-arm-carry"}
FRICTION = "simulation.joint_friction"


class Outcome(NamedTuple):
    """Runs of one lab: how many completed (and held), their errors in the last 5 s at 95 %, the mean impulse, and what
    ended or missed the others.
    """

    runs: int
    completed: int
    error_m: float
    error_rad: float
    joints_rad: float
    impulse_n_s: float
    ended: Mapping[str, int]

    @property
    def row(self) -> list[str]:
        """In mm, mrad and N s."""
        errors = [1e3 * value for value in (self.error_m, self.error_rad, self.joints_rad)]
        numbers = ["" if np.isnan(value) else f"{value:.2g}" for value in errors]
        numbers.append("" if np.isnan(self.impulse_n_s) else f"{self.impulse_n_s:.1f}")
        ended = ", ".join(f"{name} {n}" for name, n in self.ended.items())
        return [f"{self.completed} of {self.runs}", *numbers, ended]


def labs(bed: Testbed, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each imperfection alone at three sizes, in a lab that has no other, then all of them together."""
    joints = [f"modules.{m.name}.joints.{j.name}.friction_n_m" for m in bed.controlled for j in m.joints]
    joints = [key for key in joints if "leap" not in name or "wheel" not in key]
    gas = [f"devices.{key}.simulated" for key, d in bed.devices.items() if hasattr(d, "specific_impulse_s")]
    floating = [m.name for m in bed.controlled if m.base == "floating"]
    none: dict[str, Any] = {**dict.fromkeys(joints, 0.0), f"{FRICTION}.spread": 0.0, f"{FRICTION}.sticks": False}
    none |= {f"{FRICTION}.static_ratio": 1.0, "simulation.table.waves": [], "simulation.hoses": []}
    none |= {f"{key}.shared_drop": 0.0 for key in gas}
    # What the monitor of a harsh lab allows for.
    none |= {"safety.monitor.disturbance_thrust_ratio": 0.9, "safety.monitor.residual_thrust_ratio": 0.8}
    if joints and "spot" not in name:
        none["safety.monitor.residual_torque_ratio"] = max(0.04, bed.safety.monitor.residual_torque_ratio)
    yield "none", none
    together, sizes = dict(none), dict[str, dict[str, Any]]()
    part, k = 0.25 if name in WEAK else 1.0, 0.1 if name in LIGHT else 1.0
    for f in (0.005, 0.01, 0.02) if joints else ():
        friction = {f"{FRICTION}.spread": 0.5, f"{FRICTION}.sticks": True, f"{FRICTION}.static_ratio": 1.3}
        sizes[f"friction {part * f * 1e3:g} mN m +-50 %"] = friction | dict.fromkeys(joints, part * f)
    for f in (0.005, 0.01, 0.02) if joints else ():
        sizes[f"cogging {part * f * 1e3:g} mN m"] = {"devices.motors.simulated.cogging_n_m": part * f}
    for slope in (1e-4, 3e-4, 1e-3):
        waves = [{"length_m": length, "slope_g": slope} for length in (0.6, 1.5)]
        sizes[f"waves {slope:.0e} g"] = {"simulation.table.waves": waves}
    for stiffness in (0.1, 0.2, 0.4) if gas else ():
        hoses = [{"module": module, "stiffness_n_m": k * stiffness} for module in floating]
        sizes[f"hose {k * stiffness:g} N/m"] = {"simulation.hoses": hoses}
    for drop in (0.05, 0.1, 0.2) if gas else ():
        sizes[f"supply -{100 * drop:g} % a valve"] = {f"{key}.shared_drop": drop for key in gas}
    for angle in (1.0, 3.0, 5.0) if gas else ():
        sizes[f"nozzles {angle:g} degrees"] = {f"{key}.misalignment_rad": float(np.radians(angle)) for key in gas}
    for i, (lab, changes) in enumerate(sizes.items()):
        if i % 3 == (2 if lab.startswith(("friction", "cogging")) else 1):
            together |= changes
        yield lab, none | changes
    yield "together", together


def fly(bed: Testbed, changes: Mapping[str, Any], seeds: int, machine: str = "", processes: int = 2) -> Outcome:
    """Runs of a testbed in a changed lab."""
    runs = simulate_many(bed, [changes], range(FIRST_SEED, FIRST_SEED + seeds), processes=processes)
    caught = {id(run): len(run.metrics.get("catches") or []) >= MACHINES.get(machine, 0) for run in runs}
    held = [run for run in runs if run.metrics["ended"] == "completed" and caught[id(run)]]
    ended = Counter(run.metrics["ended"] if run.metrics["ended"] != "completed" else "missed" for run in runs)
    ended["missed"] -= len(held)
    errors = np.array([_errors(run, machine) for run in held]).reshape(-1, 4)
    at = np.percentile(errors, 95, axis=0) if len(held) else np.full(4, np.nan)
    impulse = float(errors[:, 3].mean()) if len(held) else float("nan")
    return Outcome(len(runs), len(held), float(at[0]), float(at[1]), float(at[2]), impulse, +ended)


def _errors(run: ManyRun, machine: str) -> tuple[float, float, float, float]:
    """Of position, heading and joints in the last 5 s, or the miss of a catch; and the impulse."""
    metrics: Any = run.metrics
    impulse = metrics["propellant"]["impulse_n_s"] if metrics.get("propellant") else np.nan
    if machine:
        return max(c["miss_m"] for c in metrics["catches"]), np.nan, np.nan, impulse
    last = {name: error["max_in_last_5_s"] for name, error in metrics["tracking_error"].items()}
    joints = [value for name, value in last.items() if name in run.bed.joints]
    position = max(np.hypot(last[name], last[f"{name[:-1]}y"]) for name in last if name.endswith("_x"))
    heading = max(value for name, value in last.items() if name.endswith("_heading"))
    return float(position), heading, max(joints, default=np.nan), impulse


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
    """Print the rows of each testbed."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    seeds = numbers[0] if numbers else 20
    table = csv.writer(sys.stdout, lineterminator="\n")
    for name in [word for word in sys.argv[1:] if not word.isdigit()] or BEDS:
        bed, machine = load(name), name if name in MACHINES else ""
        rows = [(lab, bed, changes) for lab, changes in (*labs(bed, name), ("as the preset", {}))]
        if name in HARSH:
            rows.append(("harsh", load(f"{name}{'-' if '/' in name else '/'}harsh"), {}))
        for lab, flown, changes in rows:
            table.writerow([name, lab, *fly(flown, changes, seeds, machine).row])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
