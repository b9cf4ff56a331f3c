"""Mass, mass centre and inertia of a floating base, with drag and slope of the table, from a planar free flight.

Gauss and Newton's method fits the motion that follows from the logged firings to the measured poses (output error: the
noise of the poses does not bias the numbers). The time fitted grows by steps, since a minute of motion by wrong numbers
ends too far off for one linearisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.rt.identification.flight import BaseInertia, FreeFlight
from granite.rt.identification.momentum import N_FITTED, compiled_motion

#: what is known before: one standard deviation of slope [m/s^2], drag [1] and loss of thrust by impulse [1/(N s)]
_SLOPE, _DRAG, _DROOP = 5e-3, 2e-3, 1e-3
#: of mass and inertia relative to the file's, and of the mass centre [m]
_RELATIVE, _CENTRE = 0.5, 0.1
#: the first time fitted [s], and how it grows
_FIRST_S, _GROWTH = 3.0, 2.0
#: most iterations of the whole, and those of each shorter time
_ITERATIONS, _ROUGH = 15, 3
#: standard deviation of a pose at first, and the least [m, m, rad]
_POSE, _LEAST_POSE = (1e-3, 1e-3, 2e-3), 1e-7
#: a change of this part of a standard deviation ends the iterations
_SMALL = 0.02
#: fewest poses, and least impulse of the thrusters [N s] for each kilogram
_FEWEST, _LEAST_M_S = 100, 0.02


class Identified(NamedTuple):
    """The numbers that explain a flight best."""

    base: BaseInertia
    covariance: Array  #: (4, 4) of mass, mass centre and inertia
    drag_ratio: float
    slope_m_s2: Array  #: (2) acceleration by the slope of the table
    table_deviation: Array  #: (3) of drag ratio and slope
    pose_times: Array
    residuals: Array  #: (p, 3) measured less fitted pose
    pose_deviation: Array  #: (3) of one pose, by the residuals

    @property
    def deviation(self) -> Array:
        """One standard deviation of mass, mass centre (x, y) and inertia (4)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def payload(self, expected: BaseInertia) -> tuple[float, Array] | None:
        """Mass [kg] and place [m] of a payload that the file does not know; None where the mass is as expected."""
        more = self.base.mass_kg - expected.mass_kg
        if more < max(4 * self.deviation[0], 0.02 * expected.mass_kg):
            return None
        found, known = self.base, expected
        place = (found.mass_kg * np.array(found.com_m) - known.mass_kg * np.array(known.com_m)) / more
        return more, place


def identify_base(flight: FreeFlight, expected: BaseInertia) -> Identified:
    """Fit the numbers of a base to a flight.

    Parameters
    ----------
    flight
        Firings, motion of the carried bodies and poses.
    expected
        The numbers in the file, where the search starts.

    Raises
    ------
    InputError
        Where the flight has too few poses or firings, or no numbers explain it.
    """
    least = _LEAST_M_S * (expected.mass_kg + flight.masses.sum())
    if len(flight.pose_times) < _FEWEST:
        raise InputError(f"{len(flight.pose_times)} poses", key="log", expected=f"{_FEWEST} or more")
    if flight.impulse[-1] < least:
        found = f"the thrusters fired {flight.impulse[-1]:.2g} N s"
        raise InputError(found, key="log", expected=f"{least:.2g} N s or more to show mass and inertia")
    motion, (theta, prior) = _Motion(flight), _first_guess(flight, expected)
    start, deviation, until = theta, np.array(_POSE), _FIRST_S
    whole = flight.period_s * len(flight.wrench)
    while until < whole:
        for _ in range(_ROUGH):
            theta, deviation, _ = _iterate(motion, theta, (start, prior), deviation, until)
        until *= _GROWTH
    for _ in range(_ITERATIONS):
        before = theta
        theta, deviation, covariance = _iterate(motion, theta, (start, prior), deviation, whole)
        if np.all(np.abs(theta - before) < _SMALL * np.sqrt(np.diag(covariance))):
            return _identified(flight, theta, covariance, motion.compare(theta, whole)[0])
    raise _unexplained()


def _iterate(
    motion: _Motion, theta: Array, prior: tuple[Array, Array], deviation: Array, until: float
) -> tuple[Array, Array, Array]:
    """Better numbers, the standard deviation of a pose by the residuals, and the covariance of the numbers."""
    residual, jacobian = motion.compare(theta, until)
    mean, spread = prior
    rows = np.vstack(((jacobian / deviation[:, None]).reshape(-1, N_FITTED), np.diag(1 / spread)))
    errors = np.concatenate(((residual / deviation).ravel(), (mean - theta) / spread))
    if not np.isfinite(rows).all():
        raise _unexplained()
    scale = np.linalg.norm(rows, axis=0)
    inverse = np.linalg.pinv(rows / scale) / scale[:, None]
    after = np.maximum(np.sqrt((residual**2).mean(axis=0)), _LEAST_POSE)
    return theta + inverse @ errors, after, inverse @ inverse.T


def _unexplained() -> InputError:
    return InputError("no mass and inertia explain the poses", key="log", expected="a free flight without pushes")


def _first_guess(flight: FreeFlight, expected: BaseInertia) -> tuple[Array, Array]:
    """The numbers and the start by the file and the first poses, and their standard deviations."""
    m, c = expected.mass_kg, np.array(expected.com_m)
    about_origin = expected.inertia_kg_m2 + m * c @ c
    early = flight.pose_times <= flight.pose_times[0] + 0.5
    slopes, at_start = np.polyfit(flight.pose_times[early], flight.poses[early], 1)
    theta = np.array([m, *(m * c), about_origin, 0.0, 0.0, 0.0, 0.0, *at_start, *slopes])
    numbers = [_RELATIVE * m, _CENTRE * m, _CENTRE * m, _RELATIVE * about_origin, _DRAG, _SLOPE, _SLOPE, _DROOP]
    return theta, np.array([*numbers, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


def _identified(flight: FreeFlight, theta: Array, covariance: Array, residual: Array) -> Identified:
    m, sx, sy, about_origin = theta[:4]
    c = np.array([sx, sy]) / m
    # Derivatives of mass, c = s/m and I = I_O - s^2/m by mass, s and I_O.
    J = np.array([[1, 0, 0, 0], [-c[0] / m, 1 / m, 0, 0], [-c[1] / m, 0, 1 / m, 0], [c @ c, -2 * c[0], -2 * c[1], 1]])
    if m <= 0 or about_origin - m * c @ c <= 0:
        raise _unexplained()
    base = BaseInertia(float(m), (float(c[0]), float(c[1])), float(about_origin - m * c @ c))
    table = np.sqrt(np.diag(covariance)[4:7])
    own = J @ covariance[:4, :4] @ J.T
    spread = np.sqrt((residual**2).mean(axis=0))
    return Identified(base, own, float(theta[4]), theta[5:7], table, flight.pose_times, residual, spread)


class _Motion:
    """Poses of a flight and their derivatives by the fitted numbers."""

    def __init__(self, flight: FreeFlight) -> None:
        kernels = compiled_motion(flight)
        self._flight, self._start, self._step = flight, kernels["start"].run, kernels["step"].run
        dt, n = flight.period_s, len(flight.wrench)
        between = (flight.centres[1:] + flight.centres[:-1]) / 2
        speed, spin = np.diff(flight.centres, axis=0) / dt, np.diff(flight.headings, axis=0) / dt
        parts = (flight.wrench, flight.impulse[:, None], between.reshape(n, -1), speed.reshape(n, -1), spin)
        self._inputs = np.hstack(parts)

    def compare(self, theta: Array, until: float) -> tuple[Array, Array]:
        """Measured less fitted poses (p, 3) up to a time, and the derivatives of the fitted ones (p, 3, n)."""
        flight = self._flight
        used = flight.pose_times <= until
        times = flight.pose_times[used] / flight.period_s
        ticks = min(int(np.ceil(times[-1])), len(self._inputs))
        states = np.empty((ticks + 1, 6 * (1 + N_FITTED)))
        states[0] = self._start((self._inputs[0], theta))
        for k, given in enumerate(self._inputs[:ticks]):
            states[k + 1] = self._step((states[k], given, theta))
        before = np.minimum(times.astype(int), ticks - 1)
        part = (times - before)[:, None]
        seen = (1 - part) * states[before] + part * states[before + 1]
        residual = flight.poses[used] - seen[:, :3]
        residual[:, 2] = (residual[:, 2] + np.pi) % (2 * np.pi) - np.pi
        return residual, seen[:, 6:].reshape(-1, N_FITTED, 6).transpose(0, 2, 1)[:, :3]
