"""The model of a sensor in the symbols of a motion: read from its device, and refused where it can't be used."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from granite.config.devices.device import Device
from granite.config.errors import InputError
from granite.config.measurement import Measurement
from granite.config.parts import own_code
from granite.config.testbed import Testbed


def measurement_of(device: Device, bed: Testbed, motion: Any) -> Measurement | None:
    """The model of a sensor in the symbols of `motion`; None where it has none.

    Raises
    ------
    InputError
        Where it fails, has another shape than the signals, or is not finite.
    """
    with own_code(device.kind):
        measurement = device.measurement(motion)
    if measurement is not None:
        _refuse_wrong(measurement, len(device.signals(bed)), motion)
    return measurement


def depends_on(measurement: Measurement, symbols: ca.SX) -> bool:
    """Whether a sensor measures some of these symbols."""
    return bool(ca.jacobian(ca.SX(measurement.expected), symbols).nnz())


def _refuse_wrong(measurement: Measurement, n: int, motion: Any) -> None:
    """Raise where the model does not give n values, or half of them beside their deviations, or is not finite."""
    if not isinstance(measurement, Measurement):
        raise InputError(f"its `measurement` gives a {type(measurement).__name__}", expected="a granite.Measurement")
    if not isinstance(measurement.noise, tuple | list):
        raise InputError(f"the noise of its model is {measurement.noise!r}", expected="a tuple: a number for each row")
    try:
        expected, rows = ca.SX(measurement.expected), len(measurement.noise)
    except NotImplementedError:
        problem = f"its model is of type {type(measurement.expected).__name__}"
        raise InputError(problem, expected="an expression of `q` and `u`, which are CasADi SX") from None
    if expected.shape != (rows, 1) or n not in (rows, 2 * rows):
        problem = f"its model gives {expected.shape[0]} x {expected.shape[1]} values and {rows} deviations"
        raise InputError(problem, expected=f"a column of {n} values, and as many deviations")
    symbols = ca.vertcat(motion.q, motion.u)
    if measurement.acceleration is not None:
        if ca.SX(measurement.acceleration).shape != (3, 1):
            raise InputError("its model has other accelerations", expected="a column of three symbols")
        symbols = ca.vertcat(symbols, measurement.acceleration)
    strange = [s.name() for s in ca.symvar(expected) if not ca.depends_on(symbols, s)]
    if strange:
        raise InputError(f"its model has the symbol '{strange[0]}'", expected="symbols of `q` and `u` alone")
    if not depends_on(measurement, symbols):
        raise InputError("its model is a constant, so nothing determines its values", expected="one with `q` or `u`")
    f = ca.Function("h", [symbols], [expected, ca.jacobian(expected, symbols)])
    rng = np.random.default_rng(0)
    values = [np.array(part) for part in f(rng.uniform(0.1, 1.0, symbols.numel()))]
    if not all(np.isfinite(part).all() for part in values):
        raise InputError("its model or the derivative of it is not finite", expected="a smooth function of the motion")
    numbers = [*measurement.noise, measurement.time_deviation_s]
    numbers += [number for bias in measurement.biases for number in bias[1:]]
    if not all(np.isfinite(number) and number >= 0 for number in numbers):
        raise InputError("a deviation of its model is negative or not finite", expected="numbers from zero on")
    indices = [*measurement.angles, *(bias.signal for bias in measurement.biases)]
    if not all(0 <= index < rows for index in indices):
        raise InputError(f"its model names a row beyond its {rows}", expected=f"rows from 0 to {rows - 1}")
