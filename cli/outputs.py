"""The files that commands write: checked before any work is done, or given a new name."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from granite.config.errors import InputError
from granite.config.paths import missing_part
from granite.logs.unfinished import unfinished_name


def refuse_output(what: str, path: Path, suffixes: Sequence[str], overwrite: bool) -> None:
    """Check before any work is done; `InputError` for a file that can't be written or would be replaced."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{what} '{path}': expected a name that ends in {' or '.join(suffixes)}")
    if not str(path).isprintable():
        raise InputError(f"{what} '{path}': expected a name of printable characters")
    if path.is_dir():
        raise InputError(f"{what} '{path}' is a directory: expected a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{what} '{path}' is not a file: expected a file or a new name")
    if not path.parent.is_dir():
        raise InputError(f"{what} '{path}' can't be written: {missing_part(path)}")
    if path.exists() and not overwrite:
        raise InputError(f"{what} '{path}' exists: expected a new name, or --overwrite")


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
        place = path or folder
        raise InputError(f"log '{place}' can't be written: {error.strerror}, expected another file by --out") from None
    assert path is not None
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            if reserved.exists() and reserved.stat().st_size == 0:
                reserved.unlink()
            if made:
                folder.rmdir()  # refused by the system unless it is empty
