"""Sharing methods and modulations on the move of the free-flyer: the table of `docs/control.md`.

python -m benchmarks.modulation
"""

from __future__ import annotations

import numpy as np

from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory

_SEEDS = 5
#: name of the row, testbed, and its changes
_ROWS = (
    ("`pseudo_inverse`", "`threshold`", "free-flyer", "pseudo_inverse", "threshold"),
    ("`pseudo_inverse`", "`threshold`, minimum jerk (`free-flyer/report-1987`)", "free-flyer/report-1987", "", ""),
    ("`pseudo_inverse`", "`pulse_width`", "free-flyer", "pseudo_inverse", "pulse_width"),
    ("`pseudo_inverse`", "`delta_sigma` (`free-flyer`)", "free-flyer", "", ""),
    ("`pseudo_inverse`", "`delta_sigma`, `cancel_opposite = false`", "free-flyer", "pseudo_inverse",
     "{kind='delta_sigma', cancel_opposite=false}"),
    ("`least_propellant`", "`threshold`", "free-flyer", "least_propellant", "threshold"),
    ("`least_propellant`", "`pulse_width` (`free-flyer/pulse-width`)", "free-flyer/pulse-width", "", ""),
    ("`least_propellant`", "`delta_sigma`", "free-flyer", "least_propellant", "delta_sigma"),
    ("`best_pattern`", "`threshold`", "free-flyer", "best_pattern", "threshold"),
)  # fmt: skip


def main() -> None:
    """Print the rows: medians over the seeds."""
    for method, modulation, bed, sharing, kind in _ROWS:
        changes = (
            [f"controller.allocation.sharing={sharing}", f"controller.allocation.modulation={kind}"] if kind else []
        )
        found = np.median([_flown(bed, [*changes, f"seed={seed}"]) for seed in range(1, _SEEDS + 1)], axis=0)
        numbers = " | ".join(f"{number:.1f}" for number in found[:-1])
        print(f"| {method} | {modulation} | {numbers} | {found[-1]:.0f} |", flush=True)


def _flown(bed: str, changes: list[str]) -> list[float]:
    """Largest errors of x, y [mm], heading and joints [mrad] in the last 5 s, impulse [N s] and pulses of a run."""
    summary = simulate_in_memory(load(bed, changes)).summary
    assert summary is not None
    errors = {name: error["max_in_last_5_s"] * 1e3 for name, error in summary["tracking_error"].items()}
    joints = max(errors["shoulder"], errors["elbow"])
    used = summary["propellant"]
    base = [errors[name] for name in ("base_x", "base_y", "base_heading")]
    return [*base, joints, used["impulse_n_s"], used["pulses"]]


if __name__ == "__main__":
    main()
