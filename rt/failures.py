"""Failures while a run is prepared, as one sentence: numbers that pass every check can still defeat an algorithm."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from granite.config.errors import GraniteError, InputError

_LONGEST = 200


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
    except Exception as error:
        words = " ".join(str(error).split())[:_LONGEST]
        failure = f"it can't be prepared, {type(error).__name__}: {words}{raised_at(error)}"
        raise InputError(failure, file=bed) from error


def raised_at(fault: BaseException) -> str:
    """File and line that raised."""
    frames = traceback.extract_tb(fault.__traceback__)
    return f" (at {Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
