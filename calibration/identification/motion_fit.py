"""A motion fitted to the measured poses of a flight by Gauss and Newton's method, with the covariance of its numbers.

Output error: the motion follows from the firings alone, so the noise of the poses does not bias the numbers. The time
fitted grows by steps, since a minute of motion by wrong numbers ends too far off for one linearisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.calibration.identification.flight import FreeFlight
from granite.calibration.identification.momentum import Meaning, Numbers, compiled_motion
from granite.config.errors import InputError
from granite.config.records import Array

#: mass, mass times its centre (x, y) and inertia of the base about its origin, and the wrench of all thrusters with a
#: full tank in its axes, by what is fitted and what is known of the firings in a tick
BaseAndWrench = Callable[[ca.SX, ca.SX], tuple[ca.SX, ca.SX]]
#: what is known before: one standard deviation of drag [1], slope (x, y) [m/s2] and loss of thrust [1/(N s)]
_TABLE = (2e-3, 5e-3, 5e-3, 1e-3)
#: and of pose and velocity at the start
_START = (1.0,) * 6
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


class Fit(NamedTuple):
    """Numbers that explain a flight best."""

    numbers: Array
    covariance: Array
    pose_times: Array  #: since the first tick [s]
    residuals: Array  #: (p, 3) measured less fitted pose

    @property
    def pose_deviation(self) -> Array:
        """One standard deviation of a pose (3), by the residuals."""
        return np.asarray(np.sqrt((self.residuals**2).mean(axis=0)))


def fit_flight(
    flight: FreeFlight, mass_kg: float, firings: Array, first: Array, spread: Array, meaning: BaseAndWrench, key: str
) -> Fit:
    """Numbers of a base or its thrusters that explain a flight best; drag, slope, droop and start are fitted, too.

    Parameters
    ----------
    flight, mass_kg
        What was measured, and the mass of the base.
    firings
        (n, k) what the wrench in each tick follows from.
    first, spread
        The numbers before, and one standard deviation of each.
    meaning, key
        What the numbers mean, and a text that tells this meaning from others.

    Raises
    ------
    InputError
        Where the flight has too few poses or firings, or no numbers explain it.
    """
    _refuse_little(flight, mass_kg)
    n = len(first)

    def numbers(theta: ca.SX, firing: ca.SX) -> Numbers:
        own, drag, slope, droop, begin = ca.vertsplit(theta, [0, n, n + 1, n + 3, n + 4, n + 10])
        base, wrench = meaning(own, firing)
        return Numbers(base, drag, slope, droop, wrench, begin)

    start = np.concatenate((first, np.zeros(4), _start_of(flight)))
    return _fit(FittedMotion(flight, firings, len(start), numbers, key), start, np.array([*spread, *_TABLE, *_START]))


def _refuse_little(flight: FreeFlight, mass_kg: float) -> None:
    """`InputError` for a flight of a base of this mass with too few poses or firings."""
    least = _LEAST_M_S * (mass_kg + flight.masses.sum())
    if len(flight.pose_times) < _FEWEST:
        raise InputError(f"{len(flight.pose_times)} poses", key="log", expected=f"{_FEWEST} or more")
    if flight.impulse[-1] < least:
        problem = f"the thrusters fired {flight.impulse[-1]:.2g} N s"
        raise InputError(problem, key="log", expected=f"{least:.2g} N s or more")


def _start_of(flight: FreeFlight) -> Array:
    """Pose and velocity at the first tick by the first poses."""
    early = flight.pose_times <= flight.pose_times[0] + 0.5
    speeds, at_start = np.polyfit(flight.pose_times[early], flight.poses[early], 1)
    return np.concatenate((at_start, speeds))


def _fit(motion: FittedMotion, start: Array, prior: Array) -> Fit:
    """The numbers that explain it best, from those before and one standard deviation of each."""
    theta = start
    deviation = np.array(_POSE)
    until = _FIRST_S
    whole = motion.duration_s
    while until < whole:
        for _ in range(_ROUGH):
            theta, deviation, _ = _iterate(motion, theta, (start, prior), deviation, until)
        until *= _GROWTH
    for _ in range(_ITERATIONS):
        before = theta
        theta, deviation, covariance = _iterate(motion, theta, (start, prior), deviation, whole)
        if np.all(np.abs(theta - before) < _SMALL * np.sqrt(np.diag(covariance))):
            return Fit(theta, covariance, motion.flight.pose_times, motion.compare(theta, whole)[0])
    raise unexplained()


def unexplained() -> InputError:
    """The error for a flight that no numbers explain."""
    return InputError("no numbers of the model explain the poses", key="log", expected="a free flight without pushes")


class FittedMotion:
    """Poses of a flight and their derivatives by the fitted numbers.

    Parameters
    ----------
    flight
        What was measured.
    firings
        (n, k) what the wrench in each tick follows from.
    fitted, meaning, key
        How many numbers are fitted, what they mean, and a text that tells this meaning from others.
    """

    def __init__(self, flight: FreeFlight, firings: Array, fitted: int, meaning: Meaning, key: str) -> None:
        kernels = compiled_motion(flight, fitted, firings.shape[1], meaning, key)
        self.flight = flight
        self._start = kernels["start"].run
        self._step = kernels["step"].run
        dt, n = flight.period_s, len(firings)
        between = (flight.centres[1:] + flight.centres[:-1]) / 2
        speed = np.diff(flight.centres, axis=0) / dt
        spin = np.diff(flight.headings, axis=0) / dt
        parts = (firings, flight.impulse[:, None], between.reshape(n, -1), speed.reshape(n, -1), spin)
        self._inputs = np.hstack(parts)

    @property
    def duration_s(self) -> float:
        """Of the whole flight."""
        return self.flight.period_s * len(self._inputs)

    def compare(self, theta: Array, until: float) -> tuple[Array, Array]:
        """Measured less fitted poses (p, 3) up to a time, and the derivatives of the fitted ones (p, 3, n)."""
        flight = self.flight
        used = flight.pose_times <= until
        times = flight.pose_times[used] / flight.period_s
        ticks = min(int(np.ceil(times[-1])), len(self._inputs))
        states = np.empty((ticks + 1, 6 * (1 + len(theta))))
        states[0] = self._start((self._inputs[0], theta))
        for k, inputs in enumerate(self._inputs[:ticks]):
            states[k + 1] = self._step((states[k], inputs, theta))
        before = np.minimum(times.astype(int), ticks - 1)
        part = (times - before)[:, None]
        seen = (1 - part) * states[before] + part * states[before + 1]
        residual = flight.poses[used] - seen[:, :3]
        residual[:, 2] = (residual[:, 2] + np.pi) % (2 * np.pi) - np.pi
        return residual, seen[:, 6:].reshape(-1, len(theta), 6).transpose(0, 2, 1)[:, :3]


def _iterate(
    motion: FittedMotion, theta: Array, prior: tuple[Array, Array], deviation: Array, until: float
) -> tuple[Array, Array, Array]:
    """Better numbers, the standard deviation of a pose by the residuals, and the covariance of the numbers."""
    residual, jacobian = motion.compare(theta, until)
    mean, spread = prior
    rows = np.vstack(((jacobian / deviation[:, None]).reshape(-1, len(theta)), np.diag(1 / spread)))
    errors = np.concatenate(((residual / deviation).ravel(), (mean - theta) / spread))
    if not np.isfinite(rows).all():
        raise unexplained()
    scale = np.linalg.norm(rows, axis=0)
    scaled = rows / scale
    try:
        covariance = np.linalg.inv(scaled.T @ scaled) / np.outer(scale, scale)
    except np.linalg.LinAlgError:  # diverged so far that the prior is lost in rounding
        raise unexplained() from None
    if not np.all(np.diag(covariance) > 0):
        raise unexplained()
    after = np.maximum(np.sqrt((residual**2).mean(axis=0)), _LEAST_POSE)
    return theta + covariance @ (rows.T @ errors), after, covariance
