"""All commands, and the entry point."""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from granite.cli.calibrate import calibrate
from granite.cli.console import console
from granite.cli.endings import BAD_INPUT, DONE, EXIT_CODES, end, one_sentence
from granite.cli.hardware import doctor, run, try_device
from granite.cli.identify import identify
from granite.cli.logs import export, info, plot, recover, replay
from granite.cli.montecarlo import montecarlo
from granite.cli.movie import movie
from granite.cli.new import new
from granite.cli.operate import operate
from granite.cli.rehearsal import rehearse
from granite.cli.runs import compare, runs
from granite.cli.screen import out
from granite.cli.see import see
from granite.cli.simulation import sim
from granite.cli.testbeds import list_beds, modes, plan, schema, show
from granite.cli.tune import tune
from granite.config.errors import InputError, one_of
from granite.config.validation_errors import expectation
from granite.rt.process.posix_signals import interrupting

#: Typer's exit code for Ctrl-C
_INTERRUPTED = 130
_START = "Start with: granite sim free-flyer"


class _Commands(TyperGroup):
    """The commands; an unknown one is an `InputError`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names."""
        known = self.list_commands(ctx)
        if ctx.resilient_parsing:  # of an unfinished line, which a shell asks to complete
            return super().resolve_command(ctx, args)
        if args[0] not in known:
            raise InputError(f"no command '{args[0]}'", expected=one_of(args[0], known))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands beneath their headings; of a long name all lines have the same indent."""
        headings: dict[str, list[tuple[str, str]]] = {}
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        width = max(len(name) for name, _ in commands)
        for name, command in commands:
            if command is not None:
                heading = getattr(command, "rich_help_panel", None) or "Commands"
                headings.setdefault(heading, []).append((name.ljust(width), command.get_short_help_str(80)))
        for heading, lines in headings.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


app = typer.Typer(
    cls=_Commands,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Granite: real-time control of air-bearing robots, real and simulated.",
    epilog=f"{_START}\n\n{EXIT_CODES}",
)


def _register(heading: str, commands: dict[str, tuple[Callable[..., None] | typer.Typer, str]]) -> None:
    """Commands that the help lists beneath a heading; those that run a testbed name their exit codes."""
    for name, (command, help_line) in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, short_help=help_line, rich_help_panel=heading)
        else:
            codes = EXIT_CODES if command in (sim, rehearse, run, try_device, replay) else None
            app.command(name, short_help=help_line, epilog=codes, rich_help_panel=heading)(command)


_register(
    "Start",
    {
        "list": (list_beds, "The testbeds that come with Granite"),
        "show": (show, "Describe a testbed"),
        "new": (new, "Write a testbed of your own from a few answers"),
        "sim": (sim, "Run a testbed on the simulated plant"),
        "plan": (plan, "Plan the path of a testbed"),
        "schema": (schema, "The JSON Schema of a testbed, for editors"),
    },
)
_register(
    "Look",
    {
        "console": (console, "One page in the browser: see, operate, replay, tune"),
        "runs": (runs, "The logs in a folder, the newest last"),
        "info": (info, "The head of a log: testbed, changes, date, host, version"),
        "plot": (plot, "Plot a log"),
        "movie": (movie, "Film a log, as MP4 or GIF"),
        "compare": (compare, "Runs side by side"),
        "replay": (replay, "Replay a log and compare every bit"),
        "export": (export, "A log as CSV, Parquet, MAT or rosbag2, its scene, layouts"),
        "recover": (recover, "Make a whole log of a cut or damaged one"),
        "see": (see, "What the camera of a testbed sees, as pictures"),
        "modes": (modes, "Frequencies, damping and shapes of a testbed"),
    },
)
_register(
    "Tune",
    {
        "tune": (tune, "Tune a testbed, in sessions"),
        "montecarlo": (montecarlo, "Many seeds and plants: distributions, worst seeds"),
    },
)
_register(
    "Hardware",
    {
        "rehearse": (rehearse, "Run a testbed on real drivers, with emulated boards"),
        "run": (run, "Run a testbed on its real devices"),
        "operate": (operate, "Talk to a run that was started with --operator"),
        "test-device": (try_device, "Try one device with small commands"),
        "calibrate": (calibrate, "Measure numbers of a testbed, step by step"),
        "identify": (identify, "Mass, inertia and thrusts from a free flight"),
        "doctor": (doctor, "Check this machine for real-time use"),
    },
)


@app.callback()
def granite(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="print errors and what is asked for as JSON alone")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="say on standard error what takes time: compiling, starting")
    ] = False,
) -> None:
    """Without a command: print the help."""
    out.quiet = quiet
    if verbose:
        logging.basicConfig(format="%(message)s", level=logging.INFO)
    if version:
        out.print(f"granite {importlib.metadata.version('granite-robotics')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        out.print(context.get_help(), soft_wrap=True)


def main() -> None:
    """Entry point: one sentence and exit code 2 for bad input."""
    with interrupting(), one_sentence():  # until the loop sets its own handlers; unfinished files are removed
        code = _run_command()
    sys.exit(code or DONE)


def _run_command() -> int | None:
    """Run the command that was typed; its exit code."""
    try:
        code: int | None = app(prog_name="granite", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not hasattr(error, "format_message"):  # Typer's own errors carry the sentence
            raise
        end(_usage(error), BAD_INPUT)
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    return code


def _usage(error: Any) -> str:
    """Typer's message in the form of our own, and where to read more."""
    refused, parameter = error.__cause__, getattr(error, "param", None)
    if isinstance(refused, ValidationError) and parameter is not None:
        first = refused.errors()[0]
        sentence = f"{parameter.opts[0]} {first['input']}: expected {expectation(first)}"
    else:
        sentence = error.format_message().rstrip(".")
    command = error.ctx.command_path if getattr(error, "ctx", None) else "granite"
    return f"{sentence[:1].lower()}{sentence[1:]} (see {command} --help)"
