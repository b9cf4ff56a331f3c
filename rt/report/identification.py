"""An identified base beside the numbers of the file: table, sentences and the content of its TOML file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from granite.config.testbed import Testbed
from granite.rt.identification.fit import Identified
from granite.rt.identification.flight import BaseInertia, vehicle_of
from granite.rt.provenance import provenance
from granite.rt.report.table import table
from granite.sim.forces import GRAVITY

_ROWS = (("mass", "kg"), ("mass centre x", "m"), ("mass centre y", "m"), ("inertia", "kg m2"))


def identified_table(found: Identified, expected: BaseInertia) -> Table:
    """Each number with its standard deviation, the file's, and how far that is away."""
    rows = [
        (f"{name} [{unit}]", f"{value:.5g}", f"{spread:.2g}", f"{file:.5g}", f"{(file - value) / spread:+.1f}")
        for (name, unit), value, spread, file in zip(
            _ROWS, found.base.numbers, found.deviation, expected.numbers, strict=True
        )
    ]
    columns = ("of the base", "identified", "deviation", "file", "file's error in deviations")
    return table("Base by its free flight", columns, rows)


def identified_lines(found: Identified, expected: BaseInertia) -> Iterator[str]:
    """Table, residuals and a payload, in sentences."""
    tilt, direction = _slope(found)
    drag = f"{found.drag_ratio:.3g} of the weight (deviation {found.table_deviation[0]:.1g})"
    yield f"table: drag {drag}, slope {tilt:.3g} g towards {direction:.3g} rad"
    x, y, heading = found.pose_deviation * 1e3
    poses = len(found.pose_times)
    yield f"residuals of {poses} poses: {x:.2g} mm, {y:.2g} mm, {heading:.2g} mrad (one standard deviation)"
    if payload := found.payload(expected):
        mass, place = payload
        yield f"a payload: {mass:.3g} kg more than in the file, as if at [{place[0]:.3f}, {place[1]:.3f}] m on the base"


def identified_content(bed: Testbed, log: Path, found: Identified) -> dict[str, Any]:
    """The content of the dated file."""
    module = vehicle_of(bed)[1]
    mass, x, y, inertia = (float(value) for value in found.deviation)
    tilt, direction = _slope(found)
    fingerprint = bed.fingerprint
    made = provenance()
    return {
        "kind": "inertia",
        "date": made["date"],
        "granite": made["granite"],
        "testbed": bed.name,
        **({"model": fingerprint} if fingerprint else {}),
        "log": log.name,
        "module": module.name,
        "body": module.root.name,
        "mass_kg": found.base.mass_kg,
        "com_m": list(found.base.com_m),
        "inertia_kg_m2": found.base.inertia_kg_m2,
        "deviation": {"mass_kg": mass, "com_m": [x, y], "inertia_kg_m2": inertia},
        "table": {"drag_ratio": found.drag_ratio, "tilt_g": tilt, "tilt_direction_rad": direction},
        "residual": {"poses": len(found.pose_times), "deviation": np.asarray(found.pose_deviation).tolist()},
    }


def _slope(found: Identified) -> tuple[float, float]:
    """Slope of the table as a part of gravity, and its direction downhill [rad]."""
    x, y = found.slope_m_s2.tolist()
    return math.hypot(x, y) / GRAVITY, math.atan2(y, x)
