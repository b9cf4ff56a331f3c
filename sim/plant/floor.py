"""Slope of the floor by place: tilt, waves, steps between plates, and a map of heights."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca

from granite.config.floor import GraniteTable, PlateStep
from granite.mrds import height_map


def downhill(table: GraniteTable, weight: float, position: ca.SX, drawn: Mapping[str, ca.SX]) -> ca.SX:
    """Force of the slope on a body with this weight at a place (3) [N]."""
    total = weight * table.tilt_g * _along(table.tilt_direction_rad)
    for i, wave in enumerate(table.waves):
        direction = drawn["wave_directions"][i] if wave.direction_rad is None else wave.direction_rad
        across, phase = _along(direction), drawn["wave_phases"][i]
        slope = wave.slope_g * ca.sin(math.tau / wave.length_m * ca.dot(across, position) + phase)
        total += weight * slope * across
    for step in table.steps:
        total += weight * _step(step, position)
    if table.map is not None:
        total += weight * ca.vertcat(height_map.downhill(table.map, position), 0)
    return total


def _step(step: PlateStep, position: ca.SX) -> ca.SX:
    """Slope (height / pad) (1 + cos(2 pi s / pad)) over the width of a pad: its integral is the height."""
    down = _along(step.direction_rad)
    s = ca.dot(down, position - ca.vertcat(*step.position_m, 0)) / step.pad_m
    slope = step.height_m / step.pad_m * (1 + ca.cos(math.tau * s))
    return ca.if_else(ca.fabs(s) < 0.5, slope, 0) * down


def _along(direction: ca.SX | float) -> ca.SX:
    return ca.vertcat(ca.cos(direction), ca.sin(direction), ca.SX(0))
