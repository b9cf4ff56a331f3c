"""The contract of a device driver, real or simulated: few methods, time as an argument, errors in the loop as values.

`open` and `close` are called outside the loop and may raise. `read`, `write` and `stop` run inside it: they never
block, never raise for an error of the device, and never read a clock. `stop` and `close` may be called by another
thread while `read` or `write` blocks. A sensor without a new measurement returns its
last frame again, with the same number. An actuator returns a frame with the applied values; if it is silent or
refuses, the frame's status says so, and the guard ends the run. A real actuator needs a watchdog that stops it when the
host is silent.

A driver may have five things more (`OPTIONAL`). `report(t)` of an actuator is called after the sensors were read, and
returns its newest frame by time t: for a device whose answer to a command arrives after `write` has returned.
`observe(t)` of an actuator returns a frame without a command that acts, for the checks before a run; `identity` is what
an open device says about itself; `link_history` is a `LinkHistory`, which goes into the log; `note_delay(delay)` is
called before `read` with the delay of the tick behind its time [s], for drivers that conclude from the time of a `read`
when a message was there.
"""

from __future__ import annotations

from typing import Protocol

from granite.config.records import Array, Frame

#: what a driver may have beside its contract
OPTIONAL = ("report", "observe", "identity", "link_history", "note_delay")


class Sensor(Protocol):
    """A device that measures."""

    def open(self) -> None:
        """Open the device; raise if that fails."""

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

    def close(self) -> None:
        """Close the device."""


class Actuator(Protocol):
    """A device that acts."""

    def open(self) -> None:
        """Open the device; raise if that fails."""

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

    def close(self) -> None:
        """Close the device."""
