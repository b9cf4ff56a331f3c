"""What calibrations of gauges share: the response of signals to known values.

    reading_i = offset_i + sum_j gain_ij x_j + nonlinearity_i * range_i * (x_i / range_i)^3

is linear in the numbers of a signal. Signals of one gauge have cross-talk; their noise is that of the data sheet up
to one factor, which the residuals give.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.calibration.fit import CalibrationFit, FittedKey, Residuals, linear_fit
from granite.config.devices.gauge import Signal
from granite.config.records import Array

#: greatest differences of simulated gauges: offset as a part of the range, own gain, cross-talk, non-linearity
_OFFSET, _GAIN, _TALK, _BEND = 0.02, 0.08, 0.05, 0.01


def fit_responses(
    of: str, gauges: Sequence[tuple[Sequence[Signal], Array, Array, Array]], at: str, what: str
) -> CalibrationFit:
    """The response of the signals of each gauge.

    Parameters
    ----------
    of
        Table of the testbed.
    gauges
        Of each: its signals, known values (n, k), readings (n, k), and what the residuals are drawn over (n).
    at
        Meaning and unit of the latter.
    what
        Expected measurements, for the error where these do not determine the response.
    """
    blocks, numbers, measured, weights = [], [], [], []
    for signals, known_values, readings, _ in gauges:
        for i, signal in enumerate(signals):
            bend = signal.range * (known_values[:, i] / signal.range) ** 3
            weight = 1.0 / signal.noise if signal.noise > 0 else 1.0 / signal.range
            blocks.append(weight * np.column_stack((np.ones(len(known_values)), known_values, bend)))
            measured.append(weight * readings[:, i])
            weights.append(weight)
            numbers += _numbers(of, signal, signals)
    rows = np.zeros((sum(map(len, blocks)), len(numbers)))
    first = column = 0
    for block in blocks:
        n, k = block.shape
        rows[first : first + n, column : column + k] = block
        first, column = first + n, column + k
    fit = linear_fit(rows, np.concatenate(measured), "the loads do not determine the matrix", what)
    left: list[Residuals] = []
    first = 0
    for signals, known_values, _, x in gauges:
        for signal in signals:
            residual = fit.residual[first : first + len(known_values)] / weights[len(left)]
            left.append(Residuals(signal.name, at, x, residual, signal.unit))
            first += len(known_values)
    samples = sum(len(known_values) for _, known_values, _, _ in gauges)
    return CalibrationFit(tuple(numbers), fit.values, fit.covariance, fit.freedom, samples, tuple(left))


def draw_responses(of: str, gauges: Sequence[Sequence[Signal]], rng: np.random.Generator) -> dict[str, float]:
    """True responses of simulated gauges."""
    truth = {}
    for signals in gauges:
        for signal in signals:
            key = f"{of}.response.{signal.name}"
            truth[f"{key}.offset"] = float(rng.uniform(-_OFFSET, _OFFSET) * signal.range)
            for other in signals:
                is_own = other.name == signal.name
                # A part of another signal, each in parts of its range: a force may show as a moment.
                drawn = float(rng.uniform(-1, 1)) * (_GAIN if is_own else _TALK) * signal.range / other.range
                truth[f"{key}.gain.{other.name}"] = drawn + is_own
            truth[f"{key}.nonlinearity"] = float(rng.uniform(-_BEND, _BEND))
    return truth


def _numbers(of: str, signal: Signal, signals: Sequence[Signal]) -> list[FittedKey]:
    key = f"{of}.response.{signal.name}"
    gains = [
        FittedKey(f"{key}.gain.{other.name}", "1" if other.unit == signal.unit else f"({signal.unit})/({other.unit})")
        for other in signals
    ]
    return [FittedKey(f"{key}.offset", signal.unit), *gains, FittedKey(f"{key}.nonlinearity", "1")]
