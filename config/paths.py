"""Paths that do not exist: which part of one is missing."""

from __future__ import annotations

from pathlib import Path


def missing_part(path: Path) -> str:
    """The missing part of a path, as text: the first missing directory, or the file itself."""
    for directory in reversed(path.parents):
        if not directory.is_dir():
            return f"no directory '{directory}'" + (", because that is a file" if directory.exists() else "")
    return f"no such file '{path}'"
