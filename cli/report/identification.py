"""Identified numbers beside those of the file: tables, sentences and the content of a dated TOML file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from granite.calibration.identification.base import IdentifiedBase
from granite.calibration.identification.flight import BaseInertia, vehicle_of
from granite.calibration.identification.motion_fit import Fit
from granite.calibration.identification.thrusters import IdentifiedThrusters
from granite.config.devices.thrusters import Thrusters
from granite.config.testbed import Testbed
from granite.controllers.thrusters.geometry import available_thrust
from granite.mrds.height_map import GRAVITY
from granite.rt.process.provenance import provenance
from granite.views.table import table

_ROWS = (("mass", "kg"), ("mass centre x", "m"), ("mass centre y", "m"), ("inertia", "kg m2"))


def base_table(identified: IdentifiedBase, expected: BaseInertia) -> Table:
    """Each number with its standard deviation, the file's, and how far that is away."""
    rows = [
        (f"{name} [{unit}]", f"{value:.5g}", f"{spread:.2g}", f"{file:.5g}", f"{(file - value) / spread:+.1f}")
        for (name, unit), value, spread, file in zip(
            _ROWS, identified.base.numbers, identified.deviation, expected.numbers, strict=True
        )
    ]
    columns = ("of the base", "identified", "deviation", "file", "file's error in deviations")
    return table("Base by its free flight", columns, rows)


def base_lines(identified: IdentifiedBase, expected: BaseInertia) -> Iterator[str]:
    """Table, residuals and a payload, in sentences."""
    tilt, direction = _slope(identified)
    drag = f"{identified.drag_ratio:.3g} of the weight (deviation {identified.table_deviation[0]:.1g})"
    yield f"table: drag {drag}, slope {tilt:.3g} g towards {direction:.3g} rad"
    yield _residual_line(identified.fit)
    if payload := identified.payload(expected):
        mass, (x, y, *_) = payload
        yield f"a payload: {mass:.3g} kg more than in the file, as if at [{x:.3f}, {y:.3f}] m on the base"


def thrusters_table(identified: IdentifiedThrusters, device: Thrusters) -> Table:
    """Each thrust with its standard deviation, and the file's."""
    rows = [
        (unit.name, f"{value:.4f}", f"{spread:.2g}", f"{unit.thrust_n:g}{', failed' if unit.failed else ''}")
        for unit, value, spread in zip(device.units, identified.thrust_n, identified.deviation, strict=True)
    ]
    return table("Thrusters by a free flight", ("thruster", "thrust [N]", "deviation", "file"), rows)


def thrusters_lines(identified: IdentifiedThrusters, device: Thrusters, swapped: dict[int, int]) -> Iterator[str]:
    """Delay, residuals, and thrusters that are swapped, dead or fired too little, in sentences."""
    delay, spread = (device.valve.delay_s + identified.later_s) * 1e3, identified.later_deviation * 1e3
    yield f"delay of the valves: {delay:.1f} ms (deviation {spread:.1g}), file {device.valve.delay_s * 1e3:g} ms"
    yield _residual_line(identified.fit)
    for i, j in swapped.items():
        yield f"swapped: the command of {device.units[i].name} opens {device.units[j].name}"
    expected = available_thrust(device)
    if dead := identified.dead(expected):
        yield f"dead: {', '.join(device.units[i].name for i in dead)}"
    if unknown := identified.unknown(expected):
        yield f"fired too little to be known: {', '.join(device.units[i].name for i in unknown)}"


def base_content(bed: Testbed, log: Path, identified: IdentifiedBase) -> dict[str, Any]:
    """The content of the file of a base."""
    module = vehicle_of(bed)[1]
    mass, x, y, inertia = (float(value) for value in identified.deviation)
    tilt, direction = _slope(identified)
    return {
        **_head("inertia", bed, log),
        "module": module.name,
        "body": module.root.name,
        "mass_kg": identified.base.mass_kg,
        "com_m": list(identified.base.com_m),
        "inertia_kg_m2": identified.base.inertia_kg_m2,
        "deviation": {"mass_kg": mass, "com_m": [x, y], "inertia_kg_m2": inertia},
        "table": {"drag_ratio": identified.drag_ratio, "tilt_g": tilt, "tilt_direction_rad": direction},
        "residual": _residual(identified.fit),
    }


def thrusters_content(
    bed: Testbed, log: Path, identified: IdentifiedThrusters, swapped: dict[int, int]
) -> dict[str, Any]:
    """The content of the file of thrusters."""
    name = vehicle_of(bed)[0]
    device = bed.devices_of(Thrusters)[name]
    units = [unit.name for unit in device.units]
    return {
        **_head("thrusters", bed, log),
        "device": name,
        "dead": [units[i] for i in identified.dead(available_thrust(device))],
        "swapped": {units[i]: units[j] for i, j in swapped.items()},
        "thrust_n": dict(zip(units, identified.thrust_n.tolist(), strict=True)),
        "valve": {"delay_s": device.valve.delay_s + identified.later_s},
        "deviation": {
            "thrust_n": dict(zip(units, identified.deviation.tolist(), strict=True)),
            "valve": {"delay_s": identified.later_deviation},
        },
        "residual": _residual(identified.fit),
    }


def _head(kind: str, bed: Testbed, log: Path) -> dict[str, Any]:
    """When, from what and for which model."""
    made, model = provenance(), bed.fingerprint
    heading = {"kind": kind, "date": made["date"], "granite": made["granite"], "testbed": bed.name}
    return {**heading, **({"model": model} if model else {}), "log": log.name}


def _residual(fit: Fit) -> dict[str, Any]:
    return {"poses": len(fit.pose_times), "deviation": fit.pose_deviation.tolist()}


def _residual_line(fit: Fit) -> str:
    x, y, heading = fit.pose_deviation * 1e3
    poses = len(fit.pose_times)
    return f"residuals of {poses} poses: {x:.2g} mm, {y:.2g} mm, {heading:.2g} mrad (one standard deviation)"


def _slope(identified: IdentifiedBase) -> tuple[float, float]:
    """Slope of the table as a part of gravity, and its direction downhill [rad]."""
    x, y = identified.slope_m_s2.tolist()
    return math.hypot(x, y) / GRAVITY, math.atan2(y, x)
