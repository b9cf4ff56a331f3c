"""A real actuator beside a simulated plant: a simulated twin applies to the plant what the real device reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from granite.config.records import Array, Frame, Status
from granite.config.testbed import Testbed
from granite.drivers.checked import ActuatorWrapper, has_own
from granite.drivers.contract import Actuator

#: of a device that is not heard
_UNHEARD = (Status.SILENT, Status.NO_FRAME)


def watchdog_of(bed: Testbed, name: str) -> float:
    """After how long a silent device stops by itself, by its driver; else when the loop's watchdog stops it [s]."""
    driver = getattr(bed.devices[name], "driver", None)
    seconds: float = getattr(driver, "watchdog_s", bed.loop.watchdog_limit_s)
    return seconds


class Twin(Protocol):
    """The simulated device of a real one."""

    def write(self, t: float, setpoint: Array) -> Any:
        """Apply these values from time t on [s]."""

    def stop(self, t: float) -> Any:
        """Go to the safe state at time t [s]."""


class MirroredActuator(ActuatorWrapper):
    """A real actuator whose reports move the plant: applied torques, or the part of the time that a valve was open.

    A device that answers after `write` has returned is asked when the plant is about to move over the interval in which
    the device acted, so that a torque acts in its own interval; an opening is known one report later. Of another one
    the frame of `write` counts: what it applies from now on.

    Parameters
    ----------
    actuator
        The real one; its frames are checked.
    twin
        The simulated one.
    watchdog_s
        After so long without a report the device has stopped by itself, and so does its twin [s].
    now
        Time of the plant [s].
    """

    def __init__(self, actuator: Any, twin: Twin, watchdog_s: float, now: Callable[[], float]) -> None:
        super().__init__(actuator)
        self._twin, self._watchdog_s, self._now = twin, watchdog_s, now
        self._answers_later = has_own(actuator, "report", Actuator)
        self._is_commanded = self._is_stopped = False
        self._newest: Frame | None = None
        self._heard = 0.0

    def write(self, t: float, setpoint: Array) -> Frame:
        """Send the set point to the real one."""
        frame: Frame = self.device.write(t, setpoint)
        if not self._is_commanded:
            self._is_commanded, self._heard = True, t
        if not self._answers_later:
            self._take(frame, t, t)
        return frame

    def stop(self, t: float) -> Frame:
        """Stop both; the plant does not move, because each actuator may be stopped by a thread of its own."""
        self._is_commanded = False
        frame = super().stop(t)
        self._twin.stop(self._now())
        return frame

    def report(self, t: float) -> Frame | None:
        """The newest frame by time t [s], which its twin applies; called before the plant moves to t."""
        frame = super().report(t)
        if not self._is_commanded:
            return frame  # it has applied nothing: before the run a grip reports itself open, whatever it holds
        if frame is not None and self._answers_later:
            self._take(frame, self._now(), t)
        if not self._is_stopped and t - self._heard > self._watchdog_s:
            self._is_stopped = True
            self._twin.stop(self._now())
        return frame

    def _take(self, frame: Frame, since: float, t: float) -> None:
        """Apply a frame that is new at time t from `since` on; a device that is not heard holds what it had."""
        if frame is self._newest:
            return
        self._newest = frame
        if frame.status not in _UNHEARD:
            self._heard, self._is_stopped = t, False
            self._twin.write(since, frame.values)
