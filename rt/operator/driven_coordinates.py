"""The coordinates of a robot as hands see them: keyboard, gamepad, and the Joy messages of ROS 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: rates at first, by unit
_RATES = {"m": 0.04, "rad": 0.1}


class Coordinates:
    """Those of the base by the end of their names, and the joints.

    Parameters
    ----------
    listed
        The coordinates as the operator channel lists its goals.
    """

    def __init__(self, listed: Sequence[Mapping[str, Any]]) -> None:
        ends = ("_x", "_y", "_heading")
        self._units = {c["name"]: c["unit"] for c in listed}
        self._base = {end: c["name"] for end in ends for c in reversed(listed) if c["name"].endswith(end)}
        self._joints = [name for name in self._units if not name.endswith(ends)]
        self._joint, self._factor = 0, 1.0

    def choose(self, number: int) -> None:
        """Move this joint from now on, counted from 0."""
        self._joint = number % max(len(self._joints), 1)

    def choose_next(self, step: int) -> None:
        """The joint after it, or before."""
        self.choose(self._joint + step)

    def faster(self, times: float) -> None:
        """Change all rates."""
        self._factor = min(max(self._factor * times, 0.05), 5.0)

    def rates(self, base: Mapping[str, float], joint: float = 0.0) -> dict[str, float]:
        """By name, from parts of the usual ones [-1 to 1]."""
        parts = {self._base[end]: part for end, part in base.items() if end in self._base}
        if self._joints:
            parts[self._joints[self._joint]] = joint
        return {name: part * self._factor * _RATES.get(self._units[name], 0.1) for name, part in parts.items() if part}

    @property
    def stopped(self) -> dict[str, float]:
        """All at rest."""
        return dict.fromkeys(list(self._units)[:1], 0.0)
