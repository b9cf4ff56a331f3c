"""A line between a board's port and its driver that can be tampered with: cut, held, or damaged."""

from __future__ import annotations

import os
import pty
import select
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

Tampering = Literal["nothing", "damage", "swallow", "unplug"]


class TamperedLine:
    """Passes bytes on between two ports.

    Attributes
    ----------
    path : str
        The port for the driver.
    tampering
        nothing; damage: one bit of everything that the board sends; swallow: bytes of both sides; unplug: hang up.
    """

    def __init__(self, port: str) -> None:
        self._board = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._ours, self._driver = pty.openpty()
        tty.setraw(self._driver)
        self.path = os.ttyname(self._driver)
        self.tampering: Tampering = "nothing"
        self._is_over = False
        self._thread = threading.Thread(target=self._pass_on)
        self._thread.start()

    def close(self) -> None:
        self._is_over = True
        self._thread.join(10)

    def _pass_on(self) -> None:
        with suppress(OSError):  # the board is gone, and so is its line
            self._pass_on_until_unplugged()
        for descriptor in (self._ours, self._driver, self._board):
            os.close(descriptor)

    def _pass_on_until_unplugged(self) -> None:
        while not self._is_over and self.tampering != "unplug":
            for source in select.select([self._board, self._ours], [], [], 0.01)[0]:
                received = os.read(source, 4096)
                if self.tampering == "swallow":
                    continue
                if source == self._board and self.tampering == "damage":
                    middle = len(received) // 2
                    received = received[:middle] + bytes([received[middle] ^ 0x55]) + received[middle + 1 :]
                os.write(self._ours if source == self._board else self._board, received)


@contextmanager
def tampered(port: str) -> Iterator[TamperedLine]:
    line = TamperedLine(str(Path(port).resolve()))
    try:
        yield line
    finally:
        line.close()
