"""Margins to the limits of the guard: 1 far from a limit, 0 at it, below 0 beyond.

A margin is 1 - |x| / limit for a limit of size, and for a range the distance to the nearer end, over half of the range.
The smallest one of all ticks counts. The names are those of the guard's reasons.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.log import Log

#: a command that is limited misses its limit by rounding: margins below this are 0
_ROUNDING = 1e-12


def names_of(bed: Testbed) -> list[str]:
    """The limits of a testbed that have a margin; `margin` alone is the smallest of them."""
    safety = bed.safety
    floating = any(m.base == "floating" and m.dimension == "planar" for m in bed.known.modules)
    there = {
        "table_edge": floating and safety.table_m is not None,
        "base_too_fast": floating and (safety.base_speed_m_s is not None or safety.base_rate_rad_s is not None),
        "joint_limit": bool(safety.joints),
        "joint_too_fast": bool(safety.joints),
        "tracking_error": bool(followed_indices(bed)),
        "sensor_stale": bool(bed.sensors) and bed.controller is not None,
        "torque": bool(bed.devices_of(Motors)),
    }
    return [name for name, is_there in there.items() if is_there]


def followed_indices(bed: Testbed) -> list[int]:
    """Indices of the coordinates that follow the reference, among those that the controller knows."""
    return list(bed.followed_positions)


def margin(log: Log, name: str) -> float:
    """The smallest margin of a run to the limits of one reason; NaN of a run in which the state was never known."""
    rows = log.rows[log.rows[:, log.channels.columns("/state", "ready")] == 1.0]
    if not len(rows):
        return float("nan")
    least = min((float(np.min(values)) for values in _MARGINS[name](log, rows)), default=float("nan"))
    return 0.0 if abs(least) < _ROUNDING else least


def _table_edge(log: Log, rows: Array) -> Iterator[Array]:
    bed = log.bed
    assert bed.safety.table_m is not None
    lower, upper = bed.safety.table_m[:2], bed.safety.table_m[2:]
    q = rows[:, log.channels.columns("/state", "q")]
    for module in _floating(bed):
        for i, low, high in zip(_indices(bed.known.root_q(module)), lower, upper, strict=False):
            yield _in_range(q[:, i], low, high)


def _base_too_fast(log: Log, rows: Array) -> Iterator[Array]:
    bed = log.bed
    u = rows[:, log.channels.columns("/state", "u")]
    for module in _floating(bed):
        x, y, heading = _indices(bed.known.root_u(module))
        if bed.safety.base_speed_m_s:
            yield 1 - np.hypot(u[:, x], u[:, y]) / bed.safety.base_speed_m_s
        if bed.safety.base_rate_rad_s:
            yield 1 - np.abs(u[:, heading]) / bed.safety.base_rate_rad_s


def _joint_limit(log: Log, rows: Array) -> Iterator[Array]:
    q = rows[:, log.channels.columns("/state", "q")]
    for limit in log.bed.safety.joints:
        yield _in_range(q[:, log.bed.known.joint_q(limit.joint)], limit.lower_rad, limit.upper_rad)


def _joint_too_fast(log: Log, rows: Array) -> Iterator[Array]:
    u = rows[:, log.channels.columns("/state", "u")]
    for limit in log.bed.safety.joints:
        yield 1 - np.abs(u[:, log.bed.known.joint_u(limit.joint)]) / limit.rate_rad_s


def _tracking_error(log: Log, rows: Array) -> Iterator[Array]:
    bed, columns = log.bed, log.channels.columns
    error = np.abs(rows[:, columns("/state", "q")] - rows[:, columns("/reference", "q")])
    most = {"m": bed.safety.tracking_error_m, "rad": bed.safety.tracking_error_rad}
    for i in followed_indices(bed):
        if (unit := bed.known.positions[i].unit) in most:
            yield 1 - error[:, i] / most[unit]


def _sensor_stale(log: Log, rows: Array) -> Iterator[Array]:
    ages = rows[:, log.channels.columns("/state", "ages")]
    for i, name in enumerate(log.bed.sensors):
        yield 1 - ages[:, i] / log.bed.age_limit(name)


def _torque(log: Log, rows: Array) -> Iterator[Array]:
    for name, motors in log.bed.devices_of(Motors).items():
        torque = np.abs(rows[:, log.channels.columns("/command", f"setpoint.{name}")])
        yield 1 - torque / np.array([unit.torque_limit_n_m for unit in motors.units])


_MARGINS = {
    "table_edge": _table_edge,
    "base_too_fast": _base_too_fast,
    "joint_limit": _joint_limit,
    "joint_too_fast": _joint_too_fast,
    "tracking_error": _tracking_error,
    "sensor_stale": _sensor_stale,
    "torque": _torque,
}


def _floating(bed: Testbed) -> list[Module]:
    return [m for m in bed.known.modules if m.base == "floating" and m.dimension == "planar"]


def _in_range(x: Array, lower: float, upper: float) -> Array:
    return np.minimum(x - lower, upper - x) / (0.5 * (upper - lower))


def _indices(part: slice) -> range:
    return range(part.start, part.stop)
