"""Zones that robots stay out of: discs, convex polygons, and the surroundings of other modules."""

from __future__ import annotations

import math

from pydantic import model_validator

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.convex import is_convex
from granite.config.errors import InputError

_CORNERS = 48  #: of the drawing of a disc


class Disc(Table):
    """A disc on the table."""

    position_m: tuple[float, float]  #: centre on the table
    radius_m: Positive  #: of the disc


class KeepOut(Table):
    """A zone: one of a disc, a convex polygon, and another module, which the other modules stay out of."""

    name: Name  #: of the zone
    disc: Disc | None = None  #: the zone as a disc
    #: corners in turn
    polygon_m: tuple[tuple[float, float], ...] = ()
    module: Name | None = None  #: the zone as another module
    #: of a module that is measured and not controlled: it goes on as it moves, in a tube whose radius grows by this
    growth_m_s: NotNegative | None = None
    #: whether it is a thing that a simulated robot collides with, or only a mark on the table
    solid: bool = True

    @property
    def outline(self) -> tuple[tuple[float, float], ...]:
        """Corners for a drawing; none of a module."""
        if self.disc is None:
            return self.polygon_m
        (x, y), r = self.disc.position_m, self.disc.radius_m
        angles = [math.tau * i / _CORNERS for i in range(_CORNERS)]
        return tuple((x + r * math.cos(angle), y + r * math.sin(angle)) for angle in angles)

    @model_validator(mode="after")
    def _has_one_shape(self) -> KeepOut:
        shapes = [key for key in ("disc", "polygon_m", "module") if getattr(self, key)]
        if len(shapes) != 1:
            problem = f"it has {' and '.join(shapes)}" if shapes else "it has no shape"
            raise InputError(problem, expected="one of disc, polygon_m and module")
        if self.growth_m_s is not None and self.module is None:
            raise InputError(key="growth_m_s", value=self.growth_m_s, expected="none of a zone that is no module")
        if self.polygon_m and not is_convex(self.polygon_m):
            corners = [list(corner) for corner in self.polygon_m]
            raise InputError(
                key="polygon_m", value=corners, expected="at least 3 corners in turn of a convex polygon, each a corner"
            )
        return self
