"""Heights of the floor from a flight over it: least squares of how the mass centre moved.

The mass centre c of the vehicle moves by M c'' = thrust + sum m_b g slope(x_b) - drag, whatever its arms do. Thrust is
that of the valves' openings by the data sheet; the positions x_b are measured. So what is left of c'' is linear in the
heights, and so are its integrals: over some seconds each, with position and velocity at the start of each left free,

    measured c - twice integrated thrust = c_0 + v_0 t + (twice integrated slopes) h + errors of the thrust and drag

Errors that a lab may have are fitted beside the heights, within what is known of them before: gain and direction of
every nozzle, loss of thrust by the impulse spent and by every further open valve, and drag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.calibration.identification.flight import BaseInertia, FreeFlight
from granite.config.errors import InputError
from granite.config.records import Array
from granite.mrds.height_map import GRAVITY, slope_rows

#: of a stretch whose start is fitted [s], and the time over which poses are averaged [s]
_STRETCH_S, _AVERAGED_S = 4.0, 0.07
#: ticks for which a slope counts as constant: 20 ms, 2 mm at the speed of a survey
_SLOPE_S = 0.02
#: one standard deviation before: slope between neighbours, error of a nozzle, loss by a tank, by a valve, drag
_SLOPE, _NOZZLE, _LOSS, _SHARED, _DRAG = 2e-3, 0.1, 0.2, 0.2, 1e-3
#: below this speed drag has no direction [m/s]
_SLOW_M_S = 5e-3
#: fewest stretches
_FEWEST = 20


class HeightGrid(NamedTuple):
    """Where the heights are."""

    corner_m: tuple[float, float]
    spacing_m: float
    rows: int
    columns: int


class FloorFit(NamedTuple):
    """The heights that explain a flight best."""

    heights: Array  #: (rows * columns) row after row [m]; their mean is 0
    covariance: Array
    drag_ratio: float
    residual: Array  #: (k, 2) what is left of the averaged positions [m]
    positions: Array  #: (k, 2) where
    freedom: int


def fit_floor(flight: FreeFlight, base: BaseInertia, path: Array, grid: HeightGrid, pose_m: float) -> FloorFit:
    """Fit heights to a flight.

    Parameters
    ----------
    flight, base
        Firings, carried bodies and poses; mass and mass centre of the base.
    path
        Pose of the base at every tick (n + 1, 3).
    grid
        Where the heights are.
    pose_m
        Deviation of a measured position.

    Raises
    ------
    InputError
        Where the flight is too short.
    """
    ticks = max(1, round(_STRETCH_S / flight.period_s))
    stretches = [_Stretch(flight, base, path, k, k + ticks) for k in range(0, len(flight.openings) - ticks + 1, ticks)]
    blocks = [block for stretch in stretches if (block := stretch.equations(grid)) is not None]
    if len(blocks) < _FEWEST:
        raise InputError(f"{len(blocks)} stretches of {_STRETCH_S:g} s with poses", expected=f"at least {_FEWEST}")
    rows, measured, positions = (np.concatenate([block[i] for block in blocks]) for i in range(3))
    averaged = max(1.0, _AVERAGED_S * len(flight.pose_times) / (len(flight.openings) * flight.period_s))
    prior = _known_before(grid, len(flight.thrust))
    sigma = max(pose_m, 1e-6) / np.sqrt(averaged)
    # Normal equations: what is known before keeps them well-conditioned, and they are ten times faster than QR.
    inverse = np.linalg.inv(rows.T @ rows + sigma**2 * prior.T @ prior)
    values = inverse @ (rows.T @ measured)
    residual = measured - rows @ values
    freedom = len(measured) - 4 * len(blocks) - rows.shape[1]
    if freedom < 100:
        raise InputError(f"{len(measured)} positions for {rows.shape[1]} numbers", expected="a longer flight")
    n = grid.rows * grid.columns
    covariance = inverse[:n, :n] * max(float(residual @ residual) / freedom, sigma**2)
    return FloorFit(values[:n], covariance, float(values[-1]), residual.reshape(-1, 2), positions, freedom)


class _Stretch:
    """Some seconds of a flight, from tick `first` to tick `last`."""

    def __init__(self, flight: FreeFlight, base: BaseInertia, path: Array, first: int, last: int) -> None:
        self._flight, self._path, self._rows = flight, path[first : last + 1], slice(first, last)
        masses = np.array([base.mass_kg, *flight.masses])
        own = np.broadcast_to(base.com_m, (last + 1 - first, 1, 2))
        centres = np.concatenate((own, flight.centres[first : last + 1]), axis=1)
        self._parts = masses / masses.sum()
        self._mass = float(masses.sum())
        #: of the mass centre and of each body, from the origin of the base in its axes
        self._centre = np.einsum("b,tbi->ti", self._parts, centres)
        self._bodies = centres
        t0, t1 = first * flight.period_s, last * flight.period_s
        self._seen = np.flatnonzero((flight.pose_times >= t0) & (flight.pose_times < t1))
        self._t = flight.pose_times[self._seen] - t0

    def equations(self, grid: HeightGrid) -> tuple[Array, Array, Array] | None:
        """Rows of the numbers (2 k, n), motion (2 k) without that of a start, positions (k, 2); None without poses."""
        flight, dt = self._flight, self._flight.period_s
        count = max(1, round(_AVERAGED_S * len(self._t) / (dt * (len(self._path) - 1))))
        k = len(self._t) // count
        if k < 8:
            return None
        heading = self._path[:-1, 2]
        R = np.moveaxis(np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]]), 2, 0)
        opening = flight.openings[self._rows]
        # Of each nozzle: along its direction, and across it.
        along = np.einsum("tij,jk->tki", R, flight.matrix[:2]) * (flight.thrust * opening / self._mass)[:, :, None]
        across = np.stack((-along[:, :, 1], along[:, :, 0]), axis=2)
        thrust = along.sum(axis=1)
        spent = flight.impulse[self._rows, None] / max(1.0, float(flight.impulse[-1]))
        others = np.maximum(opening.sum(axis=1) - 1, 0)[:, None]
        velocity = np.diff(self._path[:, :2], axis=0) / dt
        speed = np.hypot(*velocity.T)[:, None]
        drag = -GRAVITY * velocity / np.maximum(speed, _SLOW_M_S)
        columns = [np.moveaxis(along, 1, 2), np.moveaxis(across, 1, 2)]
        columns += [(-thrust * spent)[:, :, None], (-thrust * others)[:, :, None], drag[:, :, None]]
        every = max(1, round(_SLOPE_S / dt))
        slopes = _twice_integrated(self._slopes(grid, R, every), every * dt)
        errors = _twice_integrated(np.concatenate(columns, axis=2), dt)
        rows = np.concatenate((self._at_poses(slopes, every), self._at_poses(errors)), axis=2)
        known = self._at_poses(_twice_integrated(thrust[:, :, None], dt))[:, :, 0]
        pose, centre = flight.poses[self._seen], self._at_poses(self._centre)
        c, s = np.cos(pose[:, 2]), np.sin(pose[:, 2])
        turned = np.stack((c * centre[:, 0] - s * centre[:, 1], s * centre[:, 0] + c * centre[:, 1]), axis=1)
        left = pose[:, :2] + turned - known
        mean = [part[: k * count].reshape(k, count, *part.shape[1:]).mean(axis=1) for part in (rows, left, pose[:, :2])]
        free = np.linalg.qr(np.stack((np.ones(k), self._t[: k * count].reshape(k, count).mean(axis=1)), axis=1))[0]
        rows, left = (part - np.tensordot(free, np.tensordot(free.T, part, 1), 1) for part in mean[:2])
        return rows.reshape(2 * k, -1), left.ravel(), mean[2]

    def _slopes(self, grid: HeightGrid, R: Array, every: int) -> Array:
        """Acceleration by each height at every so many ticks (k, 2, n)."""
        at = np.arange(0, len(R), every)
        total = np.zeros((len(at), 2, grid.rows * grid.columns))
        for b, part in enumerate(self._parts):
            positions = self._path[at, :2] + np.einsum("tij,tj->ti", R[at], self._bodies[at, b])
            total += part * slope_rows(grid.corner_m, grid.spacing_m, (grid.rows, grid.columns), positions)
        return GRAVITY * total

    def _at_poses(self, values: Array, every: int = 1) -> Array:
        """Values at every so many ticks (k + 1, ...), at the times of the poses."""
        s = self._t / (every * self._flight.period_s)
        before = np.minimum(s.astype(int), len(values) - 2)
        part = (s - before).reshape(-1, *(1,) * (values.ndim - 1))
        return np.asarray((1 - part) * values[before] + part * values[before + 1])


def _twice_integrated(acceleration: Array, dt: float) -> Array:
    """Displacement at each tick, the last one included, from rest under accelerations that are constant in a tick."""
    zero = np.zeros((1, *acceleration.shape[1:]))
    velocity = np.concatenate((zero, np.cumsum(acceleration, axis=0) * dt))
    steps = velocity[:-1] * dt + acceleration * (dt * dt / 2)
    return np.concatenate((zero, np.cumsum(steps, axis=0)))


def _known_before(grid: HeightGrid, nozzles: int) -> Array:
    """Rows of what is known before to be zero, each in its standard deviation."""
    n, others = grid.rows * grid.columns, 2 * nozzles + 3
    index = np.arange(n).reshape(grid.rows, grid.columns)
    pairs = [*zip(index[:, :-1].ravel(), index[:, 1:].ravel(), strict=True)]
    pairs += [*zip(index[:-1].ravel(), index[1:].ravel(), strict=True)]
    rows = np.zeros((len(pairs) + 1 + others, n + others))
    for k, (i, j) in enumerate(pairs):
        rows[k, i], rows[k, j] = -1 / (_SLOPE * grid.spacing_m), 1 / (_SLOPE * grid.spacing_m)
    rows[len(pairs), :n] = 1 / (n * 1e-7)  # heights are from their mean
    deviations = np.array([_NOZZLE] * 2 * nozzles + [_LOSS, _SHARED, _DRAG])
    rows[len(pairs) + 1 :, n:] = np.diag(1 / deviations)
    return rows
