"""The register of runs: a file for each run that can be watched or operated, so that other programs find it.

It stands in the user's runtime folder, and is there as long as the process of the loop.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from granite.config.errors import InputError
from granite.config.private_files import fault_of


class RegisteredRun(NamedTuple):
    """A run that is under way."""

    pid: int  #: of the loop
    bed: str
    mode: str  #: realtime, rehearsal or hardware
    log: str  #: where it is recorded, while it is
    live_port: int | None  #: None: nobody can watch it
    operator_address: str | None  #: None: nobody can operate it


def register_folder() -> Path:
    """The folder of the register, which only this user can read: made where there is none.

    Raises
    ------
    InputError
        Where others could write into it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime, "granite") if runtime else Path("/tmp", f"granite-{os.geteuid()}")
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if fault := fault_of(folder):
        raise InputError(f"the register of runs '{folder}' can't be used, {fault}")
    return folder


@contextlib.contextmanager
def registered(run: RegisteredRun) -> Iterator[None]:
    """Let others find the run while the context lasts; a register that can't be written never stops a run."""
    path: Path | None = None
    with contextlib.suppress(OSError, InputError):
        folder = register_folder()
        path, unfinished = folder / f"{run.pid}.json", folder / f".{run.pid}.json"
        unfinished.touch(0o600)
        unfinished.write_text(json.dumps(run._asdict()))
        unfinished.replace(path)
    try:
        yield
    finally:
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()


def registered_runs() -> list[RegisteredRun]:
    """The runs under way, oldest first; the file of a process that died is removed."""
    runs = []
    with contextlib.suppress(OSError, InputError):
        for path in sorted(register_folder().glob("[0-9]*.json"), key=lambda path: path.stat().st_mtime_ns):
            with contextlib.suppress(OSError, ValueError, TypeError):
                run = RegisteredRun(**json.loads(path.read_text()))
                if _lives(run.pid):
                    runs.append(run)
                else:
                    path.unlink()
    return runs


def _lives(pid: int) -> bool:
    """Whether it is a process of Python: the number of one that died may be in use again."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"python" in command or b"granite" in command
