"""A process of the same interpreter that gets its order as a line of JSON, and answers with one when it is ready.

It ends when its standard input ends, and so with the process that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Collection, Mapping
from typing import Any

from granite.drivers.import_path import import_path


def request_priority(priority: int) -> None:
    """Let this process run before ordinary ones, if the system allows it; at most this real-time priority."""
    with contextlib.suppress(PermissionError, OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(max(priority, 1)))


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
        """Send it a line."""
        assert self.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended
            self.stdin.write(json.dumps(message) + "\n")
            self.stdin.flush()

    def answer(self, patience_s: float) -> dict[str, Any]:
        """Its next line; none where it has ended, or says nothing for so long."""
        assert self.stdout is not None
        if not select.select([self.stdout], [], [], patience_s)[0]:
            return {"failure": f"it said nothing for {patience_s:g} s"}
        return dict(json.loads(self.stdout.readline() or '{"failure": "it ended"}'))

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
