"""A hose or cable from the lab to a robot: spring, drag, and an anchor that may move."""

from __future__ import annotations

from pydantic import model_validator

from granite.config.base import Name, NotNegative, Positive, Table, Vector
from granite.config.errors import InputError


class Hose(Table):
    """Pulls a point of a body to its anchor, in proportion to the distance beyond its slack."""

    #: may be left out where one module floats
    module: Name | None = None
    #: the root body, if left out
    body: Name | None = None
    #: on the body
    position_m: Vector = (0.0, 0.0)
    #: in the lab; none: above the point of the body at the start
    anchor_m: Vector | None = None
    #: largest distance, along x and along y, by which the seed moves the anchor
    anchor_spread_m: NotNegative = 0.0
    stiffness_n_m: NotNegative  #: force for each metre beyond the slack
    #: distance up to which it does not pull
    slack_m: NotNegative = 0.0
    #: drag by the speed of the point [N s/m]
    drag_n_s_m: NotNegative = 0.0
    #: the anchor moves along a circle of this radius, once in a period; the seed draws where it begins
    sway_m: NotNegative = 0.0
    sway_period_s: Positive = 10.0  #: time of one turn

    @model_validator(mode="after")
    def _does_something(self) -> Hose:
        if self.stiffness_n_m == 0 and self.drag_n_s_m == 0:
            raise InputError("it does nothing", key="stiffness_n_m", value=0.0, expected="more than 0, or a drag_n_s_m")
        return self
