"""All commands, and the entry point."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from granite.cli.calibrate import calibrate
from granite.cli.console import console
from granite.cli.endings import BAD_INPUT, DONE, EXIT_CODES, end, one_sentence
from granite.cli.hardware import run, try_device
from granite.cli.identify import identify
from granite.cli.logs import export, info, plot, recover, replay
from granite.cli.machine import doctor
from granite.cli.montecarlo import montecarlo
from granite.cli.movie import movie
from granite.cli.new import new
from granite.cli.operate import operate
from granite.cli.plan import plan
from granite.cli.rehearsal import rehearse
from granite.cli.runs import compare, runs
from granite.cli.schema import schema
from granite.cli.screen import out
from granite.cli.see import see
from granite.cli.simulation import sim
from granite.cli.testbeds import list_beds, modes, show
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


app = typer.Typer(
    cls=_Commands,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Granite: real-time control of air-bearing robots, real and simulated.",
    epilog=f"{_START}\n\n{EXIT_CODES}",
)
app.command("list", short_help="The testbeds that come with Granite")(list_beds)
app.command(short_help="Describe a testbed")(show)
app.command(short_help="Write a testbed of your own from a few answers")(new)
app.command(short_help="Run a testbed on the simulated plant", epilog=EXIT_CODES)(sim)
app.command(short_help="Plan the path of a testbed")(plan)
app.command(short_help="What the camera of a testbed sees, as pictures")(see)
app.command(short_help="Run a testbed on real drivers, with emulated boards", epilog=EXIT_CODES)(rehearse)
app.command(short_help="Run a testbed on its real devices", epilog=EXIT_CODES)(run)
app.command("test-device", short_help="Try one device with small commands", epilog=EXIT_CODES)(try_device)
app.command(short_help="Measure numbers of a testbed, step by step")(calibrate)
app.command(short_help="Talk to a run that was started with --operator")(operate)
app.command(short_help="One page in the browser: see, operate, replay, tune")(console)
app.command(short_help="Replay a log and compare every bit", epilog=EXIT_CODES)(replay)
app.command(short_help="Plot a log")(plot)
app.command(short_help="Film a log, as MP4 or GIF")(movie)
app.command(short_help="A log as CSV, Parquet or MAT, its scene, layouts")(export)
app.command(short_help="Mass, inertia and thrusts from a free flight")(identify)
app.command(short_help="The head of a log: testbed, changes, date, host, version")(info)
app.command(short_help="Make a whole log of a cut or damaged one")(recover)
app.command(short_help="The logs in a folder, the newest last")(runs)
app.command(short_help="Runs side by side")(compare)
app.add_typer(tune, name="tune", short_help="Tune a testbed, in sessions")
app.command(short_help="Many seeds and plants: distributions, worst seeds")(montecarlo)
app.command(short_help="Frequencies, damping and shapes of a testbed")(modes)
app.command(short_help="The JSON Schema of a testbed, for editors")(schema)
app.command(short_help="Check this machine for real-time use")(doctor)


@app.callback()
def granite(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="print the version")] = False
) -> None:
    """Without a command: print the help."""
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
