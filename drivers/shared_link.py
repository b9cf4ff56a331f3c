"""A link that the devices on one port share: opened once, read once and written once per tick.

The devices of a port are built with the same link. In each tick the device set lets its links receive before the
sensors are read, and lets them send after every actuator has its set point. A link without actuators sends as soon as
it has received.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from granite.config.base import Table
from granite.config.errors import InputError, shown
from granite.drivers.board.port import PortPath
from granite.drivers.link_history import LinkHistory

#: for the first answers, and for arming [s]
_PATIENCE_S = 1.0
#: of the time of a sample, where the other side answers a request or has a clock (one sigma) [s]
_TIME_DEVIATION_S = 1e-3


class SharedLink(ABC):
    """A link during a run.

    Parameters
    ----------
    watchdog_s
        Without commands for this long, the other side makes its outputs safe; without answers, it is silent.
    period_s
        Of the loop.
    """

    #: keys that the tables of all its devices have in common
    Options: ClassVar[type[LinkTable]]
    #: what it counted over time
    history: LinkHistory

    def __init__(self, watchdog_s: float, period_s: float) -> None:
        self._period_s, self._silent_s = period_s, max(watchdog_s, 3 * period_s)
        #: without them it sends as soon as it has received
        self.has_actuators = False
        self._is_open = self._was_armed = False
        self._began: float | None = None
        self._stopping = Lock()
        #: number of the newest report or request when the first stop was sent
        self._stopped: int | None = None

    def open(self) -> None:
        """Open the port and check the other side; the first device on it does it for all.

        Raises
        ------
        InputError
            Where the port can't be opened, or something else than expected is there.
        """
        if not self._is_open:
            self._connect()
            self._is_open, self._was_armed, self._began, self._stopped = True, False, None, None

    def close(self) -> None:
        """Close the port."""
        if self._is_open:
            self._is_open = False
            self._disconnect()

    def receive(self, t: float) -> None:
        """Take in what has arrived by time t [s]."""
        if self._began is None:
            self._began = t
        self._take(t)
        self.history.note(t)
        if not self.has_actuators:
            self.send(t)

    @abstractmethod
    def send(self, t: float) -> None:
        """Send the set points of all its actuators; the answer is what `receive` takes in next."""

    @abstractmethod
    def ask(self, t: float) -> None:
        """In place of `send`: ask for an answer by a message that only makes outputs safe, for checks before a run."""

    @abstractmethod
    def stop(self, t: float) -> bool:
        """Make all outputs safe at once; whether an answer since the first stop confirms it.

        Several threads may call it at a time, one for each device.
        """

    @abstractmethod
    def _connect(self) -> None:
        """Open the port."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the port."""

    @abstractmethod
    def _take(self, t: float) -> None:
        """Take in what has arrived."""

    def _is_new(self, t: float) -> bool:
        """Whether the first answers and arming may still be to come."""
        return self._began is None or t - self._began < _PATIENCE_S


class Closable(Protocol):
    """An open port."""

    def close(self) -> None:
        """Close it."""


@dataclass
class PortCounts:
    """What happened on the port so far."""

    sent: int = 0
    blocked: int = 0  #: messages that the port did not take
    received: int = 0
    lost: int = 0  #: times that the port went away


P = TypeVar("P", bound=Closable)


class PortLink(SharedLink, Generic[P]):
    """A link over one port; where that goes away in a run, its devices are silent from then on."""

    counts: PortCounts

    def __init__(self, path: str, watchdog_s: float, period_s: float) -> None:
        super().__init__(watchdog_s, period_s)
        self._path = path
        self._port: P | None = None

    @abstractmethod
    def _open_port(self) -> P:
        """Open the port."""

    @abstractmethod
    def _prepare(self, port: P) -> None:
        """Check the other side, and make it ready; OSError where the port goes away."""

    def _connect(self) -> None:
        self._port = self._open_port()
        try:
            self._prepare(self._port)
        except OSError as error:
            self._drop()
            raise InputError(f"the port went away: {error}", key="port", value=self._path) from error
        except BaseException:
            self._drop()
            raise

    def _lose(self) -> None:
        self.counts.lost += 1
        self._drop()

    def _drop(self) -> None:
        if self._port is not None:
            self._port.close()
        self._port = None


class LinkTable(Table):
    """The table of a driver whose devices share a link; it is built as `Driver(options, name, bed, link)`."""

    #: built as `Link(options, period_s)`
    Link: ClassVar[Any]

    port: PortPath  #: of the link, such as /dev/ttyACM0 or a path that udev keeps

    def time_deviation_s(self, period_s: float) -> float:
        """Of the times of samples (one sigma): commands leave at different times of a tick, and lines take some."""
        return _TIME_DEVIATION_S


class SharedLinks(dict[tuple[type, str], SharedLink]):
    """The links of one set of devices, by their class and port."""

    def __init__(self, period_s: float) -> None:
        super().__init__()
        self._period_s = period_s
        self._tables: dict[SharedLink, LinkTable] = {}

    def of(self, table: LinkTable) -> SharedLink:
        """The link of a device with this table.

        Raises
        ------
        InputError
            Where another device has the same port with another name of it, or with other keys.
        """
        key = table.Link, os.path.realpath(table.port)
        if key not in self:
            self[key] = table.Link(table, self._period_s)
            self._tables[self[key]] = table
        first = self._tables[self[key]]
        if table.port != first.port:
            problem = "another device of this testbed uses this port under another name"
            raise InputError(problem, key="port", value=table.port, expected=shown(first.port))
        for field in self[key].Options.model_fields:
            value, other = getattr(table, field), getattr(first, field)
            if value != other:
                expected = f"{shown(other)}, as the other devices on {table.port} have it"
                raise InputError(key=field, value=value, expected=expected)
        return self[key]
