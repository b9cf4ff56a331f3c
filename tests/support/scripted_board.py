"""A board of a few lines on a pseudo-terminal, which answers as a test wants: also wrongly."""

from __future__ import annotations

import os
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from granite.drivers.board.description import Channel
from granite.drivers.board.frame import Decoder, WireFrame, encode
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.link import BoardLink
from granite.drivers.board.wire import BOARD, CHANNEL, REPORT, VERSION, ChannelKind, FrameKind

CHANNELS = (
    Channel(0, ChannelKind.VALVE, "r1", "s", 1e-5, 1000, 65535),
    Channel(1, ChannelKind.MOTOR, "elbow", "N m", 1e-4, -10000, 10000),
    Channel(2, ChannelKind.ENCODER, "elbow", "rad", 1e-3, -5000, 5000),
)
#: written to the board's own input, it ends its thread
_END = b"\0end\0"


class ScriptedBoard:
    """The board's end of a port. It describes itself; other frames are kept in `heard` for the test to answer."""

    def __init__(
        self,
        name: str = "arm",
        firmware: str = "1.0.0",
        version: int = VERSION,
        layout: int = 7,
        channels: tuple[Channel, ...] = CHANNELS,
    ) -> None:
        self.name, self.firmware, self.version, self.layout, self.channels = name, firmware, version, layout, channels
        self.noise = b""  #: sent instead of every answer
        self.is_silent = False
        self.heard: list[WireFrame] = []
        self.sequence = 0
        self._go = threading.Event()
        self._go.set()
        self._end, self._other = os.openpty()
        tty.setraw(self._other)
        self.port = os.ttyname(self._other)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def send(self, frame: bytes) -> None:
        os.write(self._end, frame)

    def frame(self, kind: FrameKind, payload: bytes, answers: int, sequence: int | None = None) -> bytes:
        """The next frame of this board, or one with a number of its own."""
        if sequence is None:
            self.sequence += 1
        number = self.sequence if sequence is None else sequence
        return encode(kind, number & 0xFFFF, answers & 0xFFFF, payload, self.version)

    def report(
        self,
        answers: int,
        time_us: int = 0,
        sequence: int | None = None,
        channels: int = len(CHANNELS),
        latch: int = 3,
    ) -> bytes:
        payload = REPORT.pack(time_us, 0, 0, latch, 0, 2, 0, 0, 0, 0) + bytes(4 * channels)
        return self.frame(FrameKind.REPORT, payload, answers, sequence)

    def pause(self) -> threading.Event:
        """Stop reading, as a board that hangs, until the event is set."""
        self._go = threading.Event()
        return self._go

    def unplug(self) -> None:
        """The port goes away, as a cable that is pulled."""
        if self._end < 0:
            return
        self._go.set()
        os.write(self._other, _END)
        self._thread.join(timeout=5)  # a descriptor that a thread reads would stay open
        os.close(self._other)
        os.close(self._end)
        self._end = -1

    def _serve(self) -> None:
        decoder = Decoder()
        with suppress(OSError):
            while received := os.read(self._end, 4096):
                if _END in received:
                    return
                for frame in decoder.feed(received):
                    self._answer(frame)
                self._go.wait()

    def _answer(self, frame: WireFrame) -> None:
        if self.is_silent:
            return
        if self.noise:
            self.send(self.noise)
        elif frame.kind == FrameKind.HELLO:
            text = self.name.encode(), self.firmware.encode(), b"serial"
            identity = BOARD.pack(*text, len(self.channels), self.layout, 20_000, 2_000, 1_000_000, 0)
            self.send(self.frame(FrameKind.BOARD, identity, frame.sequence))
        elif frame.kind == FrameKind.DESCRIBE:
            channel = self.channels[frame.payload[0]]
            texts = channel.name.encode(), channel.unit.encode()
            packed = CHANNEL.pack(channel.position, channel.kind, *texts, channel.scale, channel.low, channel.high)
            self.send(self.frame(FrameKind.CHANNEL, packed, frame.sequence))
        else:
            self.heard.append(frame)


@contextmanager
def scripted(**properties: object) -> Iterator[ScriptedBoard]:
    board = ScriptedBoard(**properties)  # type: ignore[arg-type]
    yield board
    board.unplug()


def link_to(board: ScriptedBoard | str, period_s: float = 0.005, **options: object) -> BoardLink:
    """A link to it, not open yet."""
    usual = {"port": board if isinstance(board, str) else board.port, "board": "arm"}
    return BoardLink(LinkOptions.model_validate(usual | options), period_s)
