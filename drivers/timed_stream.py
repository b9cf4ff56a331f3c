"""A sensor whose messages have times of the sender's clock."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any

from granite.config.devices.device import Device
from granite.config.records import Frame, no_frame
from granite.config.testbed import Testbed
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.contract import Sensor
from granite.drivers.link_history import LinkHistory
from granite.drivers.pose_stream.sockets import Receiver

#: messages that are read at one tick
_MOST_READ = 64


class TimedStream(Sensor):
    """Frames of the newest message, with the time of its measurement.

    The sender's clock is mapped to the loop's: a message that is read at a tick arrived after the tick before, and was
    sent `transport_s` earlier at most. These intervals bound the offset from both sides (`ClockMap`); the estimate is
    their later end, because messages take much less than `transport_s`. A tick that is late may read a message that
    was sent after its time, so its interval is longer by the delay.

    Parameters
    ----------
    history
        Name of the stream in the log.
    counts
        A dataclass of numbers with `late`.
    transport_s
        Longest time from sending to arrival.
    name, bed
        The device and its testbed.
    """

    def __init__(self, history: str, counts: Any, transport_s: float, name: str, bed: Testbed) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
        self.counts, self.clock = counts, ClockMap()
        self._device, self._transport_s = device, transport_s
        self._history = LinkHistory(history, self._numbers)
        self._receiver: Receiver | None = None
        self._frame = no_frame(len(device.signals(bed)))
        self._before: float | None = None
        self._delay = 0.0

    def close(self) -> None:
        """Receive no more."""
        if self._receiver is not None:
            self._receiver.close()

    @property
    def link_history(self) -> LinkHistory:
        """What the stream counted over time."""
        return self._history

    def note_delay(self, delay: float) -> None:
        """Take down how late the tick is that reads next [s]."""
        self._delay = delay

    def read(self, t: float) -> Frame:
        """The newest values that have arrived."""
        assert self._receiver is not None
        before, self._before = self._before, t
        for _ in range(_MOST_READ):  # not as long as some come: a flood would hold the tick
            if (received := self._receiver.receive()) is None:
                break
            if before is not None:  # else they waited since the stream was opened: when they came is not known
                self._accept(before, t, received)
        self._history.note(t)
        return self._frame

    @abstractmethod
    def _accept(self, before: float, now: float, received: bytes) -> None:
        """Count a message that arrived between two ticks, and make its frame the newest where it has one."""

    def _note_time(self, before: float, now: float, sent_us: int) -> None:
        """Bound the offset of the clocks by a message that arrived between two ticks, unless it was late."""
        if not self.clock.update(before - self._transport_s, now + self._delay, sent_us):
            self.counts.late += 1

    def _time_of(self, measured_us: int, now: float) -> float:
        """Time of the loop; it never goes back where the estimate of the clock improves."""
        # It may have come after the time of a tick that is late: not from the future, as far as the tick is concerned.
        t = min(self.clock.latest(measured_us), now)
        return max(t, self._frame.t) if self._frame.number else t

    def _numbers(self) -> dict[str, float]:
        clock = self.clock
        return {
            **dataclasses.asdict(self.counts),
            "clock_offset_s": clock.offset_s,
            "clock_uncertainty_s": clock.uncertainty_s,
            "clock_drift": clock.drift,
            "clock_jumps": clock.jumps,
        }
