"""Motion of the bar in Sun 1996, section 4.6.1."""

from __future__ import annotations

import numpy as np

from granite.kernels.kernel import Array


def turn(t: Array) -> tuple[Array, Array, Array]:
    """(4.52) to (4.54): angle, rate and acceleration of the bar."""
    angle = np.pi / 4 - np.pi / 4 * (t - np.sin(np.pi * t) / np.pi)
    return angle, -np.pi / 4 * (1 - np.cos(np.pi * t)), -((np.pi / 2) ** 2) * np.sin(np.pi * t)
