"""A board that its devices share: one exchange per tick, and one arming per run.

A run arms its boards once: commands at rest until the board accepts a reset, then those of the loop. A latch after that
is final for the run: the actuators report `REFUSED`, and the guard ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from granite.config.records import NOTHING, Array, Status
from granite.drivers.board.description import Channel
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.link import BoardLink
from granite.drivers.board.report import Report
from granite.drivers.board.wire import ARMED, ChannelKind
from granite.drivers.link_history import LinkHistory
from granite.drivers.shared_link import SharedLink

#: ticks from one request to arm to the next: the board wants at least 5 commands before it
_RESET_EVERY = 8
_OK = Status.OK

#: of the channels of a device among those of its board: a slice where they follow each other
Columns = slice | NDArray[np.intp]
#: kind and name of the channel of each signal of a device
Wanted = Mapping[str, tuple[ChannelKind, str]]


class Board(SharedLink):
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

    Options = LinkOptions

    def __init__(self, options: LinkOptions, period_s: float) -> None:
        super().__init__(options.watchdog_s, period_s)
        self.link = BoardLink(options, period_s)
        self.history = LinkHistory(f"board {options.board}", self.link.numbers)
        self.number = 0
        self.report: Report | None = None
        self.before: Report | None = None
        self.values = NOTHING
        self._scales = NOTHING
        self._channels: dict[str, Channel] = {}
        self._reported = -np.inf
        self._ticks = 0

    def _connect(self) -> None:
        self.link.open()
        self._channels = {}
        self._scales = np.array([channel.scale for channel in self.link.description.channels])
        actuators = self.link.description.actuators
        self._order = [channel.position for channel in actuators]
        self._slots = np.zeros(len(actuators), np.int32)
        self._is_held = np.array([channel.kind == ChannelKind.GRIP for channel in actuators], np.int32)
        self.report = self.before = None
        self._reported = -np.inf

    def _disconnect(self) -> None:
        self.link.close()

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

    def report_columns(self, signals: Sequence[str]) -> Columns:
        """Those of the channels of these signals in reports, once open."""
        return _columns([self._channels[signal].position for signal in signals])

    def command_columns(self, signals: Sequence[str]) -> Columns:
        """Those in commands, once open."""
        return _columns([self._order.index(self._channels[signal].position) for signal in signals])

    def set_counts(self, columns: Columns, counts: Array | NDArray[np.int32]) -> None:
        """Set what the next command has for an actuator, in whole numbers."""
        self._slots[columns] = counts

    def send(self, t: float) -> None:
        """Send the command of a tick. Until the board is armed: at rest but for the grips, and now and then a reset."""
        self._ticks += 1
        if self._was_armed or not self.has_actuators:
            self.link.command(t, self._slots)
            return
        self.link.command(t, self._slots * self._is_held)
        if self._ticks % _RESET_EVERY == 0 and self._stopped is None:
            self.link.reset(t)

    def ask(self, t: float) -> None:
        """Ask for a report by a stop, for checks before a run; a board without actuators is asked by its commands."""
        if self.has_actuators:
            self.link.stop(t)

    def stop(self, t: float) -> bool:
        """Make all outputs safe at once; whether a report since the first stop confirms it."""
        with self._stopping:
            self.receive(t)
            if self._stopped is None:
                self._stopped = self.number
            self._slots[:] = 0
            self.link.stop(t)
            return self.report is not None and self.number > self._stopped and not self.report.is_armed

    def status(self, t: float, is_actuator: bool) -> int:
        """Status of its devices; `NO_FRAME` while the board is not armed yet, because nothing is applied so far."""
        is_heard = self.link.is_up and t - self._reported <= self._silent_s
        if self.report is not None and is_heard and (not is_actuator or self.report.flags & ARMED):
            return _OK
        is_new = self._is_new(t)
        if self.report is None:
            return Status.NO_FRAME if is_new else Status.SILENT
        if not is_heard:
            return Status.SILENT
        return Status.NO_FRAME if is_new and not self._was_armed else Status.REFUSED

    def _take(self, t: float) -> None:
        report = self.link.poll(t)
        if report is not None:
            self.number += 1
            self.before, self.report, self._reported = self.report, report, t
            self.values = report.slots * self._scales
            self._was_armed |= report.is_armed


def _columns(indices: list[int]) -> Columns:
    """The same as a slice if possible, which takes much less time."""
    if indices and indices == list(range(indices[0], indices[0] + len(indices))):
        return slice(indices[0], indices[-1] + 1)
    return np.array(indices, np.intp)
