"""What the commands that record a run share: their arguments, the testbed, the log, and the end of the command."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from granite.cli.arguments import AsJson, Bed, Overrides, Overwrite, named
from granite.cli.console import console_beside, free_port
from granite.cli.endings import AUDIT_FAILED, COLLIDED, FAULT, NOT_DONE, OWN_CODE, STOPPED, end
from granite.cli.lines import command
from granite.cli.screen import err, out, print_json, working
from granite.config.calibration import refuse_old
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.config.whole_file import refuse_output
from granite.logs.run_summary import RunSummary
from granite.logs.unfinished import unfinished_name
from granite.rt.run_options import RunOptions

#: the port on which Foxglove looks first
_LIVE_PORT, _PORTS = 8765, (1024, 65535)


@dataclass(frozen=True)
class RecordedRun:
    """The arguments of every command that records a run, as they were typed."""

    bed: Bed
    operator: Annotated[
        bool, typer.Option("--operator", help="in real time: wait at rest until granite operate arms and starts it")
    ] = False
    live: Annotated[bool, typer.Option("--live", help="in real time: let Foxglove on this machine watch the run")] = (
        False
    )
    live_port: Annotated[
        int | None, typer.Option("--live-port", metavar="PORT", help="of --live, 1024 to 65535; default: 8765")
    ] = None
    live_gains: Annotated[
        bool,
        typer.Option("--live-gains", help="of --live: let any program on this machine set gains within their bounds"),
    ] = False
    ros2: Annotated[
        bool,
        typer.Option("--ros2", help="in real time: topics of ROS 2; with --operator goals, Joy and services, too"),
    ] = False
    console: Annotated[
        bool, typer.Option("--console", help="in real time: with its page in the browser; --live and --operator too")
    ] = False
    behaviour: Annotated[
        str | None, typer.Option("--behaviour", metavar="NAME", help="the variant BED/NAME, e.g. catch, pick-and-place")
    ] = None
    overrides: Overrides = None
    duration: Annotated[str | None, typer.Option(metavar="SECONDS", help="how long to run")] = None
    seed: Annotated[str | None, typer.Option(metavar="N", help="of all randomness of the simulated lab")] = None
    log: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="the log, *.mcap; default: a new one in runs/")
    ] = None
    overwrite: Overwrite = False
    as_json: AsJson = False

    @property
    def name(self) -> str:
        """The name of the testbed, or of its variant that has this behaviour."""
        return self.bed if self.behaviour is None else f"{self.bed}/{self.behaviour}"

    def load(self, more: Sequence[str] = ()) -> Testbed:
        """The testbed, with more changes; an output that would be refused is refused before any work is done."""
        testbed = load_changed(self.name, [*(self.overrides or []), *more], self.duration, self.seed)
        self._port()
        if self.log is not None:
            refuse_output("log", self.log, (".mcap",), self.overwrite)
        return testbed

    def changes(self, key: str) -> bool:
        """Whether a key was typed with `--set`."""
        return any(override.partition("=")[0].strip() == key for override in self.overrides or [])

    @contextlib.contextmanager
    def recorded(self, testbed: Testbed) -> Iterator[Path]:
        """The log; errors of the run start with the name that the user typed."""
        log = new_log(testbed.name) if self.log is None else contextlib.nullcontext(self.log)
        with log as path, named(self.name, testbed):
            yield path

    def options(self, realtime: bool, more: Sequence[str] = ()) -> RunOptions:
        """How the run is recorded."""
        return RunOptions(
            realtime=realtime,
            overwrite=self.overwrite or self.log is None,
            progress=not self.as_json and err.is_terminal,
            changes=[*(self.overrides or []), *more, *short_forms(self.duration, self.seed)],
            pass_signals_on=False,
            operator=self.operator or self.console,
            live=self._port(),
            live_gains=self.live_gains,
            ros2=self.ros2,
        )

    def _port(self) -> int | None:
        """The port of the live view; None where none is wanted. Its other options ask for it too."""
        if not self.live and self.live_port is None and not self.live_gains:
            return free_port(_LIVE_PORT) if self.console else None
        port = _LIVE_PORT if self.live_port is None else self.live_port
        if not _PORTS[0] <= port <= _PORTS[1]:
            raise InputError("no port", key="--live-port", value=port, expected=f"{_PORTS[0]} to {_PORTS[1]}")
        return port


def records_a_run(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments of `RecordedRun`, beside its own: Typer reads them from its signature."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = inspect.signature(RecordedRun, eval_str=True).parameters
    parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in (*own, *shared.values())]

    @functools.wraps(command)
    def run(**typed: Any) -> None:
        asked = RecordedRun(**{name: typed.pop(name) for name in shared})
        with console_beside(asked.log, asked.as_json) if asked.console else contextlib.nullcontext():
            command(asked, **typed)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


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


def end_device_run(summary: RunSummary, path: Path, as_json: bool, remedy: str = "") -> None:
    """Show a run on real drivers with its latencies, and end the command; see `end_run`."""
    from granite.cli.report.run import latency_tables
    from granite.logs.latency import latencies
    from granite.logs.log import read_log
    from granite.logs.unfinished import found_log

    whole = found_log(path)
    measured = {}
    if summary["ticks"] and whole.exists():
        with working(f"reading the log, {whole.stat().st_size / 1e6:.0f} MB, for the report"):
            measured = latencies(read_log(whole))
    if as_json:
        print_json({**summary, "latency": measured})
    else:
        show_run(summary, path, latency_tables(measured, summary))
    end_run(summary, whole, remedy)


def end_run(summary: RunSummary, path: Path, remedy: str = "") -> None:
    """End the command with a sentence and a code, unless the run was completed; a remedy ends the sentence."""
    if summary["ended"] == "fault":
        fault = summary.get("fault", summary["text"])
        advice = f"{command('info', path)} shows the traceback"
        own = summary.get("fault_in")
        cause = f"an exception in {own}" if own else "an internal fault"
        end(f"the run ended at {summary['ended_at_s']:.3f} s by {cause}, {fault}: {advice}", OWN_CODE if own else FAULT)
    if summary["log_failure"] is not None:
        end(f"the run continued, but its log is incomplete: {summary['log_failure']}", FAULT)
    if summary["ended"] != "completed" or "not_closed" in summary:
        code = FAULT if "not_stopped" in summary or "not_closed" in summary else STOPPED
        end(f"the run ended at {summary['ended_at_s']:.3f} s by {summary['ended']}: {summary['text']}{remedy}", code)
    if (collisions := summary.get("collisions")) and not summary.get("collisions_allowed"):
        first = collisions[0]
        what = f"{first['pair']} at {first['t_s']:.3f} s, {1e3 * first['speed_m_s']:.3g} mm/s"
        others = f", and {len(collisions) - 1} more" if len(collisions) > 1 else ""
        expected = "simulation.collisions.allowed = true where that is meant"
        end(f"the run was completed, but bodies collided: {what}{others} ({expected})", COLLIDED)
    if missed := summary.get("failed"):
        when = f"state '{missed['state']}' at {missed['t_s']:.3f} s after '{missed['after']}'"
        end(f"the run was completed, but its behaviour failed: {when}: {missed['doing']}", NOT_DONE)
    if "audit" in summary and not summary["audit"]["held"]:
        failed = [name for name, check in summary["audit"]["checks"].items() if not check["held"]]
        end(f"the run was completed, but its audit failed: {', '.join(failed)}", AUDIT_FAILED)


def _seconds(text: str) -> str:
    """A number as TOML has it: .5 and 5. are numbers to people, but not to TOML."""
    try:
        return str(float(text))
    except ValueError:
        return text


@contextlib.contextmanager
def new_log(bed: str) -> Iterator[Path]:
    """The first free name in runs/, reserved at once so that parallel runs differ; released if unused."""
    folder, stem = Path("runs"), re.sub(r"[^\w.-]+", "-", bed)
    path = None
    try:
        made = not folder.is_dir()
        folder.mkdir(exist_ok=True)
        for i in itertools.count(1):
            path = folder / f"{stem}-{i:03d}.mcap"
            with contextlib.suppress(FileExistsError):
                reserved = unfinished_name(path)
                reserved.touch(exist_ok=False)
                if not path.exists():
                    break
                reserved.unlink()
    except OSError as error:
        target = path or folder
        raise InputError(f"log '{target}' can't be written: {error.strerror}, expected another file by --out") from None
    assert path is not None
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            if reserved.exists() and reserved.stat().st_size == 0:
                reserved.unlink()
            if made:
                folder.rmdir()  # refused by the system unless it is empty
