"""The file of a log while it is recorded: beside the final one, locked by its recorder, renamed when it is whole.

`demo.mcap` is recorded as `demo.part.mcap`. A run that was killed leaves that file: every command reads it, and
`granite recover` makes a whole log of it. Nothing replaces a log before the run that replaces it has ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from granite.config.errors import LogError
from granite.config.whole_file import give_name

_MARK = ".part"


def unfinished_name(path: Path, mark: str = _MARK) -> Path:
    """The name under which a log is recorded."""
    return path.with_name(f"{path.stem}{mark}{path.suffix}")


def finished_name(path: str) -> str:
    """The name that a log has when the run that records it has ended."""
    return path.removesuffix(f"{_MARK}.mcap") + ".mcap" if path.endswith(f"{_MARK}.mcap") else path


def recorded_at(path: Path) -> Path:
    """Where a log is while it is recorded: a link stays a link."""
    return unfinished_name(Path(os.path.realpath(path)))


def found_log(path: Path | str) -> Path:
    """The log of that name, or where there is none the one that is being recorded or that a killed run left."""
    path = Path(path)
    return unfinished if not path.exists() and (unfinished := unfinished_name(path)).is_file() else path


class UnfinishedLog:
    """The file of a log that is being recorded.

    Parameters
    ----------
    path
        The name of the finished log.
    overwrite
        Replace the log of that name, and what a killed run left.
    mark
        Of the file's name.

    Raises
    ------
    LogError
        Where the file exists and may not be replaced, is no regular file, or another run records into it.
    OSError
        Where it can't be created.
    """

    def __init__(self, path: Path | str, overwrite: bool, mark: str = _MARK) -> None:
        self._shown, self._overwrite = path, overwrite
        self._final = Path(os.path.realpath(path))  # a link stays a link
        self.path = unfinished_name(self._final, mark)
        if self._final.exists() and not self._final.is_file():
            raise LogError(f"log '{path}' is not a file: expected a file, because a log is renamed when it is whole")
        if self._final.exists() and not overwrite:
            raise self._exists()
        self._lock = self._locked()

    def finish(self) -> None:
        """Give the file its final name; `OSError` or `LogError` where that fails, the file then keeps its own."""
        os.fsync(self._lock)
        try:
            give_name(self.path, self._final, self._overwrite)
        except FileExistsError:
            raise self._exists() from None
        os.close(self._lock)

    def discard(self) -> None:
        """Delete the file: nothing was recorded."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        os.close(self._lock)

    def _locked(self) -> int:
        """A descriptor of the file, created and locked; the system releases the lock when the recorder ends."""
        while True:
            if self.path.exists() and not self.path.is_file():
                raise LogError(f"log '{self.path}' is not a file: expected one, or none")
            new = not self.path.exists()
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise LogError(
                    f"log '{self._shown}' is being recorded by another run, into '{self.path.name}': "
                    "expected another name, or the end of that run"
                ) from None
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self.path), os.fstat(descriptor)):
                    break  # else the other run finished and renamed it between the two calls
            os.close(descriptor)
        if not new and not self._overwrite and os.fstat(descriptor).st_size:
            os.close(descriptor)
            raise LogError(
                f"log '{self.path}' exists, of a run that was killed: "
                "expected a new name, --overwrite, or granite recover first"
            )
        return descriptor

    def _exists(self) -> LogError:
        return LogError(f"log '{self._shown}' exists: expected a new name, or --overwrite")
