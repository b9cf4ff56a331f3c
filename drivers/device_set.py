"""All devices of a testbed behind two methods: read returns a `Sample`, write takes a `Command`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Command, Frame, Sample, Status, new
from granite.config.testbed import Testbed
from granite.drivers.checked import checked
from granite.drivers.contract import Actuator, Sensor


class DeviceSet:
    """The devices that a loop reads and writes; any of them may be simulated.

    Parameters
    ----------
    bed
        The testbed that they belong to.
    sensors, actuators
        Every device by name, as `bed.sensors` and `bed.actuators` have them.
    """

    def __init__(self, bed: Testbed, sensors: Mapping[str, Sensor], actuators: Mapping[str, Actuator]) -> None:
        self._sensors: dict[str, Sensor] = {name: checked(sensors[name], name, bed) for name in bed.sensors}
        self._actuators: dict[str, Actuator] = {name: checked(actuators[name], name, bed) for name in bed.actuators}
        self._applied = tuple(
            Frame(0.0, 0, Status.NO_FRAME, np.array(device.initial(bed), dtype=np.float64))
            for device in bed.actuators.values()
        )
        self._reads = [sensor.read for sensor in self._sensors.values()]
        self._writes = [actuator.write for actuator in self._actuators.values()]

    def open(self) -> None:
        """Open every device; if one fails, close those already open."""
        opened: list[Sensor | Actuator] = []
        try:
            devices: dict[str, Sensor | Actuator] = {**self._sensors, **self._actuators}
            for name, device in devices.items():
                try:
                    device.open()
                except (Exception, SystemExit) as error:
                    why = f"it can't be opened: {type(error).__name__}: {error}"
                    raise InputError(why, key=f"devices.{name}", expected="the device, ready") from error
                opened.append(device)
        except BaseException:
            with contextlib.suppress(Exception):  # the error of the one that failed to open is raised
                _each(device.close for device in reversed(opened))
            raise

    def read(self, t: float) -> Sample:
        """Newest frames of the sensors by time t, and those of the actuators since the last tick."""
        frames = []
        for read in self._reads:
            frames.append(read(t))
        return new(Sample, (t, tuple(frames), self._applied))

    def write(self, t: float, command: Command) -> tuple[Frame, ...]:
        """Send the command; returns the applied frames, which are in the next sample too."""
        frames = []
        for write, setpoint in zip(self._writes, command.setpoints, strict=True):
            frames.append(write(t, setpoint))
        self._applied = tuple(frames)
        return self._applied

    def stop(self, t: float) -> None:
        """Valves closed, motors at zero, grips as they are: each actuator gets its stop, even if another one fails."""
        _each(partial(actuator.stop, t) for actuator in self._actuators.values())

    def close(self) -> None:
        """Close every device, even if another one fails."""
        _each(device.close for device in self._all())

    def _all(self) -> list[Sensor | Actuator]:
        return [*self._sensors.values(), *self._actuators.values()]


def _each(calls: Iterable[Callable[[], None]]) -> None:
    """Make every call, whatever another one raises; the first exception is raised at the end."""
    failure: BaseException | None = None
    for call in calls:
        try:
            call()
        except BaseException as error:  # a broken device must not leave the next one open or running
            failure = failure or error
    if failure is not None:
        raise failure
