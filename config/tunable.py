"""A tunable key in the table of a part: its sensible range and its scale."""

from __future__ import annotations

from typing import Literal, NamedTuple

Scale = Literal["linear", "log"]


class Tunable(NamedTuple):
    """A numeric key of a part, as the part declares it."""

    key: str  #: inside the table of the part, such as `gains.base.stiffness_1_s2`
    lower: float
    upper: float
    scale: Scale = "log"
    usual: float | None = None  #: in force where the testbed gives no value
