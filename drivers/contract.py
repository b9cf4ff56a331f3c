"""What every device driver does, real or simulated: few verbs, time passed in, errors inside the loop as values.

`open` and `close` stand outside the loop and may raise. `read`, `write` and `stop` run inside it: they never block,
never raise for what a device does, and never read a clock. A sensor that has nothing new returns its last frame again,
with the same number. An actuator returns a frame of what it applied; one that is silent or refuses says so by the
frame's status, and the guard ends the run.
"""

from __future__ import annotations

from typing import Protocol

from granite.config.records import Array, Frame


class Sensor(Protocol):
    """A device that measures."""

    def open(self) -> None:
        """Take hold of the device; raise if it is not there."""

    def read(self, t: float) -> Frame:
        """The newest frame that has arrived by time t."""

    def close(self) -> None:
        """Let go of the device."""


class Actuator(Protocol):
    """A device that acts."""

    def open(self) -> None:
        """Take hold of the device; raise if it is not there."""

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the set point; return what was really applied."""

    def stop(self, t: float) -> None:
        """Go to the safe state at once: motors at zero, valves closed, grips as they are. Must work in every state."""

    def close(self) -> None:
        """Let go of the device."""
