"""Survey of the floor: lanes to and fro over the table, across it after along it, for `granite calibrate table`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from granite.config.base import Positive
from granite.config.behaviour import Behaviour
from granite.config.errors import InputError
from granite.controllers.behaviours.waypoints import Waypoint, WaypointBehaviour
from granite.controllers.model import ControlModel

if TYPE_CHECKING:
    from granite.config.modules import Module
    from granite.config.testbed import Testbed

#: time of speeding up and of slowing down [s]
_RAMP_S = 3.0
#: part of the speed with which a lane is changed
_ACROSS = 0.5


class Survey(WaypointBehaviour):
    """Flies every lane once; heading and joints stay as they are at the start."""

    class Options(Behaviour):
        """Area and lanes, beside the options of every behaviour."""

        arguments: ClassVar[frozenset[str]] = frozenset({"kind", "area_m", "lane_m", "speed_m_s"})

        #: x_min, y_min, x_max, y_max of the base; none: `safety.table_m` less 0.2 m, in which it stops
        area_m: tuple[float, float, float, float] | None = None
        #: greatest distance of two lanes: at most half of the shortest wave
        lane_m: Positive = 0.3
        speed_m_s: Positive = 0.1  #: speed along a lane

        def area(self, bed: Testbed) -> tuple[float, float, float, float]:
            """The area.

            Raises
            ------
            InputError
                Where neither the behaviour nor `safety` has one, or it is empty.
            """
            x0, y0, x1, y1 = self.area_m or bed.safety.table_m or (0.0, 0.0, 0.0, 0.0)
            margin = 0.2 if self.area_m is None else 0.0
            area = x0 + margin, y0 + margin, x1 - margin, y1 - margin
            if area[2] <= area[0] or area[3] <= area[1]:
                value = None if self.area_m is None else list(self.area_m)
                expected = "x_min, y_min, x_max, y_max with each minimum below its maximum, or safety.table_m"
                raise InputError(key="behaviour.area_m", value=value, expected=expected)
            return area

        def duration(self, bed: Testbed) -> float:
            """Time of all lanes [s]."""
            return sum(w.duration_s + w.hold_s for w in self.lanes(bed))

        def lanes(self, bed: Testbed) -> tuple[Waypoint, ...]:
            """To the first corner, along all lanes, and then along all lanes at right angles to them."""
            area, root = self.area(bed), f"{surveyor(bed).root.name}_"
            prefix = next(c.key for c in bed.known.positions if c.key.endswith(f"{root}x_m"))[: -len("x_m")]
            points = [area[:2], *_turns(area, self.lane_m, 0), *_turns(area, self.lane_m, 1)]
            waypoints: list[Waypoint] = []
            here: tuple[float, float] | None = None
            for x, y in points:
                if here is None:  # from wherever the base is
                    way, speed = math.hypot(area[2] - area[0], area[3] - area[1]), self.speed_m_s
                else:
                    way = math.hypot(x - here[0], y - here[1])
                    speed = self.speed_m_s * (1.0 if way > self.lane_m else _ACROSS)
                here = x, y
                if way > 0:
                    duration = way / speed + _RAMP_S
                    target = {f"{prefix}x_m": float(x), f"{prefix}y_m": float(y)}
                    waypoints.append(Waypoint(duration_s=duration, ramp_s=_RAMP_S, target=target))
            return tuple(waypoints)

    def __init__(self, options: Options, model: ControlModel) -> None:
        lanes = WaypointBehaviour.Options(kind="waypoints", waypoints=options.lanes(model.bed), stretch=True)
        super().__init__(lanes, model)


def surveyor(bed: Testbed) -> Module:
    """The module that flies; `InputError` where none, or several, of the controlled ones float in the plane."""
    modules = [module for module in bed.controlled if module.base == "floating" and module.dimension == "planar"]
    if len(modules) != 1:
        raise InputError(
            f"{len(modules)} controlled modules float in the plane", key="behaviour", value="survey", expected="one"
        )
    return modules[0]


def _turns(area: tuple[float, float, float, float], lane_m: float, axis: int) -> list[tuple[float, float]]:
    """Ends of the lanes along an axis, each from the side where the last one ended."""
    low, high = np.array(area[:2]), np.array(area[2:])
    across = np.linspace(low[1 - axis], high[1 - axis], _count(area, lane_m, axis))
    if axis == 1 and _count(area, lane_m, 0) % 2:  # where the lanes along x ended
        across = across[::-1]
    starts_high = axis == 1
    ends: list[tuple[float, float]] = []
    for k, c in enumerate(across):
        pair = (low[axis], high[axis]) if (k % 2 == 0) != starts_high else (high[axis], low[axis])
        for a in pair:
            ends.append((float(a), float(c)) if axis == 0 else (float(c), float(a)))
    return ends


def _count(area: tuple[float, float, float, float], lane_m: float, axis: int) -> int:
    return max(2, math.ceil((area[3 - axis] - area[1 - axis]) / lane_m - 1e-9) + 1)
