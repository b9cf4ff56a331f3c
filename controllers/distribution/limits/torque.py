"""Torque of every joint within its limit (Sun 4.38 to 4.44); a hard limit."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from granite.config.parts import PartTable
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class TorqueLimit:
    """|tau| <= share limit."""

    hard: ClassVar[bool] = True

    class Options(PartTable):
        """How much of the motors' limits may be used."""

        share: Annotated[float, Field(gt=0, le=1)] = 1.0  #: part of the motors' limits that may be used

    def __init__(self, options: Options, shape: GraspShape) -> None:
        self._share = options.share

    def constraints(self, known: Quantities) -> list[Any]:
        """Upper and lower bounds."""
        limit, tau = self._share * known.torque_limit, known.torque
        return [tau <= limit, tau >= -limit]
