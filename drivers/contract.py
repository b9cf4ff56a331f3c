"""The contract of a device driver, real or simulated: few methods, time as an argument, errors in the loop as values.

`open` and `close` are called outside the loop and may raise. `read`, `write` and `stop` run inside it: they never
block, never raise for an error of the device, and never read a clock. `stop` and `close` may be called by another
thread while `read` or `write` blocks. A sensor without a new measurement returns its last frame again, with the same
number; a frame with another number and the time of the last one counts as the last one. An actuator returns a frame
with the applied values; if it is silent or refuses, the frame's status says so, and the guard ends the run. A real
actuator needs a watchdog that stops it when the host is silent.

What has a default here may be left out, also by a class that inherits nothing: `checked` fills it in.
"""

from __future__ import annotations

from typing import Protocol

from granite.config.records import Array, Frame
from granite.drivers.link_history import LinkHistory


class Driver(Protocol):
    """What sensors and actuators have in common."""

    def open(self) -> None:
        """Open the device; raise if that fails."""

    def close(self) -> None:
        """Close the device."""

    @property
    def identity(self) -> str:
        """How the open device describes itself, for the checks before a run."""
        return type(self).__name__

    @property
    def link_history(self) -> LinkHistory | None:
        """What a link of its own counted over time, for the log."""
        return None


class Sensor(Driver, Protocol):
    """A device that measures."""

    def read(self, t: float) -> Frame:
        """The newest frame that has arrived by time t.

        Parameters
        ----------
        t
            Time of the tick [s since the start of the run].

        Returns
        -------
        Frame
            With the time of the measurement, not of its arrival; number 0 before the first one.
        """

    def note_delay(self, delay: float) -> None:
        """Called before `read` with the delay of the tick behind its time [s].

        For a sensor that concludes from the time of a `read` when a message was there.
        """
        return


class Actuator(Driver, Protocol):
    """A device that acts."""

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the set point, which the device holds until the next one (zero-order hold).

        Parameters
        ----------
        t
            Time of the tick [s since the start of the run].
        setpoint
            One value for each signal of the device, in its units.

        Returns
        -------
        Frame
            The applied values, which may differ from the set point.
        """

    def stop(self, t: float) -> Frame:
        """Go to the safe state at once: motors at zero, valves closed, grips as they are. Must work in every state.

        It is called again, once per period, until its frame confirms the safe state, for at most `loop.stop_timeout_s`.

        Returns
        -------
        Frame
            The values applied after the stop; until the device has reported them, with another status than `OK`.
        """

    def report(self, t: float) -> Frame | None:
        """The newest frame by time t, after the sensors were read; None: that of the last `write`.

        For a device whose answer to a command arrives after `write` has returned.
        """
        return None

    def observe(self, t: float) -> Frame | None:
        """The newest frame without a command that acts, for the checks before a run; None: there is no such frame."""
        return None
