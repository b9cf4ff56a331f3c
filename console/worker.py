"""Slow work of the console in a process of its own: logs, sessions, plans and checks of testbeds.

The page's commands never wait for it. One order is carried out at a time; a worker that died is started anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from granite.config.errors import GraniteError, InputError


class RefusedOrderError(GraniteError):
    """The sentence of an `InputError` in the worker, and the key that it names."""

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text)
        self.key = key


class Worker:
    """A process that carries out orders: methods of what `make` makes there.

    Parameters
    ----------
    make
        Makes the object whose methods are called; it is given a function that reports progress, 0 to 1.
    name
        Of the process.
    """

    def __init__(self, make: Callable[[Callable[[float], None]], Any], name: str) -> None:
        self._make, self._name = make, name
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._numbers = itertools.count()
        self._lock = asyncio.Lock()
        #: of the order that is being carried out, where it reports it
        self.progress: float | None = None

    async def ask(self, do: str, *arguments: Any) -> Any:
        """The answer to an order; `RefusedOrderError` where it is refused."""
        async with self._lock:
            try:
                return await asyncio.to_thread(self._ask, do, arguments)
            finally:
                self.progress = None

    @property
    def pid(self) -> int | None:
        """Of the process, once it was started."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process, if it does not run: its imports take seconds."""
        if self._process is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_work, args=(other, self._make), daemon=True, name=self._name)
            self._process.start()
            other.close()

    def close(self) -> None:
        """End the process."""
        if self._connection is not None and self._process is not None:
            self._connection.close()
            self._process.kill()  # it has nothing to finish, and may wait for a disk

    def _ask(self, do: str, arguments: tuple[Any, ...]) -> Any:
        self.start()
        assert self._connection is not None
        number = next(self._numbers)
        try:
            self._connection.send((number, do, arguments))
            while True:
                answered, kind, content = self._connection.recv()
                if answered != number:
                    continue
                if kind == "progress":
                    self.progress = content
                elif kind == "refused":
                    raise RefusedOrderError(*content)
                else:
                    return content
        except (EOFError, OSError):
            self._process = None
            raise RefusedOrderError(f"the console's {self._name} ended") from None


def _work(connection: Connection, make: Callable[[Callable[[float], None]], Any]) -> None:
    """Carry out orders until the console is gone."""
    os.nice(10)
    number = -1

    def report(part: float) -> None:
        with contextlib.suppress(OSError):
            connection.send((number, "progress", part))

    target = make(report)
    while True:
        try:
            number, do, arguments = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = number, "done", getattr(target, do)(*arguments)
        except InputError as error:
            answer = number, "refused", (str(error), error.key)
        except GraniteError as error:
            answer = number, "refused", (str(error), "")
        except OSError as error:
            answer = number, "refused", (f"it can't be read: {error.strerror or error}", "")
        try:
            connection.send(answer)
        except OSError:  # the console was killed meanwhile
            return
