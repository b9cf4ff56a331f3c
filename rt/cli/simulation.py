"""`granite sim`: a testbed on the simulated plant."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.rt.cli.arguments import AsJson, Bed, Overrides, Overwrite, named
from granite.rt.cli.endings import FAULT, STOPPED, end
from granite.rt.cli.outputs import new_log, refuse_output
from granite.rt.cli.screen import err, out, print_json


def sim(
    bed: Bed,
    realtime: Annotated[bool, typer.Option("--realtime", help="keep pace with wall-clock time")] = False,
    overrides: Overrides = None,
    duration: Annotated[str | None, typer.Option(metavar="SECONDS", help="how long to run")] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="of all randomness of the simulated lab")] = None,
    log: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="the log, *.mcap; default: a new one in runs/")
    ] = None,
    overwrite: Overwrite = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="check energy, momentum and contacts, against their limits")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a testbed on the simulated plant and record everything."""
    from granite.rt.logs.unfinished import found_log
    from granite.rt.report.run import run_tables
    from granite.rt.report.table import put
    from granite.rt.run import simulate

    asked = [*(overrides or []), *(["simulation.audit=true"] if audit else [])]
    testbed = _load(bed, asked, duration, seed)
    if log is not None:
        refuse_output("log", log, (".mcap",), overwrite)
    with contextlib.nullcontext(log) if log is not None else new_log(testbed.name) as path, named(bed, testbed):
        summary = simulate(
            testbed,
            path,
            realtime=realtime,
            overwrite=overwrite or log is None,
            progress=not as_json and err.is_terminal,
            changes=[*asked, *_short_forms(duration, seed)],
            announce=lambda sentence: err.print(f"granite: {sentence}", soft_wrap=True),
            pass_signals_on=False,
        )
    if as_json:
        print_json(summary)
    else:
        put(out, run_tables(summary))
        path = found_log(path)  # a recorder that was killed leaves it under another name
    if not as_json and path.exists():  # there is none of a run that was stopped before its first tick
        out.print(f"log: {path}", soft_wrap=True)
        out.print(f"see it: granite plot {path}, or open it in Foxglove, Lichtblick or PlotJuggler", soft_wrap=True)
    if summary["ended"] == "fault":
        fault = summary.get("fault", summary["text"])
        where = f"the traceback is in /summary of log '{path}'"
        end(f"the run ended at {summary['ended_at_s']:.3f} s by an internal fault, {fault}: {where}", FAULT)
    if summary["log_failure"] is not None:
        end(f"the run continued, but its log is incomplete: {summary['log_failure']}", FAULT)
    if summary["ended"] != "completed" or "not_closed" in summary:
        code = FAULT if "not_stopped" in summary or "not_closed" in summary else STOPPED
        end(f"the run ended at {summary['ended_at_s']:.3f} s by {summary['ended']}: {summary['text']}", code)


def _load(bed: str, overrides: Sequence[str], duration: str | None, seed: str | None) -> Testbed:
    """The testbed; an error in a short form names the option as it was typed."""
    typed = _short_forms(duration, seed)
    try:
        return load(bed, [*overrides, *typed])
    except InputError as error:
        file = error.file
        for change, option in typed.items():
            file = file.replace(f"--set {change}", option)
        raise error.within(file=file) from None


def _short_forms(duration: str | None, seed: str | None) -> dict[str, str]:
    """The changes that options stand for, and the options as they were typed."""
    typed = {}
    if duration is not None:
        typed[f"loop.duration_s={_seconds(duration)}"] = f"--duration {duration}"
    if seed is not None:
        typed[f"seed={seed}"] = f"--seed {seed}"
    return typed


def _seconds(text: str) -> str:
    """A number as TOML has it: .5 and 5. are numbers to people, but not to TOML."""
    try:
        return str(float(text))
    except ValueError:
        return text
