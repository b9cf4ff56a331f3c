"""The devices of one board share its link: one exchange per tick, and one arming per run.

In each tick the first sensor that is read takes in the newest report, and the last actuator that is written sends the
command. A run arms its boards once: commands at rest until the board accepts a reset, then those of the loop. A latch
after that is final for the run: the actuators report `REFUSED`, and the guard ends the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from threading import Lock
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from granite.config.errors import InputError, shown
from granite.config.records import NOTHING, Array, Status
from granite.config.testbed import Testbed
from granite.drivers.board.description import Channel
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.link import BoardLink
from granite.drivers.board.report import Report
from granite.drivers.board.wire import ARMED, ChannelKind
from granite.drivers.link_history import LinkHistory

#: ticks from one request to arm to the next: the board wants at least 5 commands before it
_RESET_EVERY = 8
_OK = Status.OK
#: for the first report, and for arming [s]
_PATIENCE_S = 1.0
_SESSIONS: WeakValueDictionary[tuple[int, str], BoardSession] = WeakValueDictionary()

#: where the channels of a device stand among those of its board: a slice where they follow each other
Places = slice | NDArray[np.intp]
#: kind and name of the channel of each signal of a device
Wanted = Mapping[str, tuple[ChannelKind, str]]


class BoardSession:
    """A board during a run.

    Attributes
    ----------
    link : BoardLink
    number : int
        Reports so far.
    report, before : Report or None
        The newest two.
    values : numpy.ndarray
        Its counts of all channels in their units.
    """

    def __init__(self, bed: Testbed, options: LinkOptions) -> None:
        self._bed, self._options = bed, options  # the testbed lives as long: it is the key of the session
        self._silent_s = max(options.watchdog_s, 3 * bed.loop.period_s)
        self.link = BoardLink(options, bed.loop.period_s)
        self.number = 0
        self.report: Report | None = None
        self.before: Report | None = None
        self.values = NOTHING
        self._scales = NOTHING
        self._channels: dict[str, Channel] = {}
        self._users = self._actuators = 0
        self._polled = self._reported = -np.inf
        self._began: float | None = None
        self._written = 0
        self._was_armed = False
        self._ticks = 0
        self.history = LinkHistory(f"board {options.board}", self.link.numbers)
        self._stopping = Lock()
        #: reports before the first stop
        self._stopped: int | None = None

    @classmethod
    def of(cls, bed: Testbed, options: LinkOptions) -> BoardSession:
        """The session of the board on that port, which all devices of a testbed share.

        Raises
        ------
        InputError
            Where another device has the same port with another name of it, or with other options.
        """
        key = (id(bed), os.path.realpath(options.port))
        session = _SESSIONS.get(key)
        if session is None:
            session = _SESSIONS[key] = cls(bed, options)
        if options.port != session._options.port:
            problem = "another device of this testbed uses this port under another name"
            raise InputError(problem, key="port", value=options.port, expected=shown(session._options.port))
        for field in LinkOptions.model_fields:
            other = getattr(session._options, field)
            if getattr(options, field) != other:
                expected = f"{shown(other)}, as the other devices on {options.port} have it"
                raise InputError(key=field, value=getattr(options, field), expected=expected)
        return session

    def attach(self, is_actuator: bool) -> None:
        """Register a device."""
        self._actuators += is_actuator

    def open(self) -> None:
        """Open the link; the first device does it for all."""
        if self._users == 0:
            self.link.open()
            self._channels = {}
            self._scales = np.array([channel.scale for channel in self.link.description.channels])
            actuators = self.link.description.actuators
            self._order = [channel.position for channel in actuators]
            self._slots = np.zeros(len(actuators), np.int32)
            self._is_held = np.array([channel.kind == ChannelKind.GRIP for channel in actuators], np.int32)
        self._users += 1

    def map(self, wanted: Wanted) -> list[Channel]:
        """The channels that a device wants, by signal, once open.

        Raises
        ------
        InputError
            Where the board has no such channel, or another signal has it.
        """
        others = {signal: channel for signal, channel in self._channels.items() if signal not in wanted}
        self._channels = others | self.link.description.map(wanted, others)
        return [self._channels[signal] for signal in wanted]

    def positions(self, signals: Sequence[str]) -> Places:
        """Where the channels of these signals are in reports, once open."""
        return _places([self._channels[signal].position for signal in signals])

    def slots(self, signals: Sequence[str]) -> Places:
        """Where they are in commands, once open."""
        return _places([self._order.index(self._channels[signal].position) for signal in signals])

    def poll(self, t: float) -> None:
        """Take in what has arrived, once per tick."""
        if t == self._polled:
            return
        self._polled = t
        if self._began is None:
            self._began = t
        report = self.link.poll(t)
        if report is not None:
            self.number += 1
            self.before, self.report, self._reported = self.report, report, t
            self.values = report.slots * self._scales
            self._was_armed |= report.is_armed
        self.history.note(t)
        if self._actuators == 0:
            self._exchange(t)

    def write(self, t: float, slots: Places, counts: Array | NDArray[np.int32]) -> None:
        """Set an actuator's slots, to whole numbers; the last one of a tick sends the command."""
        self.poll(t)
        self._slots[slots] = counts
        self._written += 1
        if self._written == self._actuators:
            self._written = 0
            self._exchange(t)

    def listen(self, t: float) -> None:
        """Ask for a report, once per tick, by a frame that only makes outputs safe: before a run, for its checks."""
        if t == self._polled:
            return
        self.poll(t)
        if self._actuators:
            self.link.stop(t)

    def stop(self, t: float) -> bool:
        """Make outputs safe at once; whether a report since the first stop confirms it.

        Devices of one board may be stopped by several threads at a time.
        """
        with self._stopping:
            if self._stopped is None:
                self._stopped = self.number
            self._slots[:] = 0
            self._written = 0
            self.poll(t)
            self.link.stop(t)
            return self.report is not None and self.number > self._stopped and not self.report.is_armed

    def close(self) -> None:
        """The last device closes the link."""
        self._users -= 1
        if self._users == 0:
            self.link.close()

    def status(self, t: float, is_actuator: bool) -> int:
        """Status of its devices; `NO_FRAME` while the board is not armed yet, because nothing is applied so far."""
        is_heard = self.link.is_up and t - self._reported <= self._silent_s
        if self.report is not None and is_heard and (not is_actuator or self.report.flags & ARMED):
            return _OK
        is_new = self._began is None or t - self._began < _PATIENCE_S
        if self.report is None:
            return Status.NO_FRAME if is_new else Status.SILENT
        if not is_heard:
            return Status.SILENT
        return Status.NO_FRAME if is_new and not self._was_armed else Status.REFUSED

    def _exchange(self, t: float) -> None:
        """Send the command of a tick. Until the board is armed: at rest but for the grips, and now and then a reset."""
        self._ticks += 1
        if self._was_armed or self._actuators == 0:
            self.link.command(t, self._slots)
            return
        self.link.command(t, self._slots * self._is_held)
        if self._ticks % _RESET_EVERY == 0:
            self.link.reset(t)


def _places(indices: list[int]) -> Places:
    """The same as a slice if possible, which takes much less time."""
    if indices and indices == list(range(indices[0], indices[0] + len(indices))):
        return slice(indices[0], indices[-1] + 1)
    return np.array(indices, np.intp)
