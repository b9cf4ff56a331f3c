"""Failures while a run is prepared, as one sentence: numbers that pass every check can still defeat an algorithm."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from granite.config.errors import GraniteError, InputError
from granite.config.own_code import raised_in_own_code

_LONGEST = 200
#: what a user can do about a refusal of the system
_REMEDIES = {
    errno.EMFILE: "raise the limit by ulimit -n",
    errno.EFBIG: "raise the limit by ulimit -f",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
}


@contextmanager
def refused_where_it_fails(bed: str) -> Iterator[None]:
    """A context in which any failure is an `InputError` with the testbed, the failure and the line that raised it.

    The failure itself is its cause, for those who want the traceback.
    """
    try:
        yield
    except GraniteError:
        raise
    except MemoryError as error:
        raise InputError("not enough memory to prepare it", file=bed) from error
    except OSError as error:
        raise InputError(f"the system refused it, {system_words(error)}", file=bed) from error
    except Exception as error:
        words = " ".join(str(error).split())[:_LONGEST]
        failure = f"it can't be prepared, {type(error).__name__}: {words}{raised_at(error)}"
        raise InputError(failure, file=bed) from error


def system_words(error: OSError) -> str:
    """The error of the system, its file, and a remedy for the user."""
    about = f" '{error.filename}'" if error.filename is not None else ""
    remedy = f" ({_REMEDIES[error.errno]})" if error.errno in _REMEDIES else ""
    return f"{error.strerror or error}{about}{remedy}"


def raised_at(fault: BaseException) -> str:
    """File and line that raised; of a user's own code the line that led to it."""
    if raised := raised_in_own_code(fault):
        return f" (at {Path(raised.file).name}:{raised.line})"
    frames = traceback.extract_tb(fault.__traceback__)
    return f" (at {Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
