"""The functions that scripts begin with: simulate a testbed, measure a run, plot it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.rt import run as runs
from granite.rt.logs.log import Log, read_log
from granite.rt.logs.run_summary import Metrics
from granite.rt.logs.summary import Summary


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
        Keep pace with the clock on the wall.
    overwrite
        Replace the file if it exists.
    changes
        What was changed, in words: it goes into the log.

    Returns
    -------
    Log
        The run as it was recorded; `log.summary["ended"]` says how it ended.

    Raises
    ------
    InputError
        Where the testbed can't be run, with the sentence that the command line prints.
    """
    whole = load(bed) if isinstance(bed, str) else bed
    if log is None and not realtime:
        return runs.simulate_in_memory(whole)
    if log is None:
        raise InputError.missing("log", "a file, for a run in real time is recorded by another process")
    runs.simulate(whole, Path(log), realtime=realtime, overwrite=overwrite, changes=changes)
    return read_log(log)


def metrics(log: Log) -> Metrics:
    """What a run amounted to: tracking errors, propellant, torques, contacts; the same for every way of running."""
    summary = Summary(log.bed, log.channels)
    summary.update(log.rows)
    return summary.result()


def plot(log: Log | Path | str, path: Path | str, *, overwrite: bool = False) -> Path:
    """Draw a run into a file whose suffix says how: .png, .svg or .pdf."""
    from granite.rt.plots import plot_log

    plot_log(log if isinstance(log, Log) else read_log(log), Path(path), overwrite=overwrite)
    return Path(path)
