"""A process of the same interpreter that gets an order, answers when it is ready, and works until it is ended.

Order and answers are lines of JSON on its standard input and output. It ends when its standard input ends, and so with
the process that started it.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from granite.config.errors import GraniteError
from granite.drivers.message_lines import receive, send


def import_path() -> str:
    """The value of PYTHONPATH for it."""
    return os.pathsep.join(_absolute())


def _absolute() -> Iterator[str]:
    """The places as absolute paths, without those below a working directory that was removed."""
    for place in sys.path:
        with contextlib.suppress(FileNotFoundError):
            yield os.path.abspath(place)


def request_priority(priority: int) -> None:
    """Let this process run before ordinary ones, if the system allows it; at most this real-time priority."""
    with contextlib.suppress(PermissionError, OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(priority, 1)))


def carry_out(work: Callable[[dict[str, Any]], Iterator[Mapping[str, Any]]]) -> None:
    """The whole of an ordered process.

    Parameters
    ----------
    work
        Does what the order says, and yields its answers. Where it can't begin, the reason is the first answer.
    """
    answers = work(receive(sys.stdin))
    try:
        send(sys.stdout, next(answers))
    except (GraniteError, OSError) as error:
        send(sys.stdout, {"failure": str(error)})
    for answer in answers:
        send(sys.stdout, answer)


class OrderedProcess(subprocess.Popen[str]):
    """A running module.

    Parameters
    ----------
    module
        Its name.
    order
        What it is to do.
    pass_fds
        Descriptors that stay open in it.
    """

    def __init__(self, module: str, order: Mapping[str, Any], pass_fds: Collection[int] = ()) -> None:
        super().__init__(
            [sys.executable, "-P", "-m", module],
            env={**os.environ, "PYTHONPATH": import_path()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=pass_fds,
            start_new_session=True,  # the loop alone handles Ctrl-C
        )
        self.tell(order)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send it a message."""
        assert self.stdin is not None
        send(self.stdin, message)

    @property
    def has_answer(self) -> bool:
        """Whether a message waits, or the process has ended."""
        assert self.stdout is not None
        return bool(select.select([self.stdout], [], [], 0.0)[0])

    def answer(self, patience_s: float) -> dict[str, Any]:
        """Its next message; a failure where it has ended, or says nothing for so long."""
        assert self.stdout is not None
        if not select.select([self.stdout], [], [], patience_s)[0]:
            return {"failure": f"its process said nothing for {patience_s:g} s"}
        return receive(self.stdout) or {"failure": "its process ended"}

    def end(self, patience_s: float) -> None:
        """End it: by the end of its input, and else by a signal."""
        assert self.stdin is not None
        assert self.stdout is not None
        with contextlib.suppress(OSError):
            self.stdin.close()
        try:
            self.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
        self.stdout.close()
