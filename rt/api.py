"""The functions that scripts begin with: simulate a testbed, plot a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.logs.log import Log, read_log
from granite.rt import run as runs
from granite.rt.run_in_memory import simulate_in_memory
from granite.rt.run_options import RunOptions

if TYPE_CHECKING:  # matplotlib is slow to import
    from granite.views.plots import Picture


def simulate(
    bed: Testbed | str,
    log: Path | str | None = None,
    *,
    realtime: bool = False,
    overwrite: bool = False,
    changes: Sequence[str] = (),
) -> Log:
    """Run a testbed on the simulated plant.

    Parameters
    ----------
    bed
        A testbed, or the name of one as for `load`.
    log
        The MCAP file to record into; None: keep the rows in memory, in virtual time.
    realtime
        Keep pace with wall-clock time.
    overwrite
        Replace the file if it exists.
    changes
        Changes of the testbed, as text for the log's metadata.

    Returns
    -------
    Log
        The run as it was recorded; `log.summary["ended"]` says how it ended.

    Raises
    ------
    InputError
        Where the testbed can't be run, with the sentence that the command line prints.
    KeyboardInterrupt
        After Ctrl-C, when the run has ended safely and its log is closed. Other signals are passed on in the same way.
    """
    whole = load(bed) if isinstance(bed, str) else bed
    if log is None and not realtime:
        return simulate_in_memory(whole)
    if log is None:
        raise InputError.missing("log", "a file, because a run in real time is recorded by another process")
    summary = runs.simulate(whole, Path(log), RunOptions(realtime, overwrite, changes=changes))
    recorded = read_log(log)
    return recorded if recorded.summary is not None else replace(recorded, summary=summary)  # the recorder was killed


def plot(log: Log | Path | str, path: Path | str | None = None, *, overwrite: bool = False) -> Path | Picture:
    """Plot a run into a file, or show it in a notebook.

    Parameters
    ----------
    log
        A log, or its file.
    path
        The plot; its suffix is the format: .png, .svg or .pdf. None: a picture that a notebook shows.
    overwrite
        Replace the file if it exists.

    Returns
    -------
    Path or Picture
        The file, or the content of a PNG file.

    Raises
    ------
    InputError
        Where the log can't be read or the plot can't be written.
    """
    from granite.views.plots import picture_of, plot_log

    run = log if isinstance(log, Log) else read_log(log)
    if path is None:
        return picture_of(run)
    plot_log(run, Path(path), overwrite=overwrite)
    return Path(path)
