"""Where another process of the same interpreter finds what this one imports."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


def import_path() -> str:
    """The value of PYTHONPATH for it."""
    return os.pathsep.join(_absolute())


def _absolute() -> Iterator[str]:
    """The places as absolute paths, without those below a working directory that was removed."""
    for place in sys.path:
        with contextlib.suppress(FileNotFoundError):
            yield os.path.abspath(place)
