"""Follow a path: a figure of eight, once as a function and once as a CSV file.

python examples/own_path.py
"""

from math import cos, pi, sin
from pathlib import Path

import granite

PERIOD_S = 60.0


def figure_eight(t: float) -> dict[str, float]:
    """Where the base should be at time t: from rest to rest, so the phase has minimum jerk."""
    tau = t / PERIOD_S
    phase = 2 * pi * tau**3 * (10 + tau * (6 * tau - 15))
    return {
        "base_x_m": 1.0 + 0.4 * (1 - cos(phase)),
        "base_y_m": 0.8 + 0.15 * sin(2 * phase),
        "base_heading_rad": 0.5 * sin(phase),
    }


def write_csv(file: Path, step_s: float = 0.5) -> None:
    """The same path as a file."""
    times = [k * step_s for k in range(round(PERIOD_S / step_s) + 1)]
    rows = [{"t_s": t, **figure_eight(t)} for t in times]
    lines = [",".join(rows[0]), *(",".join(f"{value:.6f}" for value in row.values()) for row in rows)]
    file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    here = Path(__file__).parent
    paths = {
        "function": {"path": f"{here / 'own_path.py'}:figure_eight", "duration_s": PERIOD_S},
        "file": {"path": str(here / "figure_eight.csv")},
    }
    for name, path in paths.items():
        behaviour = {"kind": "follow", "hold_s": 3.0, **path}
        bed = granite.load("free-flyer", {"behaviour": behaviour, "loop.duration_s": 65.0})
        log = granite.simulate(bed)
        errors = log.summary["tracking_error"]
        most = max(errors[key]["max"] for key in ("base_x", "base_y"))
        print(f"{name}: within {most * 1e3:.1f} mm of the path")
