"""The file of a figure: PNG, SVG or PDF, written complete or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import matplotlib.style
from matplotlib.figure import Figure

from granite.config.errors import InputError
from granite.views.plots.style import STYLE

#: how the name of a plot may end
SUFFIXES = (".png", ".svg", ".pdf")


def write_figure(path: Path, build: Callable[[], Figure], overwrite: bool = False) -> None:
    """Build a figure in the style of all plots and write it; `InputError` if the file can't be written."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"plot '{path}': expected a name that ends in {' or '.join(SUFFIXES)}")
    if path.exists() and not overwrite:
        raise InputError(f"plot '{path}' exists: expected a new name, or --overwrite")
    unfinished = path.with_name(f".granite-{os.getpid()}{suffix}")
    try:
        with open(unfinished, "wb") as file, matplotlib.style.context(["default", STYLE]):
            build().savefig(file, format=suffix[1:])
        os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"plot '{path}' can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
