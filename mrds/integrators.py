"""The classical Runge-Kutta step, written once for symbols and for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import casadi as ca

from granite.kernels.kernel import Array

State = TypeVar("State", Array, ca.MX, ca.SX)


def rk4(rate: Callable[[State, float], State], x: State, h: float | State) -> State:
    """One step of the classical Runge-Kutta method, fourth order.

    The operations are the same for numbers and for symbols, in the same order.

    Parameters
    ----------
    rate
        (x, c) -> x', where c = 0, 1/2, 1/2, 1 is the part of the step that has passed at each of its four stages.
    x
        State at the start of the step, a column of numbers or symbols.
    h
        Length of the step [s].

    Returns
    -------
    State
        x after h.

    Examples
    --------
    >>> rk4(lambda x, c: -x, np.array([1.0]), 0.1)
    array([0.9048375])
    """
    k1 = rate(x, 0.0)
    k2 = rate(x + h / 2 * k1, 0.5)
    k3 = rate(x + h / 2 * k2, 0.5)
    k4 = rate(x + h * k3, 1.0)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
