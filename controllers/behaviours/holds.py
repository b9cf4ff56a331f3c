"""Set points of the actuators that a behaviour commands itself: grips close and open contacts over time."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from granite.config.devices.grips import Grips
from granite.config.records import NOTHING, Array
from granite.config.testbed import Testbed
from granite.kernels.function_part import TimeTable
from granite.mrds.tolerances import SAME_TIME_S


class Holds:
    """The holds of a testbed over time, for the steps without a controller."""

    def __init__(self, bed: Testbed) -> None:
        self._table = hold_table(bed)
        self._ends = np.cumsum([len(device.signals(bed)) for device in bed.direct_actuators.values()]).tolist()

    def at(self, t: float) -> tuple[Array, ...]:
        """The set points of `bed.direct_actuators` at time t."""
        return tuple(np.split(self._table.at(t), self._ends)[:-1])


def hold_table(bed: Testbed) -> TimeTable:
    """The set points of `bed.direct_actuators` over time; those of actuators of other kinds than grips are zero."""
    times = np.array([hold.from_s for hold in bed.holds] or [0.0]) - SAME_TIME_S
    rows = [np.concatenate(setpoints_of(bed, hold.closed)) for hold in bed.holds] or [
        np.concatenate(setpoints_of(bed, ()))
    ]
    return TimeTable(times, np.array(rows))


def setpoints_of(bed: Testbed, closed: Collection[str]) -> list[Array]:
    """The set points of each of `bed.direct_actuators` that close these contacts."""
    setpoints = [NOTHING]
    for device in bed.direct_actuators.values():
        values = np.zeros(len(device.signals(bed)))
        if isinstance(device, Grips):
            values = np.array([float(name in closed) for name in bed.grips])
        setpoints.append(values)
    return setpoints
