"""Static response of a sensor, as its calibration gives it: offset, gains with cross-talk, and non-linearity.

    reading = offset + G x + nonlinearity * range * (x / range)^3

for true values x. The non-linearity is the deviation from the straight line at the end of the range, as a part of it.
The measured value is found from a reading by iteration, because the cubic term is small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.records import Array

#: each iteration multiplies the error by about three times the non-linearity
_ITERATIONS = 4


class Response(NamedTuple):
    """The response of n signals."""

    offset: Array  #: (n)
    gain: Array  #: G (n, n)
    nonlinearity: Array  #: (n)
    range: Array  #: (n) greatest value of each

    @property
    def is_ideal(self) -> bool:
        """Whether a reading is the value itself."""
        return not (self.offset.any() or self.nonlinearity.any()) and bool((self.gain == np.eye(len(self.gain))).all())

    def reading(self, x: Array) -> Array:
        """Readings (n) of true values."""
        return self.offset + self.gain @ x + self._bend(x)

    def value(self, reading: Array) -> Array:
        """Values (n) of readings."""
        back, above = np.linalg.inv(self.gain), reading - self.offset
        x = back @ above
        for _ in range(_ITERATIONS if self.nonlinearity.any() else 0):
            x = back @ (above - self._bend(x))
        return np.asarray(x)

    def slope(self, x: Array) -> Array:
        """Derivative (n) of each reading by its own value."""
        return np.asarray(self.gain.diagonal() + 3 * self.nonlinearity * (x / self.range) ** 2)

    def _bend(self, x: Array) -> Array:
        return np.asarray(self.nonlinearity * self.range * (x / self.range) ** 3)
