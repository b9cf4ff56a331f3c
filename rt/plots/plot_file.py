"""The file of a plot: PNG, SVG or PDF, which appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import matplotlib.style

from granite.config.errors import InputError
from granite.rt.log import Log
from granite.rt.plots import page
from granite.rt.plots.look import STYLE

#: how the name of a plot may end
SUFFIXES = (".png", ".svg", ".pdf")


def plot_log(log: Log, path: Path, overwrite: bool = False, panels: Sequence[str] = ()) -> None:
    """Draw a run into a file whose suffix says the format: all of it, or the named panels.

    `InputError` if the file can't be written, or if the run has no such panel.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"plot '{path}': expected a name that ends in {' or '.join(SUFFIXES)}")
    if path.exists() and not overwrite:
        raise InputError(f"plot '{path}' exists: expected a new name, or --overwrite")
    unfinished = path.with_name(f".granite-{os.getpid()}{suffix}")
    try:
        with open(unfinished, "wb") as file, matplotlib.style.context(["default", STYLE]):
            page.build_page(log, panels).savefig(file, format=suffix[1:])
        os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"plot '{path}' can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
