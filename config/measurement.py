"""What a sensor measures, as an expression of the motion, for the estimator and the simulation."""

from __future__ import annotations

from typing import Any, NamedTuple


class Bias(NamedTuple):
    """A bias of a signal, which the estimator finds: measured = expected + bias + noise."""

    signal: int  #: its index
    deviation: float  #: one standard deviation at the start
    #: random walk: its deviation after one second, which grows with the root of time
    walk: float = 0.0


class Measurement(NamedTuple):
    """The model of a sensor. Units are those of its signals.

    Attributes
    ----------
    expected
        A CasADi column in the symbols `q` and `u` of the motion, with a row for each signal. A device with twice as
        many signals reports one standard deviation of each in the second half.
    noise
        One standard deviation of each row.
    angles
        Rows that are angles: a whole turn more or less is the same.
    biases
        Of some rows.
    time_deviation_s
        One standard deviation of the time of a frame: it adds noise in proportion to the rate of the expected value.
    acceleration
        Symbols (3) in `expected` that stand for x'', y'' and heading'' of the root, its mean over the period before.
        Innovations of such a sensor are forces that the model does not have: no gate refuses a frame.
    """

    expected: Any
    noise: tuple[float, ...]
    angles: tuple[int, ...] = ()
    biases: tuple[Bias, ...] = ()
    time_deviation_s: float = 0.0
    acceleration: Any = None
