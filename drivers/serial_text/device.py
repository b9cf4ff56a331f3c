"""A sensor or an actuator as lines of numbers on a serial port: an Arduino, or any instrument that prints.

In a testbed's file:

    [devices.gyro]
    driver = { kind = "serial_text", port = "/dev/ttyACM0", scale = [0.000133] }
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from granite.config.base import Name, NotNegative, Positive
from granite.config.devices.device import Device
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.contract import Actuator, Sensor
from granite.drivers.serial_text.link import TextChannel, TextLink, TextLinkOptions

#: clocks of boards, such as millis(), start again at zero after so many counts
_CLOCK_COUNTS = 1 << 32
#: longest time from the measurement of a line with its time to its arrival [s]
_TRANSPORT_S = 0.05


class SerialTextDevice(Sensor, Actuator):
    """One number of a line is one signal of the device: signal = scale number + offset.

    A sensor's frame has the time of its tick less `delay_s`; with `clock_s` that of the sender's clock, mapped to the
    loop's.
    """

    class Options(PartTable, TextLinkOptions):
        """The port, and what the numbers mean."""

        Link: ClassVar = TextLink
        #: first word of its lines; none: lines without a word
        label: Name | None = None
        #: unit of each signal per unit of its number; default 1
        scale: tuple[float, ...] = ()
        #: value of each signal at the number zero; default 0
        offset: tuple[float, ...] = ()
        #: sensors: from the measurement to the arrival of its line
        delay_s: NotNegative = 0.0
        #: sensors: the first number of a line is the sender's clock in counts of this, such as 0.001 for millis()
        clock_s: Positive | None = None

        def time_deviation_s(self, period_s: float) -> float:
            """Without a clock a line has the time of its tick, and came at any time since the one before."""
            return period_s / math.sqrt(3) if self.clock_s is None else super().time_deviation_s(period_s)

    def __init__(self, options: Options, name: str, bed: Testbed, link: TextLink) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
        self._options, self._link, n = options, link, len(device.signals(bed))
        self._scale, self._offset = _numbers("scale", options.scale, n, 1.0), _numbers("offset", options.offset, n, 0.0)
        if not self._scale.all():
            raise InputError(key="scale", value=list(options.scale), expected="numbers other than zero")
        self._is_actuator = device.role == "actuator"
        self._keeps_time = options.clock_s is not None
        if self._is_actuator and self._keeps_time:
            raise InputError(key="clock_s", value=options.clock_s, expected="a sensor with it")
        rest = tuple(_as_sent(((np.array(device.initial(bed)) - self._offset) / self._scale).tolist()))
        if self._is_actuator and not device.holds_at_rest:
            rest = tuple(_as_sent((-self._offset / self._scale).tolist()))
        self._channel = TextChannel(
            options.label or "",
            n + self._keeps_time,
            rest if self._is_actuator else None,
            self._is_actuator and device.holds_at_rest,
        )
        link.add(self._channel)
        self._last, self._taken = no_frame(n), 0
        if self._is_actuator:
            self._last = Frame(0.0, 0, Status.NO_FRAME, np.array(device.initial(bed), dtype=np.float64))
        self.clock = ClockMap()
        self._counts: float | None = None
        self._turns = 0
        self._before: float | None = None
        self._delay = 0.0

    def open(self) -> None:
        """Open the port, and wait for the first line."""
        self._link.open()
        self._taken, self._before, self._counts, self.clock = self._channel.count, None, None, ClockMap()

    def close(self) -> None:
        """Nothing of its own: the port is closed with all its devices."""

    @property
    def identity(self) -> str:
        """What its lines are."""
        word = f" after '{self._channel.label}'" if self._channel.label else ""
        return f"lines of {self._channel.size} numbers{word} on {self._options.port}"

    def note_delay(self, delay: float) -> None:
        """Take down how late the tick is that reads next [s]."""
        self._delay = delay

    def read(self, t: float) -> Frame:
        """The newest line as a frame."""
        channel, last = self._channel, self._last
        before, self._before = self._before, t
        status = self._link.status(t, channel)
        if channel.count != self._taken and channel.numbers is not None and before is not None:
            measured_at = self._time(before, t, channel.numbers[0]) if self._keeps_time else t - self._options.delay_s
            if not measured_at <= last.t:  # a line again, or NaN before the first
                values = self._values(channel.numbers[int(self._keeps_time) :])
                self._last = Frame(measured_at, last.number + 1, status, values)
        elif last.number and status != last.status:
            self._last = last._replace(status=status)
        self._taken = channel.count
        return self._last

    def write(self, t: float, setpoint: Array) -> Frame:
        """Set the numbers that the link sends next; the values of the newest answer."""
        self._channel.setpoint = _as_sent(((setpoint - self._offset) / self._scale).tolist())
        return self._answer(t)

    def report(self, t: float) -> Frame:
        """The values of the newest answer."""
        return self._answer(t)

    def observe(self, t: float) -> Frame:
        """The values of the newest answer."""
        return self._answer(t)

    def stop(self, t: float) -> Frame:
        """Make all actuators on the port safe; the frame confirms it when every one has answered."""
        is_safe = self._link.stop(t)
        frame = self._answer(t)
        if not is_safe:
            return frame._replace(status=Status.SILENT)
        return frame._replace(status=Status.OK)

    def _answer(self, t: float) -> Frame:
        channel, last = self._channel, self._last
        status = self._link.status(t, channel)
        if channel.count != self._taken and channel.numbers is not None:
            self._taken = channel.count
            self._last = Frame(max(channel.received_at, last.t), last.number + 1, status, self._values(channel.numbers))
        elif status != last.status:
            self._last = last._replace(status=status)
        return self._last

    def _values(self, numbers: tuple[float, ...]) -> Array:
        values: Array = np.array(numbers) * self._scale + self._offset
        values += 0.0  # no negative zero in the log
        return values

    def _time(self, before: float, t: float, counts: float) -> float:
        """Loop time of a number of the sender's clock: its line was sent after the tick before."""
        unit = self._options.clock_s or 1.0
        if self._counts is not None and counts < self._counts - _CLOCK_COUNTS / 2:
            self._turns += 1
        elif self._counts is not None and counts < self._counts - 1.0 / unit:
            self.clock = ClockMap()  # the sender was started again
        self._counts = counts
        clock_us = round((counts + self._turns * _CLOCK_COUNTS) * unit * 1e6)
        if not self.clock.update(before - _TRANSPORT_S, t + self._delay, clock_us):
            self._link.counts.late += 1
        return min(self.clock.latest(clock_us), t)


def _numbers(key: str, values: tuple[float, ...], n: int, usual: float) -> Array:
    if values and len(values) != n:
        raise InputError(key=key, value=list(values), expected=f"{n} numbers, one for each signal")
    return np.array(values or (usual,) * n)


def _as_sent(numbers: list[float]) -> list[float]:
    """Rounded as a line has them, so that an answer can be compared; without a negative zero."""
    return [float(f"{number:.9g}") + 0.0 for number in numbers]
