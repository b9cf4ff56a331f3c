"""The command line: `granite list | show | sim | replay | plot | doctor`.

Exit codes: 0 done, 1 a fault inside Granite, 2 bad input, 3 the guard or an operator ended the run, 4 a replay differs
from its log. What a person typed wrongly is answered with one sentence, never with a traceback, and leaves no file.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress
from typer.core import TyperGroup

from config.errors import InputError, expected_one_of
from config.loader import file_of, load, presets
from config.testbed import Testbed
from mrds.compilation import CompilationError

DONE, FAULT, BAD_INPUT, STOPPED, DIFFERS = 0, 1, 2, 3, 4
#: what Typer makes of Ctrl-C
_INTERRUPTED = 130

_START = "Start with: granite sim free-flyer"
_EXIT_CODES = """\b
Exit codes:
  0  done
  1  a fault inside Granite
  2  bad input
  3  the run was ended by the guard or the operator
  4  the replay differs from the log"""


class _Commands(TyperGroup):
    """The commands; an unknown one is refused with the words of the house."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names."""
        known = self.list_commands(ctx)
        if args[0] not in known:
            raise InputError(f"no command '{args[0]}', {expected_one_of(args[0], known)}")
        return super().resolve_command(ctx, args)


class _Screen(Console):
    """Prints what it is given, and does not mind if nobody reads on, as in `granite list | head -1`."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """The rest goes nowhere, also what the interpreter flushes when it ends."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


app = typer.Typer(
    cls=_Commands,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Granite: real-time control of air-bearing robots, on the table and on a simulated one.",
    epilog=f"{_START}\n\n{_EXIT_CODES}",
)
out, err = _Screen(), _Screen(stderr=True)

Bed = Annotated[str, typer.Argument(metavar="BED", help="a preset, preset/variant, or a .toml file")]
LogFile = Annotated[Path, typer.Argument(metavar="LOG", help="a log that Granite recorded")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="change one key, e.g. simulation.table.tilt_g=0; may be given several times"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for scripts")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace the file if it exists")]


@app.callback()
def granite(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="print the version")] = False
) -> None:
    """Without a command: say what there is."""
    if version:
        out.print(f"granite {importlib.metadata.version('granite')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        out.print(context.get_help(), soft_wrap=True)


@app.command("list", short_help="The testbeds that come with Granite")
def list_beds(as_json: AsJson = False) -> None:
    """The testbeds that come with Granite, and their variants."""
    from rt import report

    if as_json:
        _print_json([{"bed": name, "title": title, "variants": dict(variants)} for name, title, variants in presets()])
    else:
        report.put(out, [report.beds_table(presets())])


@app.command(short_help="What a testbed is")
def show(bed: Bed, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """What a testbed is: modules, degrees of freedom, devices, gains, and where it is from."""
    from rt import report

    testbed = load(bed, overrides or ())
    if as_json:
        _print_json(testbed.model_dump(mode="json"))
    else:
        report.put(out, report.bed_tables(testbed))
        if testbed.note:
            out.print(f"note: {' '.join(testbed.note.split())}\n")
        out.print(f"file: {file_of(bed)}", soft_wrap=True)


@app.command(short_help="Run a testbed on the simulated plant", epilog=_EXIT_CODES)
def sim(
    bed: Bed,
    realtime: Annotated[bool, typer.Option("--realtime", help="keep pace with the clock on the wall")] = False,
    overrides: Overrides = None,
    duration: Annotated[str | None, typer.Option(metavar="SECONDS", help="how long to run")] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="of all randomness of the simulated lab")] = None,
    log: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="the log, *.mcap; default: a new one in runs/")
    ] = None,
    overwrite: Overwrite = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="check energy, momentum and contacts, and say whether they held")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a testbed on the simulated plant and record everything."""
    from rt import report
    from rt.session import simulate

    asked = [*(overrides or []), *(["simulation.audit=true"] if audit else [])]
    testbed = _load(bed, asked, duration, seed)
    if log is not None:
        _refuse_output("log", log, ".mcap", overwrite)
    with contextlib.nullcontext(log) if log is not None else _new_log(testbed.name) as path, _named(bed, testbed):
        summary = simulate(
            testbed,
            path,
            realtime=realtime,
            overwrite=overwrite or log is None,
            progress=not as_json and err.is_terminal,
        )
    if as_json:
        _print_json(summary)
    else:
        report.put(out, report.run_tables(summary))
        out.print(f"log: {path}", soft_wrap=True)
        out.print(f"see it: granite plot {path}, or open it in Foxglove, Lichtblick or PlotJuggler", soft_wrap=True)
    if summary["ended"] == "fault":
        fault = summary.get("fault", summary["text"])
        where = f"the traceback is in /summary of log '{path}'"
        _end(f"the run ended at {summary['ended_at_s']:.3f} s by a fault inside, {fault}: {where}", FAULT)
    if summary["log_failure"] is not None:
        _end(f"the run went on, but its log is not whole: {summary['log_failure']}", FAULT)
    if summary["ended"] != "completed":
        _end(f"the run ended at {summary['ended_at_s']:.3f} s by {summary['ended']}: {summary['text']}", STOPPED)


@app.command(short_help="Run a log again and compare every bit", epilog=_EXIT_CODES)
def replay(log: LogFile, as_json: AsJson = False) -> None:
    """Run the recorded inputs through the same controllers and compare every output bit for bit."""
    from rt import report
    from rt.log import read_log
    from rt.recorder_process import finite
    from rt.replay import replay as run_again

    recorded = read_log(log)
    with Progress(console=err, transient=True, disable=as_json or not err.is_terminal) as progress:
        task = progress.add_task("replaying", total=len(recorded.rows))
        result = run_again(recorded, lambda n: progress.update(task, completed=n) if n % 200 == 0 else None)
    if as_json:
        found = {
            "log": str(log),
            "ticks": result.ticks,
            "values": result.values,
            "identical": result.first is None,
            "first_difference": result.first.__dict__ if result.first else None,
            "complete": recorded.complete,
            "ends_at_gap_after_tick": result.gap,
        }
        _print_json(finite(found))
    else:
        for line in report.replay_lines(result, recorded.complete):
            out.print(line, soft_wrap=True)
    if result.first is not None:
        raise typer.Exit(DIFFERS)


@app.command(short_help="Draw a log")
def plot(
    log: LogFile,
    picture: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="the picture, *.png; default: beside the log")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw a log: the modules and their contacts, and over time what this testbed has to show."""
    from rt.log import read_log
    from rt.plots import plot_log

    recorded = read_log(log)
    path = picture or log.with_suffix(".png")
    _refuse_output("picture", path, ".png", overwrite)
    plot_log(recorded, path, overwrite=overwrite)
    out.print(f"picture: {path}", soft_wrap=True)


@app.command(short_help="Frequencies, damping and shapes of a testbed")
def modes(
    bed: Bed,
    overrides: Overrides = None,
    closed: Annotated[
        str | None,
        typer.Option(metavar="CONTACTS", help="which are closed, a,b,c or none; default: those of the start"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Small motions about the start of a testbed, all forces at zero: how they swing and how they die out."""
    from rt import report
    from rt.modes import modes_of

    testbed = load(bed, overrides or ())
    names = None if closed is None else [name for name in closed.split(",") if name not in ("", "none")]
    with _named(bed, testbed):
        found = modes_of(testbed, names)
    if as_json:
        _print_json(found.as_json())
    else:
        report.put(out, [report.modes_table(testbed, found.modes)])
        if found.complaint:
            out.print(found.complaint, soft_wrap=True)


@app.command(short_help="What this machine allows")
def doctor(as_json: AsJson = False) -> None:
    """What this machine allows: compiler, priority, memory lock, timer, serial ports."""
    from rt import report
    from rt.doctor import examine

    findings = examine()
    if as_json:
        _print_json([finding._asdict() for finding in findings])
    else:
        report.put(out, [report.doctor_table(findings)])


def main() -> None:
    """Entry point: one sentence and exit code 2 for whatever a person typed wrongly."""
    # Until the loop takes over, being told to end is the same as Ctrl-C: what is half done is cleared away.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(prog_name="granite", standalone_mode=False)
    except InputError as error:
        _end(str(error), BAD_INPUT)
    except CompilationError as error:
        _end(f"{error} (GRANITE_NO_COMPILER=1 runs without a compiler)", FAULT)
    except (typer.Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # Typer's own errors carry the sentence
            raise
        _end(_usage(error), BAD_INPUT)
    finally:
        signal.signal(signal.SIGTERM, before)
    if code == _INTERRUPTED:
        _end("stopped by the operator", STOPPED)
    sys.exit(code or DONE)


def _load(bed: str, overrides: Sequence[str], duration: str | None, seed: str | None) -> Testbed:
    """The testbed; what is wrong with a short form is told as it was typed."""
    typed = {}
    if duration is not None:
        typed[f"loop.duration_s={_seconds(duration)}"] = f"--duration {duration}"
    if seed is not None:
        typed[f"seed={seed}"] = f"--seed {seed}"
    try:
        return load(bed, [*overrides, *typed])
    except InputError as error:
        sentence = str(error)
        for change, option in typed.items():
            sentence = sentence.replace(f"--set {change}", option)
        raise InputError(sentence) from None


def _seconds(text: str) -> str:
    """A number as TOML has it: .5 and 5. are numbers to people, but not to TOML."""
    try:
        return str(float(text))
    except ValueError:
        return text


def _refuse_output(what: str, path: Path, suffix: str, overwrite: bool) -> None:
    """Before any work is done: a file that can't be written, or that would be lost."""
    if path.suffix.lower() != suffix:
        raise InputError(f"{what} '{path}': expected a name that ends in {suffix}")
    if not str(path).isprintable():
        raise InputError(f"{what} '{path}': expected a name of printable characters")
    if path.is_dir():
        raise InputError(f"{what} '{path}' is a directory: expected a file")
    if not path.parent.is_dir():
        raise InputError(f"{what} '{path}' can't be written: there is no directory '{path.parent}'")
    if path.exists() and not overwrite:
        raise InputError(f"{what} '{path}' exists: expected a new name, or --overwrite")


@contextlib.contextmanager
def _new_log(bed: str) -> Iterator[Path]:
    """The first free name in runs/, taken at once so that runs started together don't meet; given back if unused."""
    folder, stem = Path("runs"), re.sub(r"[^\w.-]+", "-", bed)
    path = None
    try:
        made = not folder.is_dir()
        folder.mkdir(exist_ok=True)
        for i in itertools.count(1):
            path = folder / f"{stem}-{i:03d}.mcap"
            with contextlib.suppress(FileExistsError):
                path.touch(exist_ok=False)
                break
    except OSError as error:
        place = path or folder
        raise InputError(f"log '{place}' can't be written: {error.strerror}, expected a place by --out") from None
    assert path is not None
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()
            if made:
                folder.rmdir()  # refused by the system unless it is empty


@contextlib.contextmanager
def _named(bed: str, testbed: Testbed) -> Iterator[None]:
    """What is found wrong while the run is put together is told with the bed as it was typed."""
    try:
        yield
    except InputError as error:
        sentence = str(error).removeprefix(f"{testbed.name}: ")
        raise InputError(sentence if sentence.startswith("log '") else f"{bed}: {sentence}") from None


def _usage(error: Any) -> str:
    """Typer's sentence in the words of the house, and where to read more."""
    sentence = error.format_message().rstrip(".")
    command = error.ctx.command_path if getattr(error, "ctx", None) else "granite"
    return f"{sentence[:1].lower()}{sentence[1:]} (see {command} --help)"


def _end(sentence: str, code: int) -> NoReturn:
    """One line, whatever line breaks and control characters the input brought along."""
    line = " ".join(sentence.split())
    err.print("granite: " + "".join(c if c.isprintable() else "?" for c in line), soft_wrap=True)
    sys.exit(code)


def _print_json(value: Any) -> None:
    out.print(json.dumps(value, indent=2, allow_nan=False), soft_wrap=True)


if __name__ == "__main__":
    main()
