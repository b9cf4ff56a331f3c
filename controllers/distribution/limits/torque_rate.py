"""Torque of every joint no faster than a rate: |tau - tau of the tick before| <= rate * period."""

from __future__ import annotations

from typing import Any

from granite.config.base import Positive
from granite.config.parts import PartTable
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class TorqueRateLimit:
    """One rate for all joints."""

    class Options(PartTable):
        """The rate."""

        rate_n_m_s: Positive  #: largest change of a torque in a second

    def __init__(self, options: Options, shape: GraspShape) -> None:
        self._rate = options.rate_n_m_s

    def constraints(self, known: Quantities) -> list[Any]:
        """Upper and lower bounds of the change."""
        change, most = known.torque - known.previous_torque, self._rate * known.period_s
        return [change <= most, change >= -most]
