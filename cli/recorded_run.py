"""What the commands that run a testbed share: its loading, and the end of the command after the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from granite.cli.endings import AUDIT_FAILED, FAULT, STOPPED, end
from granite.cli.hints import command
from granite.cli.screen import out, print_json
from granite.config.calibration import refuse_old
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.logs.run_summary import RunSummary

Duration = Annotated[str | None, typer.Option(metavar="SECONDS", help="how long to run")]
BehaviourName = Annotated[
    str | None, typer.Option("--behaviour", metavar="NAME", help="the variant BED/NAME, e.g. catch, pick-and-place")
]
Seed = Annotated[str | None, typer.Option(metavar="N", help="of all randomness of the simulated lab")]
NewLog = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="the log, *.mcap; default: a new one in runs/")
]
WithOperator = Annotated[
    bool, typer.Option("--operator", help="in real time: wait at rest until granite operate arms and starts it")
]
Live = Annotated[bool, typer.Option("--live", help="in real time: let Foxglove on this machine watch the run")]
LivePort = Annotated[
    int | None, typer.Option("--live-port", metavar="PORT", help="of --live, 1024 to 65535; default: 8765")
]
LiveGains = Annotated[
    bool,
    typer.Option("--live-gains", help="of --live: let any program on this machine set gains within their bounds"),
]
#: the port on which Foxglove looks first
_LIVE_PORT, _PORTS = 8765, (1024, 65535)


def with_behaviour(bed: str, behaviour: str | None) -> str:
    """The name of the testbed, or of its variant that has this behaviour."""
    return bed if behaviour is None else f"{bed}/{behaviour}"


def live_port(live: bool, port: int | None, gains: bool) -> int | None:
    """The port of the live view; None where none is wanted. Its other options ask for it too."""
    if not live and port is None and not gains:
        return None
    port = _LIVE_PORT if port is None else port
    if not _PORTS[0] <= port <= _PORTS[1]:
        raise InputError("no port", key="--live-port", value=port, expected=f"{_PORTS[0]} to {_PORTS[1]}")
    return port


def load_changed(bed: str, overrides: Sequence[str], duration: str | None, seed: str | None) -> Testbed:
    """The testbed; an error in a short form names the option as it was typed. Old calibrations are refused."""
    typed = short_forms(duration, seed)
    try:
        testbed = load(bed, [*overrides, *typed])
    except InputError as error:
        file = error.file
        for change, option in typed.items():
            file = file.replace(f"--set {change}", option)
        raise error.within(file=file) from None
    try:
        refuse_old(testbed, date.today())
    except InputError as error:
        raise error.within(file=bed) from None
    return testbed


def short_forms(duration: str | None, seed: str | None) -> dict[str, str]:
    """The changes that options stand for, and the options as they were typed."""
    typed = {}
    if duration is not None:
        typed[f"loop.duration_s={_seconds(duration)}"] = f"--duration {duration}"
    if seed is not None:
        typed[f"seed={seed}"] = f"--seed {seed}"
    return typed


def show_run(summary: RunSummary, path: Path, more: Iterable[Table] = ()) -> None:
    """Print the tables of a run, and where its log is."""
    from granite.cli.report.run import run_tables
    from granite.logs.unfinished import found_log
    from granite.views.table import put

    put(out, run_tables(summary))
    put(out, more)
    path = found_log(path)  # a recorder that was killed leaves it under another name
    if path.exists():  # there is none of a run that was stopped before its first tick
        out.print(f"log: {path}", soft_wrap=True)
        seen = f"{command('plot', path)}, or open it in Foxglove, Lichtblick or PlotJuggler"
        out.print(f"see it: {seen}", soft_wrap=True)


def end_device_run(summary: RunSummary, path: Path, as_json: bool) -> None:
    """Show a run on real drivers with its latencies, and end the command."""
    from granite.cli.report.latency import latency_tables
    from granite.logs.latency import latencies
    from granite.logs.log import read_log
    from granite.logs.unfinished import found_log

    whole = found_log(path)
    measured = latencies(read_log(whole)) if summary["ticks"] and whole.exists() else {}
    if as_json:
        print_json({**summary, "latency": measured})
    else:
        show_run(summary, path, latency_tables(measured, summary))
    end_run(summary, whole)


def end_run(summary: RunSummary, path: Path) -> None:
    """End the command with a sentence and a code, unless the run was completed."""
    if summary["ended"] == "fault":
        fault = summary.get("fault", summary["text"])
        advice = f"{command('info', path)} shows the traceback"
        end(f"the run ended at {summary['ended_at_s']:.3f} s by an internal fault, {fault}: {advice}", FAULT)
    if summary["log_failure"] is not None:
        end(f"the run continued, but its log is incomplete: {summary['log_failure']}", FAULT)
    if summary["ended"] != "completed" or "not_closed" in summary:
        code = FAULT if "not_stopped" in summary or "not_closed" in summary else STOPPED
        end(f"the run ended at {summary['ended_at_s']:.3f} s by {summary['ended']}: {summary['text']}", code)
    if "audit" in summary and not summary["audit"]["held"]:
        failed = [name for name, check in summary["audit"]["checks"].items() if not check["held"]]
        end(f"the run was completed, but its audit failed: {', '.join(failed)}", AUDIT_FAILED)


def _seconds(text: str) -> str:
    """A number as TOML has it: .5 and 5. are numbers to people, but not to TOML."""
    try:
        return str(float(text))
    except ValueError:
        return text
