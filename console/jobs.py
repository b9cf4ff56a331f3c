"""Commands of Granite that a page starts, as processes of their own: runs, films, plots, replays, tuning sessions.

Their output goes into a file, so that one that outlives the console is never stopped by it.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

from granite.config.errors import InputError
from granite.rt.process.other_cores import OtherCores

#: jobs under way at most, jobs that are remembered, and the last part of the output that is shown [bytes]
_UNDER_WAY, _KEPT, _TAIL = 8, 50, 6000
#: time for a job to end with the console [s]
_GRACE_S = 5.0


class Job:
    """A command under way, or one that has ended."""

    def __init__(self, number: int, kind: str, words: Sequence[str], result: Path | None, ends_with_us: bool) -> None:
        self.number, self.kind, self.words, self.result, self.ends_with_us = number, kind, words, result, ends_with_us
        self.began = time.time()
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - the process writes into it
        self.process = subprocess.Popen(
            [sys.executable, "-m", "granite.cli", *words],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def told(self) -> dict[str, Any]:
        """What a page shows of it."""
        code = self.process.poll()
        is_there = self.result is not None and self.result.is_file()
        return {
            "number": self.number,
            "kind": self.kind,
            "command": "granite " + " ".join(self.words),
            "state": "running" if code is None else "done" if code == 0 else "failed",
            "code": code,
            "began": self.began,
            "output": self.tail(),
            "result": self.result.name if self.result is not None and is_there else None,
            "result_path": str(self.result) if is_there else None,
            "pid": self.process.pid,
        }

    def tail(self, most: int = _TAIL) -> str:
        """The end of its output."""
        size = self._output.seek(0, 2)
        self._output.seek(max(size - most, 0))
        return self._output.read().decode(errors="replace")

    def whole(self) -> str:
        """All of its output, up to some megabytes."""
        return self.tail(2**24)


class Jobs:
    """All of them."""

    def __init__(self, cores: OtherCores) -> None:
        self._cores = cores
        self._jobs: dict[int, Job] = {}
        self._numbers = count(1)

    def start(
        self, kind: str, words: Sequence[str], result: Path | None = None, ends_with_us: bool = True
    ) -> dict[str, Any]:
        """Begin one; `InputError` where too many are under way."""
        if sum(job.process.poll() is None for job in self._jobs.values()) >= _UNDER_WAY:
            raise InputError(f"{_UNDER_WAY} jobs are under way", expected="one of them to end first")
        with self._cores.all_of_them():  # a run may use any core
            job = Job(next(self._numbers), kind, words, result, ends_with_us)
        self._jobs[job.number] = job
        ended = [number for number, known in self._jobs.items() if known.process.poll() is not None]
        for number in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[number]
        return job.told()

    def of(self, number: int) -> Job:
        """The job of that number."""
        if number not in self._jobs:
            raise InputError("no such job", key="number", value=number)
        return self._jobs[number]

    def told(self) -> list[dict[str, Any]]:
        """All of them, newest first."""
        return [job.told() for job in reversed(self._jobs.values())]

    def stop(self, number: int) -> dict[str, Any]:
        """As Ctrl-C does: a run ends with valves closed, a session keeps its trials."""
        job = self.of(number)
        with contextlib.suppress(ProcessLookupError):
            job.process.send_signal(signal.SIGINT)
        return job.told()

    def close(self) -> None:
        """End those that end with the console."""
        ours = [job for job in self._jobs.values() if job.ends_with_us and job.process.poll() is None]
        for job in ours:
            job.process.send_signal(signal.SIGINT)
        until = time.monotonic() + _GRACE_S
        for job in ours:
            try:
                job.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                job.process.terminate()
