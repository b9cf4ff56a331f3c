"""Files that a user names: their content, and the missing part of a path that does not exist."""

from __future__ import annotations

from pathlib import Path

from granite.config.errors import InputError

#: of a testbed or a robot [bytes]; the largest ones that people write have some 100 000
_LARGEST = 10_000_000


def missing_part(path: Path) -> str:
    """The missing part of a path, as text: the first missing directory, or the file itself."""
    for directory in reversed(path.parents):
        if not directory.is_dir():
            return f"no directory '{directory}'" + (", because that is a file" if directory.exists() else "")
    return f"no such file '{path}'"


def meant_in_runs(path: Path, suffix: str = "") -> str:
    """A hint in brackets where the name was typed without the folder `runs`, in which commands put what they write."""
    for meant in (Path("runs") / path, Path("runs") / f"{path}{suffix}"):
        if not path.is_absolute() and meant.exists():
            return f" (did you mean '{meant}'?)"
    return ""


def content_of(path: Path) -> bytes:
    """The content of a file; `OSError` if it can't be read, `InputError` if it is none or far too large."""
    if path.is_fifo():  # it would be waited for
        raise InputError("not a file but a pipe", expected="a text that a person wrote")
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise InputError(f"larger than {_LARGEST // 10**6} MB", expected="a text that a person wrote")
    return content
