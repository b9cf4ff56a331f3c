"""`--console`: the console as a process beside a run, which stays after the run until Ctrl-C."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from granite.cli.screen import err


@contextlib.contextmanager
def console_beside(log: Path | None, ends_with_run: bool) -> Iterator[None]:
    """A console that shows the folder of the log, from before a run until Ctrl-C after it."""
    folder = Path("runs") if log is None else log.absolute().parent
    command = [sys.executable, "-m", "granite.cli", "console", "--port", "0", "--folder", str(folder)]
    # In a session of its own: Ctrl-C, which stops the run, leaves the page there.
    stdout = sys.stderr if ends_with_run else None
    process = subprocess.Popen(command, start_new_session=True, stdout=stdout)
    has_run = False
    try:
        yield
        has_run = True
    except SystemExit:
        has_run = True
        raise
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            if has_run and not ends_with_run and process.poll() is None:
                err.print("granite: the run is over, its page stays until Ctrl-C", soft_wrap=True)
                process.wait()
        process.terminate()
        process.wait()


def free_port(first: int) -> int:
    """This port, or where a program listens there already any free one."""
    for port in (first, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    return first
