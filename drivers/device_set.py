"""All devices of a testbed behind two methods: read returns a `Sample`, write takes a `Command`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Command, Frame, Sample, Status
from granite.config.testbed import Testbed
from granite.drivers.call_each import call_each, outcome_of
from granite.drivers.checked import checked, has_own
from granite.drivers.contract import Actuator, Sensor
from granite.drivers.link_history import LinkHistory, LinkNumbers
from granite.drivers.shared_link import SharedLink


class DeviceSet:
    """The devices that a loop reads and writes; any of them may be simulated.

    Parameters
    ----------
    bed
        The testbed that they belong to.
    sensors, actuators
        Every device by name, as `bed.sensors` and `bed.actuators` have them.
    links
        The links that some of them share.
    """

    def __init__(
        self,
        bed: Testbed,
        sensors: Mapping[str, Sensor],
        actuators: Mapping[str, Actuator],
        links: Iterable[SharedLink] = (),
    ) -> None:
        self._links = tuple(links)
        self._sensors: dict[str, Sensor] = {name: checked(sensors[name], name, bed) for name in bed.sensors}
        self._actuators: dict[str, Actuator] = {name: checked(actuators[name], name, bed) for name in bed.actuators}
        #: newest frames of the actuators
        self.applied: tuple[Frame, ...] = tuple(
            Frame(0.0, 0, Status.NO_FRAME, np.array(device.initial(bed), dtype=np.float64))
            for device in bed.actuators.values()
        )
        self._reads = [sensor.read for sensor in self._sensors.values()]
        self._delay_notes = [
            sensor.note_delay for sensor in self._sensors.values() if has_own(sensor, "note_delay", Sensor)
        ]
        self._writes = [actuator.write for actuator in self._actuators.values()]
        #: of the actuators that report between two writes: their index, and the report
        self._reports = [
            (i, actuator.report)
            for i, actuator in enumerate(self._actuators.values())
            if has_own(actuator, "report", Actuator)
        ]
        self._sizes = {name: len(device.signals(bed)) for name, device in bed.actuators.items()}
        self._opened: set[str] = set()
        self._loop, self._holding = bed.loop, {name for name, device in bed.actuators.items() if device.holds_at_rest}

    def open(self) -> None:
        """Open every device; if one fails, close those already open."""
        opened: dict[str, Sensor | Actuator] = {}
        try:
            for name, device in self.all().items():
                try:
                    device.open()
                except InputError as error:
                    raise error.within(f"devices.{name}.driver") from error
                except (Exception, SystemExit) as error:
                    why = f"it can't be opened: {type(error).__name__}: {error}"
                    raise InputError(why, key=f"devices.{name}", expected="the device, ready") from error
                opened[name] = device
            self._opened = set(opened)
        except BaseException:  # of the one that failed to open; what closing the others gives is less important
            call_each({name: partial(_closed, opened[name]) for name in reversed(opened)} | self._link_closings())
            raise

    def open_each(self) -> dict[str, str]:
        """Open every device that can be opened; why the others can't. `close` closes those that were opened."""
        refused = {}
        for name, device in self.all().items():
            try:
                device.open()
                self._opened.add(name)
            except (Exception, SystemExit) as error:
                refused[name] = str(error) or type(error).__name__
        return refused

    def observe(self, t: float) -> list[Frame | None]:
        """The frame of each actuator without a command that acts, after a read; None where it has no such frame."""
        for link in self._links:
            link.ask(t)
        return [actuator.observe(t) for actuator in self._actuators.values()]

    def identity(self, name: str) -> str:
        """What an open device says about itself."""
        return self.all()[name].identity

    def read(self, t: float, delay: float = 0.0) -> Sample:
        """Newest frames of the sensors and of the actuators by time t.

        `delay` is that of the tick behind its time t [s].
        """
        for link in self._links:
            link.receive(t)
        for note in self._delay_notes:
            note(delay)
        frames = []
        for read in self._reads:
            frames.append(read(t))
        for i, report in self._reports:
            frame = report(t)
            if frame is not None:
                self.applied = (*self.applied[:i], frame, *self.applied[i + 1 :])
        return Sample(t, tuple(frames), self.applied)

    def write(self, t: float, command: Command) -> tuple[Frame, ...]:
        """Send the command; returns the applied frames, which are in the next sample too, or newer ones."""
        frames = []
        for write, setpoint in zip(self._writes, command.setpoints, strict=True):
            frames.append(write(t, setpoint))
        for link in self._links:
            if link.has_actuators:
                link.send(t)
        self.applied = tuple(frames)
        return self.applied

    def stop(self, t: float, paced: bool = False) -> dict[str, str]:
        """Valves closed, motors at zero, grips as they are: each actuator gets its stop, even if another one fails.

        Parameters
        ----------
        t
            Time of the last tick [s].
        paced
            In real time: wait for the frames of the actuators, and for none that blocks.

        Returns
        -------
        dict
            The actuators that did not confirm their safe state within `loop.stop_timeout_s`, each with the reason.
        """
        calls = {name: partial(self._confirm_stop, name, t, paced) for name in self._actuators}
        return call_each(calls, 2 * self._loop.stop_timeout_s if paced else None)

    def close(self, paced: bool = False) -> dict[str, str]:
        """Close every device and link, even if another one fails; those that failed, each with the reason."""
        opened, self._opened = self._opened, set()
        calls = {name: partial(_closed, device) for name, device in self.all().items() if name in opened}
        return call_each(calls | self._link_closings(), self._loop.stop_timeout_s if paced else None)

    def links(self) -> dict[str, dict[str, list[float]]]:
        """What the links of the real devices counted, and their clocks, over time; by link."""
        return {history.name: history.summary() for history in self._link_histories()}

    def newest_link_numbers(self) -> dict[str, tuple[float, LinkNumbers]]:
        """The same at present: the time [s] and its numbers, by link; another thread may ask."""
        return {history.name: history.latest for history in self._link_histories() if history.latest is not None}

    def _link_histories(self) -> Iterator[LinkHistory]:
        histories = [*(device.link_history for device in self.all().values()), *(link.history for link in self._links)]
        return (history for history in histories if history is not None)

    def all(self) -> dict[str, Sensor | Actuator]:
        """Every device by name."""
        return {**self._sensors, **self._actuators}

    def _link_closings(self) -> dict[str, Callable[[], str]]:
        return {link.history.name: partial(_closed, link) for link in self._links}

    def _confirm_stop(self, name: str, t: float, paced: bool) -> str:
        """Stop the actuator until its frame confirms it; why it does not, or nothing."""
        period, why = self._loop.period_s, ""
        until = time.monotonic() + self._loop.stop_timeout_s
        for i in range(max(1, round(self._loop.stop_timeout_s / period))):
            is_last = time.monotonic() > until  # on a busy machine each pause takes longer
            why = outcome_of(partial(self._stop_once, name, t + i * period))
            if not why or is_last:
                break
            if paced:
                time.sleep(period)
        return why

    def _stop_once(self, name: str, t: float) -> str:
        """Why the frame after a stop does not confirm the safe state, or nothing."""
        frame: Any = self._actuators[name].stop(t)
        if not isinstance(frame, Frame):
            return "its stop returned no frame"
        if frame.status != Status.OK:
            return f"status {Status(frame.status).name}"
        values, size = np.asarray(frame.values), self._sizes[name]
        if values.shape != (size,) or values.dtype != np.float64:
            return f"its frame has {values.dtype} of shape {values.shape}, expected float64 of shape ({size},)"
        is_safe = np.isfinite(frame.values).all() if name in self._holding else not np.any(frame.values)
        return "" if is_safe else f"it still applies {np.array2string(np.asarray(frame.values), precision=3)}"


def _closed(device: Sensor | Actuator | SharedLink) -> str:
    device.close()
    return ""
