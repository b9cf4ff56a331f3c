"""The heading of a body that swings, or that valves turn to and fro, as it arrives from a pose sensor."""

from __future__ import annotations

from math import pi
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import nnls

from granite.calibration.swing import Swing
from granite.config.records import Array


class SeenHeading(NamedTuple):
    """Headings and when they arrived, halfway between two ticks."""

    arrived: Array  #: [s]
    heading: Array  #: [rad]

    @property
    def since(self) -> Array:
        """Time since the first arrival [s]."""
        return np.asarray(self.arrived - self.arrived[0])


class HeadingModel(Protocol):
    """A motion with some numbers of its own beside the delays."""

    seen: SeenHeading
    start: Array  #: first values of its own numbers
    scale: Array  #: their sizes, for derivatives

    def headings(self, delays: Array, numbers: Array) -> Array:
        """Headings at the times of arrival [rad]."""

    def exact(self, numbers: Array) -> Array:
        """Residuals of what else was measured, in deviations."""


class SwingingHeading:
    """h0 + a sin(w (t - L - t0)) + a3 sin(3 w (t - L - t0)) while flags pass at t0 + j T/2 + (-1)^j e.

    Own numbers: T, t0, e, h0, a, a3.
    """

    def __init__(self, seen: SeenHeading, timed: Swing) -> None:
        self.seen = seen
        self._times = timed.times
        self._deviation = float(np.sqrt(timed.residual @ timed.residual / (len(timed.times) - 3)))
        w = 2 * pi / timed.period
        phase = w * (seen.arrived - timed.middle)
        rows = np.column_stack((np.ones(len(phase)), np.sin(phase), np.cos(phase)))
        h0, sine, cosine = np.linalg.lstsq(rows, seen.heading, rcond=None)[0].tolist()
        # Which way the first pass went is not known: of all latencies half a period apart, the one near zero.
        eighth = timed.period / 8
        #: first value of the latency
        self.latency = (np.arctan2(-cosine, sine) / w + eighth) % (timed.period / 2) - eighth
        size = float(np.hypot(sine, cosine)) * (1 if np.cos(w * self.latency) * sine >= 0 else -1)
        e = float(
            np.mean((-1.0) ** np.arange(len(self._times)) * (self._times - self._passes(timed.period, timed.middle)))
        )
        self.start = np.array([timed.period, timed.middle, e, h0, size, 0.0])
        self.scale = np.array([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2])

    def headings(self, delays: Array, numbers: Array) -> Array:
        """At the times of arrival."""
        period, middle, _, h0, a, a3 = numbers
        phase = 2 * pi / period * (self.seen.arrived - delays[0] - middle)
        return np.asarray(h0 + a * np.sin(phase) + a3 * np.sin(3 * phase))

    def exact(self, numbers: Array) -> Array:
        """Of the passes."""
        sides = numbers[2] * (-1.0) ** np.arange(len(self._times))
        return np.asarray((self._times - self._passes(numbers[0], numbers[1]) - sides) / self._deviation)

    def _passes(self, period: float, middle: float) -> Array:
        return np.asarray(middle + period / 2 * np.arange(len(self._times)))


class TurnedHeading:
    """h0 + r t + b t^2/2, and the double integral of the openings of valves on both sides.

    A step of the opening with linear rise gives ((t - d)^3 - (t - d - rise)^3) / (6 rise), each from zero on. Each side
    has a gain, which may change with the time s of firing, because the pressure falls: a step at s gives s times the
    same, and (t - d - rise/2)^3 / 6. Own numbers: h0, r, b, and of each side the gain and its change.
    """

    def __init__(self, seen: SeenHeading, times: Array, sides: Array, rise: float, delays: Array) -> None:
        self.seen = seen
        self._rise = max(rise, 1e-6)
        self._first = float(seen.arrived[0])
        fired = np.concatenate(([0.0], np.cumsum(np.diff(times) * (sides[:-1] != 0))))
        #: of each side, times of switching, the step of the opening there, and the time of firing before it
        self._edges = []
        for side in (1, -1):
            steps = np.diff((sides == side).astype(float), prepend=0.0)
            self._edges.append((times[steps != 0], steps[steps != 0], fired[steps != 0]))
        self._of_delays, self._kept = delays.copy(), self._rows(delays)
        self.start: Array = np.asarray(np.linalg.lstsq(self._kept, seen.heading, rcond=None)[0], dtype=float)
        self.scale = np.array([1e-2, 1e-2, 1e-2, 1e-1, 1e-3, 1e-1, 1e-3])

    def headings(self, delays: Array, numbers: Array) -> Array:
        """At the times of arrival."""
        if not np.array_equal(delays, self._of_delays):  # the rows of the last delays are kept
            self._of_delays, self._kept = delays.copy(), self._rows(delays)
        return np.asarray(self._kept @ numbers)

    def exact(self, numbers: Array) -> Array:
        """Nothing else was measured."""
        return np.zeros(0)

    def _rows(self, delays: Array) -> Array:
        latency, delay = delays
        t = self.seen.arrived - latency
        since = t - self._first
        turned = []
        for at, steps, fired in self._edges:
            after = t[:, np.newaxis] - at - delay
            ramp = (_cube(after) - _cube(after - self._rise)) / (6 * self._rise)
            grown = _cube(after - self._rise / 2) / 6
            turned += [ramp @ steps, ramp @ (steps * fired) + grown @ steps]
        return np.column_stack((np.ones(len(t)), since, since**2 / 2, *turned))


def _cube(x: Array) -> Array:
    """Third power of what is positive."""
    above = np.maximum(x, 0.0)
    return np.asarray(above * above * above)


def noise_and_jitter(residual: Array, slope: Array) -> tuple[float, float]:
    """Noise of a heading [rad] and jitter of its arrival [s]: the squares of residuals grow with that of the slope."""
    rows = np.column_stack((np.ones(len(slope)), slope**2))
    expected = np.full(len(slope), float(residual @ residual) / len(residual))
    variances = np.zeros(2)
    for _ in range(3):  # the square of a normal residual has twice the square of its variance as variance
        variances, _ = nnls(rows / expected[:, np.newaxis], residual**2 / expected)
        expected = np.maximum(rows @ variances, 1e-3 * expected)
    return float(np.sqrt(max(variances[0], 1e-18))), float(np.sqrt(variances[1]))
