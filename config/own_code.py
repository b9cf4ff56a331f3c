"""Whose code raised an exception: the file and line of a user's own part, and which part of the testbed it is."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: folders of code that is not the user's: Granite, the standard library, installed packages
_OTHERS = (Path(__file__).parents[1], *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")))
#: what the testbed calls a part, by the method that the tick calls
_PARTS: Mapping[str, str] = {
    "estimate": "estimator",
    "decide": "behaviour",
    "control": "law",
    "share": "sharing method",
    "modulate": "modulation",
    **dict.fromkeys(("read", "write", "stop", "report", "observe", "note_delay"), "device"),
}


class OwnCodeLine(NamedTuple):
    """Where a user's own code raised."""

    part: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"your {self.part}, {Path(self.file).name}:{self.line}"


class WrongResultError(TypeError):
    """A user's own part returned something of another type or size than its contract says.

    Parameters
    ----------
    sentence
        What it returned, and what was expected.
    method
        The method that returned it.
    """

    def __init__(self, sentence: str, method: Callable[..., Any]) -> None:
        super().__init__(sentence)
        code = getattr(method, "__code__", None)
        self.raised = code and OwnCodeLine(_PARTS.get(code.co_name, "part"), code.co_filename, code.co_firstlineno)


def raised_in_own_code(error: BaseException, files: Collection[str] = ()) -> OwnCodeLine | None:
    """The innermost line of a user's own code that led to an exception; None where there is none.

    Parameters
    ----------
    error
        With its traceback from the code of Granite on that called a part.
    files
        Those of parts from installed packages, which are a user's own, too.
    """
    if isinstance(error, WrongResultError):
        return error.raised
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    while frames:
        code, line = frames[-1]
        if _is_own(code.co_filename) or code.co_filename in files:
            called = (_PARTS[code.co_name] for code, _ in reversed(frames) if code.co_name in _PARTS)
            return OwnCodeLine(next(called, "part"), code.co_filename, line)
        frames.pop()
    return None


def _is_own(file: str) -> bool:
    path = Path(file)
    return path.is_absolute() and not any(path.is_relative_to(other) for other in _OTHERS)
