"""Sharing by the best of all on/off patterns: a table of 2^n wrenches, and the nearest one to the demand.

Minimises |W (B f - w)|^2 + propellant_weight sum f over f_i in {0, available_i}. The square expands to a
constant of the pattern, a product with w, and |W w|^2 that all patterns share: one matrix product and one
minimum per call. Patterns that give the same wrench are represented by the cheapest of them.

`best_pattern.c` does the same operations in the same order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from granite.config.base import NotNegative
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.config.records import Array
from granite.config.tunable import Tunable
from granite.controllers.thrusters.contract import ThrusterSet

#: its compiled form
SOURCE = Path(__file__).with_suffix(".c")
#: more valves than this make too long a table
MOST_VALVES = 16
#: patterns whose costs differ by less than this [N^2] are equally good: the one with fewer valves wins
_TIE_N2 = 1e-9


class BestPattern:
    """The exact best pattern of open and closed valves. No memory."""

    is_on_off: ClassVar[bool] = True

    class Options(PartTable):
        """Weight of propellant against error."""

        #: cost of one newton of thrust when patterns are compared
        propellant_weight: NotNegative = 0.0

        def tunable(self, bed: Any) -> tuple[Tunable, ...]:
            """The weight."""
            return (Tunable("propellant_weight", 0.0, 1.0, "linear"),)

    def __init__(self, options: Options, thrusters: ThrusterSet) -> None:
        matrix, available, weight, propellant_weight = *thrusters[:3], options.propellant_weight
        usable = np.flatnonzero(available)
        if len(usable) > MOST_VALVES:
            raise InputError(
                f"{len(usable)} valves are too many",
                key="controller.allocation.sharing",
                value="best_pattern",
                expected=f"at most {MOST_VALVES}, or another method",
            )
        bits = np.arange(2 ** len(usable))[:, None] >> np.arange(len(usable)) & 1
        thrust = np.zeros((len(bits), len(available)))
        thrust[:, usable] = bits * available[usable]
        price = propellant_weight * thrust.sum(axis=1) + _TIE_N2 * bits.sum(axis=1)
        cheapest_first = np.argsort(price, kind="stable")
        # Valves that share a supply: each further open one takes its part from all.
        given = (1.0 - thrusters.shared_drop) ** np.maximum(bits.sum(axis=1) - 1.0, 0.0)
        delivered = given[:, None] * (thrust @ matrix.T)
        reached = np.round(delivered, 9) + 0.0
        _, first = np.unique(reached[cheapest_first], axis=0, return_index=True)
        kept = cheapest_first[np.sort(first)]

        self._thrust = thrust[kept]
        self._thrust.setflags(write=False)
        wrench = delivered[kept] * weight
        self._constant = (wrench**2).sum(axis=1) + price[kept]
        #: a row for each row of a wrench
        self._product = np.ascontiguousarray((-2.0 * wrench * weight).T)

    @property
    def table(self) -> Array:
        """Everything that the compiled form reads, in its order."""
        patterns, n = self._thrust.shape
        sizes = np.array([n, patterns, len(self._product)], dtype=np.float64)
        return np.concatenate([sizes, self._constant, self._product.ravel(), self._thrust.ravel()])

    def share(self, wrench: Array) -> Array:
        """The thrust of each thruster [N], nominal or zero, for this wrench on the root body."""
        cost = self._constant
        for row, part in zip(self._product, wrench.tolist(), strict=True):  # summed in order, as in C
            cost = cost + row * part
        best: Array = self._thrust[cost.argmin()]
        return best
