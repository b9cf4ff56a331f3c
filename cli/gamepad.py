"""A gamepad by the event interface of Linux (evdev, linux/input.h): no package is needed.

Its left shoulder button is the dead man: nothing moves while it is not held. It counts as released when the pad is gone
or the system says that events were lost, until it is pressed again.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import select
import time
from struct import Struct
from types import TracebackType
from typing import TYPE_CHECKING

from granite.config.errors import InputError

if TYPE_CHECKING:
    from granite.rt.operator.driven_coordinates import Coordinates

_event = Struct("llHHi")  #: time, type, code, value
_SYNC, _KEY, _AXIS = 0, 1, 3
_DROPPED = 3
#: buttons: left shoulder, right shoulder, upper right thumb
_DEAD_MAN, _LEAVE, _HOLD = 0x136, 0x137, 0x131
#: axes: left stick, right stick (its x), cross
_X, _Y, _TURN, _CROSS_X, _CROSS_Y = 0, 1, 3, 0x10, 0x11
#: of an axis: _IOR('E', 0x40 + axis, struct input_absinfo), six numbers of which the second and third are its range
_RANGE_OF = 0x80184540
_range = Struct("6i")
_USUAL_RANGE = {_CROSS_X: (-1, 1), _CROSS_Y: (-1, 1)}
#: part of a stick's way that counts as its middle
_MIDDLE = 0.15


class Gamepad:
    """One gamepad.

    Parameters
    ----------
    descriptor
        Of its open device.
    coordinates
        That it moves.
    """

    def __init__(self, descriptor: int, coordinates: Coordinates) -> None:
        self._descriptor, self._coordinates = descriptor, coordinates
        self._ranges = {axis: self._range(axis) for axis in (_X, _Y, _TURN, _CROSS_X, _CROSS_Y)}
        self._axes = dict.fromkeys(self._ranges, 0.0)
        self.is_held = False
        self.holds, self.leaves, self.lets_go = False, False, True
        self.stopped = coordinates.stopped

    @classmethod
    def open(cls, device: str | None, coordinates: Coordinates) -> Gamepad:
        """The named device, or the first gamepad of this machine.

        Raises
        ------
        InputError
            Where there is none that can be read.
        """
        pads = sorted(glob.glob("/dev/input/by-id/*-event-joystick")) if device is None else [device]
        if not pads:
            expected = "one that is plugged in, or gamepad /dev/input/eventN"
            raise InputError("no gamepad in /dev/input/by-id", key="gamepad", expected=expected)
        try:
            return cls(os.open(pads[0], os.O_RDONLY | os.O_NONBLOCK), coordinates)
        except OSError as error:
            expected = "a device that you may read (group input)"
            raise InputError(str(error.strerror), key="gamepad", value=pads[0], expected=expected) from None

    def __enter__(self) -> Gamepad:
        """It is open."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        os.close(self._descriptor)

    def rates(self, seconds: float) -> dict[str, float] | None:
        """Those of the sticks after this time; None while nobody holds the dead man."""
        self.holds, until = False, time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.leaves and not self.holds:
            if select.select([self._descriptor], [], [], left)[0]:
                self._read()
        if not self.is_held:
            return None
        axes = self._axes
        base = {"_x": axes[_X], "_y": -axes[_Y], "_heading": -axes[_TURN]}  # up and left are negative on a pad
        return self._coordinates.rates(base, -axes[_CROSS_Y])

    def take(self, content: bytes) -> None:
        """The events in this content."""
        for _, _, kind, code, value in _event.iter_unpack(content[: len(content) // _event.size * _event.size]):
            if kind == _SYNC and code == _DROPPED:
                self.is_held = False
            elif kind == _AXIS and code in self._axes:
                self._axes[code] = self._part(code, value)
                if code == _CROSS_X and value:
                    self._coordinates.choose_next(1 if value > 0 else -1)
            elif kind == _KEY and code == _DEAD_MAN:
                self.is_held = value != 0
            elif kind == _KEY and value == 1:
                self.leaves, self.holds = self.leaves or code == _LEAVE, self.holds or code == _HOLD

    def _read(self) -> None:
        try:
            content = os.read(self._descriptor, 64 * _event.size)
        except OSError:
            content = b""
        if not content:  # unplugged
            self.is_held, self.leaves = False, True
        self.take(content)

    def _part(self, axis: int, value: int) -> float:
        lower, upper = self._ranges[axis]
        part = (2 * value - lower - upper) / (upper - lower)
        size = max(0.0, abs(part) - _MIDDLE) / (1 - _MIDDLE)
        return size if part > 0 else -size

    def _range(self, axis: int) -> tuple[int, int]:
        lower = upper = 0
        with contextlib.suppress(OSError):  # a pad may lack this axis
            _, lower, upper, *_ = _range.unpack(fcntl.ioctl(self._descriptor, _RANGE_OF + axis, bytes(_range.size)))
        return (lower, upper) if upper > lower else _USUAL_RANGE.get(axis, (-32768, 32767))
