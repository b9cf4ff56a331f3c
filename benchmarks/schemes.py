"""Sun's schemes of force distribution on his planar set-ups: the table of `docs/force-distribution.md`.

python -m benchmarks.schemes
"""

from __future__ import annotations

import csv
import re
import sys
from typing import Any

from granite import GraniteError, load
from granite.rt.run_in_memory import simulate_in_memory

_SETUPS = ("frr-o-rrr", "rfr-o-rrr", "ffr-o-rrr", "frr-o-rrf")
_LEFT = {
    "kind": "torque_norm",
    "joint_weight": dict.fromkeys((f"right_{joint}" for joint in ("base", "elbow", "wrist")), 1e-10),
}
_STRAIN = {"kind": "least_strain_energy", "ahead_s": 4e-3}
#: title and objectives
_SCHEMES: tuple[tuple[str, list[Any]], ...] = (
    ("`least_internal_force`", ["least_internal_force"]),
    ("`torque_norm`", ["torque_norm"]),
    ("`joint_load_sharing`", ["joint_load_sharing"]),
    ("`torque_norm` of the left arm", [_LEFT]),
    ("`least_elastic_acceleration`", ["least_elastic_acceleration"]),
    ("`least_strain_energy`, `ahead_s` 4e-3", [_STRAIN]),
    ("`torque_norm`, `least_elastic_acceleration`", ["torque_norm", "least_elastic_acceleration"]),
    ("`torque_norm` of the left arm, `least_strain_energy`", [_LEFT, _STRAIN]),
    ("`led_from_outside`", ["led_from_outside"]),
)
#: those that do not ask for accelerations of the modes
_QUASI_STATIC = _SCHEMES[:4]


def main() -> None:
    """Print the rows."""
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write(["scheme", *(name.upper() for name in _SETUPS)])
    for schemes, modes in ((_SCHEMES, "inverse_dynamics"), (_QUASI_STATIC, "quasi_static")):
        for title, objective in schemes:
            cells = [_outcome(name, objective, modes) for name in _SETUPS]
            write([title + (", quasi-static" if modes == "quasi_static" else ""), *cells])
            sys.stdout.flush()


def _outcome(name: str, objective: list[Any], modes: str) -> str:
    """Largest error of the bar and strain energy of a run; or why there is none."""
    law = "controller.law"
    changes = {f"{law}.modes": modes, f"{law}.distribution.objective": objective, f"{law}.allow_unstable": False}
    try:
        summary = simulate_in_memory(load(f"sun-planar/{name}", changes)).summary
    except GraniteError as refusal:
        growth = re.search(r"grows? by (\S+) 1/s", str(refusal))
        if growth is None:
            raise
        return f"refused: {float(growth[1]):.2g} 1/s"
    assert summary is not None
    if summary["ended"] != "completed":
        return f"ended at {summary['duration_s']:.2g} s"
    off = max(summary["tracking_error"][f"object_bar_{c}"]["max"] for c in "xy")
    turned = summary["tracking_error"]["object_bar_heading"]["max"]
    return f"{1e3 * off:.3f} mm, {1e3 * turned:.2f} mrad, {summary['energy']['largest_elastic_j']:.1g} J"


if __name__ == "__main__":
    main()
