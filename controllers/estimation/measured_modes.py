"""Amplitudes of the modes of flexible links from strain gauges.

Strain is linear in the amplitudes, s = S a; with at least as many independent gauges as modes, a = S^+ s.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.devices.gauge import Gauge
from granite.config.devices.strain_gauges import StrainGauges
from granite.config.layout import Layout
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.flexible.curvature import strain

#: gains of the amplitude, and of its rate times the period (critically damped: beta = alpha^2 / (2 - alpha))
_ALPHA, _BETA = 0.8, 0.53


def mode_indices(layout: Layout) -> list[int]:
    """Where the modes of all modules stand among the velocities."""
    indices: list[int] = []
    for module in layout.modules:
        stop = layout.u[module.name].stop
        indices += range(stop - len(amplitudes(module)), stop)
    return indices


def mode_map(bed: Testbed) -> Array | None:
    """(modes of the known modules x signals of all gauges): S^+, or None where strains do not determine the modes."""
    modes, rows = mode_indices(bed.known), []
    if not modes:
        return None
    for device in bed.devices_of(Gauge).values():
        if isinstance(device, StrainGauges):
            rows += [strain(bed.known, g.link, g.axis, g.position_m, g.distance_m)[modes] for g in device.units]
        else:
            rows += [np.zeros(len(modes))] * len(device.signals(bed))
    S = np.array(rows).reshape(-1, len(modes))
    if np.linalg.matrix_rank(S) < len(modes):
        return None
    inverse: Array = np.linalg.pinv(S).astype(np.float64, copy=False)
    return inverse


class MeasuredModes:
    """Amplitudes and rates of the modes of an estimator, where gauges measure them; else both are zero."""

    def __init__(self, n: int) -> None:
        self.are_measured = False
        self.amplitude: Array = np.zeros(n)
        self.rate: Array = np.zeros(n)


def filtered(measured: ca.SX, amplitude: ca.SX, rate: ca.SX, dt: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Amplitudes and rates a time dt after the last ones, by an alpha-beta filter: no forces need be known."""
    predicted = amplitude + dt * rate
    miss = measured - predicted
    return predicted + _ALPHA * miss, rate + _BETA / dt * miss
