"""Ticks of devices that are commanded without a controller: in the test of a device, and on the bench of a calibration.

A late tick is left out. One that is later than `loop.longest_lateness_s` ends the ticks, as it ends a run: in a pause
of the process (SIGSTOP, a suspended machine) the last command stayed in force.
"""

from __future__ import annotations

import math

import numpy as np

from granite.config.records import Array, Command, Sample
from granite.config.testbed import Testbed
from granite.drivers.device_set import DeviceSet
from granite.rt.loop.clock import Clock, refuse_late
from granite.rt.process.posix_signals import StopSignals


class DeviceTicks:
    """One tick after the other; the clock starts now.

    Parameters
    ----------
    bed
        The testbed with these devices and no others.
    devices
        Open.
    clock
        Real, or virtual for simulated devices.
    signals
        Signals that end the ticks; they are caught by the caller.
    """

    def __init__(self, bed: Testbed, devices: DeviceSet, clock: Clock, signals: StopSignals | None = None) -> None:
        self._devices, self._clock, self._signals = devices, clock, signals or StopSignals()
        self._period, self._longest_lateness = bed.loop.period_s, bed.loop.lateness_limit_s
        self._k = 0
        clock.start()

    @property
    def t(self) -> float:
        """Time of the next tick [s]."""
        return self._k * self._period

    def now(self) -> float:
        """Time since the start [s]."""
        return self._clock.now()

    def resume(self) -> None:
        """The next tick is due now: the actuators were at rest, and nobody is late."""
        self._k = max(self._k, math.ceil(self._clock.now() / self._period))

    def tick(self, setpoints: tuple[Array, ...] | None = None) -> Sample:
        """Read all sensors; with set points, also write those of all actuators.

        Raises
        ------
        TooLateError
            Where it is later than `loop.longest_lateness_s`.
        SignalInterrupt
            After a signal.
        """
        self._signals.refuse_after_one()
        t = self.t
        self._clock.wait_until(t)
        sample = self._devices.read(t)
        if setpoints is not None:
            self._refuse_late(t)
            self._devices.write(t, Command(t, setpoints, np.zeros(0)))
        # The process may have paused after the command went out, too.
        now = self._refuse_late(t)
        self._k = max(self._k + 1, int(now / self._period) + 1)
        return sample

    def _refuse_late(self, t: float) -> float:
        now = self._clock.now()
        refuse_late(now - t, self._longest_lateness)
        return now
