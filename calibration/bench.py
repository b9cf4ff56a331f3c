"""Devices on the bench: read and commanded tick by tick, real or simulated, without a controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array, Frame, Sample, Status
from granite.config.testbed import Testbed
from granite.drivers.camera.centroid import Pixels
from granite.drivers.device_set import DeviceSet
from granite.rt.checks.device_ticks import DeviceTicks
from granite.rt.loop.clock import Clock
from granite.rt.process.posix_signals import StopSignals

#: how long a device may take to answer, or to arm [s]
_PATIENCE_S = 3.0


class Bench:
    """Some devices of a testbed under a clock.

    Parameters
    ----------
    bed
        The testbed with these devices and no others.
    devices
        Open.
    clock
        Real, or virtual for simulated devices.
    pictures
        Of a camera that is calibrated, each taken when it is asked for.
    signals
        Signals that end the calibration; they are caught by the caller.
    """

    def __init__(
        self,
        bed: Testbed,
        devices: DeviceSet,
        clock: Clock,
        pictures: Iterator[Pixels] | None = None,
        signals: StopSignals | None = None,
    ) -> None:
        self.bed = bed
        self._devices = devices
        self._pictures = pictures
        self._names = list(bed.sensors)
        self._rest = {n: np.array(d.initial(bed), dtype=np.float64) for n, d in bed.actuators.items()}
        self._ticks = DeviceTicks(bed, devices, clock, signals)

    @property
    def t(self) -> float:
        """Time of the next tick [s]."""
        return self._ticks.t

    def resume(self) -> None:
        """Before the ticks of a step: the time in which the operator prepared it is no lateness."""
        self._ticks.resume()

    def read(self, name: str, seconds: float) -> Array:
        """Values of the frames of a sensor, one row each, over this time.

        Raises
        ------
        InputError
            Where it does not answer.
        """
        wanted = max(2, round(seconds / self.bed.loop.period_s))
        patience = wanted + round(_PATIENCE_S / self.bed.loop.period_s)
        frames: list[Array] = []
        last, i = -1, self._names.index(name)
        for _ in range(patience):
            frame = self.tick().frames[i]
            if frame.number and frame.number != last and frame.status == Status.OK:
                last = frame.number
                frames.append(frame.values)
            if len(frames) >= 2 and len(frames) >= wanted * self._part(name):
                return np.array(frames)
        raise InputError(f"{len(frames)} frames in {_PATIENCE_S:g} s", key=f"devices.{name}", expected="a live sensor")

    def picture(self) -> Pixels:
        """The next picture of the camera."""
        assert self._pictures is not None  # of a procedure that takes pictures
        picture = next(self._pictures, None)
        if picture is None:
            raise InputError("no picture comes any more", expected="a source that was not at its end")
        return picture

    def run(self, commands: Callable[[int], Mapping[str, Array]], ticks: int) -> list[Sample]:
        """The samples of some ticks, in each of which the actuators get the command of its number."""
        return [self.tick(commands(i)) for i in range(ticks)]

    def arm(self) -> None:
        """Commands at rest until every actuator applies them; `InputError` where one does not."""
        for _ in range(max(2, round(_PATIENCE_S / self.bed.loop.period_s))):
            self.tick({})
            late = [n for n, f in zip(self._rest, self._devices.applied, strict=True) if f.status != Status.OK]
            if not late:
                return
        raise InputError("it did not arm", key=f"devices.{late[0]}", expected="an actuator that is ready")

    def tick(self, commands: Mapping[str, Array] | None = None) -> Sample:
        """Read all sensors; with commands, also write: actuators without a command get rest."""
        if commands is None or not self._rest:
            return self._ticks.tick()
        return self._ticks.tick(tuple(commands.get(name, rest) for name, rest in self._rest.items()))

    def applied(self) -> tuple[Frame, ...]:
        """The newest frames of the actuators."""
        return self._devices.applied

    def _part(self, name: str) -> float:
        """Frames of a sensor per tick, about."""
        rate = getattr(self.bed.sensors[name], "rate_hz", None)
        return min(1.0, 0.9 * rate * self.bed.loop.period_s) if rate else 1.0
