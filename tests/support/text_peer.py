"""A program on a pseudo-terminal that speaks in lines: a sensor that prints, an actuator that answers."""

from __future__ import annotations

import os
import select
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class TextPeer:
    """Answers each line by `answer`; `send` prints at any time."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self.answer = answer
        self._end, there = os.openpty()
        tty.setraw(there)
        self.port, self._there = os.ttyname(there), there
        self.heard: list[bytes] = []
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def send(self, lines: bytes) -> None:
        os.write(self._end, lines)

    def unplug(self) -> None:
        if not self._thread.is_alive():
            return
        os.write(self._stopped, b".")
        self._thread.join(5)
        for descriptor in (self._end, self._there, self._stop, self._stopped):
            with suppress(OSError):
                os.close(descriptor)

    def _serve(self) -> None:
        rest = b""
        while True:
            ready = select.select([self._end, self._stop], [], [], 0.01)[0]
            if self._stop in ready:
                return
            if self._end in ready:
                *lines, rest = (rest + os.read(self._end, 4096)).split(b"\n")
                for line in lines:
                    self.heard.append(line)
                    self.send(self.answer(line))
            elif answer := self.answer(b""):
                self.send(answer)


@contextmanager
def text_peer(answer: Callable[[bytes], bytes]) -> Iterator[TextPeer]:
    peer = TextPeer(answer)
    yield peer
    peer.unplug()
