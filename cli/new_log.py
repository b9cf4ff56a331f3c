"""The name of a new log in the folder of runs."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from granite.config.errors import InputError
from granite.logs.unfinished import unfinished_name


@contextlib.contextmanager
def new_log(bed: str) -> Iterator[Path]:
    """The first free name in runs/, reserved at once so that parallel runs differ; released if unused."""
    folder, stem = Path("runs"), re.sub(r"[^\w.-]+", "-", bed)
    path = None
    try:
        made = not folder.is_dir()
        folder.mkdir(exist_ok=True)
        for i in itertools.count(1):
            path = folder / f"{stem}-{i:03d}.mcap"
            with contextlib.suppress(FileExistsError):
                reserved = unfinished_name(path)
                reserved.touch(exist_ok=False)
                if not path.exists():
                    break
                reserved.unlink()
    except OSError as error:
        target = path or folder
        raise InputError(f"log '{target}' can't be written: {error.strerror}, expected another file by --out") from None
    assert path is not None
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            if reserved.exists() and reserved.stat().st_size == 0:
                reserved.unlink()
            if made:
                folder.rmdir()  # refused by the system unless it is empty
