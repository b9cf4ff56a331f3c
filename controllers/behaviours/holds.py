"""Set points of the actuators that a behaviour commands itself: grips close and open contacts over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from granite.config.devices.grips import Grips
from granite.config.records import NOTHING, Array
from granite.config.testbed import Testbed
from granite.kernels.compiled_form import CompiledForm
from granite.mrds.tolerances import SAME_TIME_S


class Holds:
    """The holds of a testbed over time; actuators of other kinds are left at zero."""

    def __init__(self, bed: Testbed) -> None:
        self._from = [hold.from_s for hold in bed.holds] or [0.0]
        closed = [hold.closed for hold in bed.holds] or [()]
        self._direct = [tuple(_setpoints(bed, names)) for names in closed]
        #: number of the hold in force
        self._now = np.zeros(1)

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        setpoints = [np.concatenate([NOTHING, *direct]) for direct in self._direct]
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"HOLDS": len(self._from), "HOLD_SIZE": len(setpoints[0])},
            parameters={"hold_from": np.array(self._from), "hold_setpoints": np.concatenate(setpoints)},
            memory={"hold_now": self._now},
        )

    @property
    def change(self) -> bool:
        """Whether they are not always the same."""
        return len(self._from) > 1

    def at(self, t: float) -> tuple[Array, ...]:
        """The set points of `bed.direct_actuators` at time t, which must not go back."""
        now = int(self._now[0])
        while now + 1 < len(self._from) and self._from[now + 1] <= t + SAME_TIME_S:
            now += 1
        self._now[0] = now
        return self._direct[now]


def _setpoints(bed: Testbed, closed: tuple[str, ...]) -> list[Array]:
    found = []
    for device in bed.direct_actuators.values():
        values = np.zeros(len(device.signals(bed)))
        if isinstance(device, Grips):
            values = np.array([float(name in closed) for name in bed.grips])
        values.setflags(write=False)
        found.append(values)
    return found
