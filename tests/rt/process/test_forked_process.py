"""A forked process: what the other one left open must not touch what this one opens."""

import gc
import os
from pathlib import Path
from typing import TextIO

from granite.rt.process.forked_process import ForkedProcess


class Cycle:
    """Garbage that only the collector finds, with an open file: a log that was read has one."""

    def __init__(self, path: Path) -> None:
        self.file, self.itself = path.open("rb"), self


def test_garbage_of_the_other_process_closes_nothing_here(tmp_path: Path):
    (tmp_path / "old").write_bytes(b"old")
    new = tmp_path / "new"

    def work(lines: TextIO, answers: TextIO) -> None:
        opened = [os.open(new, os.O_RDWR | os.O_CREAT) for _ in range(20)]
        gc.collect()
        kept = [os.path.samestat(os.fstat(each), new.stat()) for each in opened if _is_open(each)]
        answers.write(f"{sum(kept)}\n")
        answers.flush()

    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            Cycle(tmp_path / "old")
        process = ForkedProcess(work)
        assert process.communicate("", 20.0) == "20\n"
        assert process.wait() == 0
    finally:
        gc.enable()
        gc.collect()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
