"""An analogue-to-digital converter of simulated sensors."""

from typing import Any

import casadi as ca


def converted(value: ca.SX, lowest: Any, highest: Any, step: Any) -> ca.SX:
    """The value in whole steps, within the range of the converter; NaN stays NaN."""
    within = ca.if_else(value < lowest, lowest, ca.if_else(value > highest, highest, value))
    return within - ca.remainder(within, step)
