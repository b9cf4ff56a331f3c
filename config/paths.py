"""Paths that lead nowhere: which part of one is missing."""

from __future__ import annotations

from pathlib import Path


def missing_part(path: Path) -> str:
    """What is missing of a path, in words: the first directory that is not there, or the file itself."""
    for directory in reversed(path.parents):
        if not directory.is_dir():
            return f"no directory '{directory}'" + (", for that is a file" if directory.exists() else "")
    return f"no such file '{path}'"
