"""The command line: `granite list | show | sim | replay | plot | doctor`.

Exit codes: 0 done, 1 a fault inside Granite, 2 bad input, 3 the guard or an operator ended the run, 4 a replay differs
from its log. What a person typed wrongly is answered with one sentence, never with a traceback.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from config.errors import InputError
from config.loader import load, presets
from rt import report

DONE, FAULT, BAD_INPUT, STOPPED, DIFFERS = 0, 1, 2, 3, 4

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Granite: real-time control of air-bearing robots, on the table and on a simulated one.",
    epilog="Exit codes: 0 done, 1 fault inside, 2 bad input, 3 run ended by guard or operator, 4 replay differs.",
)
out = Console(highlight=False, markup=False)
err = Console(stderr=True, highlight=False, markup=False)

Bed = Annotated[str, typer.Argument(help="a preset, preset/variant, or a .toml file", show_default=False)]
LogFile = Annotated[Path, typer.Argument(help="a log that Granite recorded", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="change one key, e.g. simulation.table.tilt_g=0"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for scripts")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace the file if it exists")]


@app.command("list")
def list_beds(as_json: AsJson = False) -> None:
    """The testbeds that come with Granite, and their variants."""
    if as_json:
        _print_json([{"bed": name, "title": title, "variants": dict(variants)} for name, title, variants in presets()])
    else:
        out.print(report.beds_table(presets()))


@app.command()
def show(bed: Bed, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """What a testbed is: modules, degrees of freedom, devices, gains."""
    testbed = load(bed, overrides or ())
    if as_json:
        _print_json(testbed.model_dump(mode="json"))
    else:
        for table in report.bed_tables(testbed):
            out.print(table)


@app.command()
def sim(
    bed: Bed,
    realtime: Annotated[bool, typer.Option("--realtime", help="keep pace with the clock on the wall")] = False,
    overrides: Overrides = None,
    duration: Annotated[float | None, typer.Option(metavar="SECONDS", help="how long to run")] = None,
    seed: Annotated[int | None, typer.Option(help="of all randomness of the simulated lab")] = None,
    log: Annotated[Path | None, typer.Option("--out", help="the log; default: a new file in runs/")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Run a testbed on the simulated plant and record everything."""
    from rt.session import simulate

    changes = list(overrides or ())
    changes += [f"loop.duration_s={duration}"] if duration is not None else []
    changes += [f"seed={seed}"] if seed is not None else []
    testbed = load(bed, changes)
    path = log or _new_log(testbed.name)
    summary = simulate(testbed, path, realtime=realtime, overwrite=overwrite, progress=not as_json and err.is_terminal)
    if as_json:
        _print_json(summary)
    else:
        for table in report.run_tables(summary):
            out.print(table)
        out.print(f"log: {path}   (see it: granite plot {path}, or open it in Foxglove, Lichtblick or PlotJuggler)")
    if summary["ended"] == "fault":
        err.print(f"granite: the run ended by a fault: {summary.get('fault', summary['text'])}")
        raise typer.Exit(FAULT)
    if summary["ended"] != "completed":
        err.print(f"granite: the run ended at {summary['ended_at_s']:.3f} s: {summary['text']}")
        raise typer.Exit(STOPPED)


@app.command()
def replay(log: LogFile, as_json: AsJson = False) -> None:
    """Run the recorded inputs through the same controllers and compare every output bit for bit."""
    from rt.log import read_log
    from rt.replay import replay as run_again

    recorded = read_log(log)
    with Progress(console=err, transient=True, disable=as_json) as progress:
        task = progress.add_task("replaying", total=len(recorded.rows))
        result = run_again(recorded, lambda n: progress.update(task, completed=n) if n % 200 == 0 else None)
    if as_json:
        _print_json(
            {
                "log": str(log),
                "ticks": result.ticks,
                "values": result.values,
                "identical": result.first is None,
                "first_difference": result.first.__dict__ if result.first else None,
                "complete": recorded.complete,
                "ends_at_gap_after_tick": result.gap,
            }
        )
    else:
        for line in report.replay_lines(result, recorded.complete):
            out.print(line)
    if result.first is not None:
        raise typer.Exit(DIFFERS)


@app.command()
def plot(
    log: LogFile,
    picture: Annotated[Path | None, typer.Option("--out", help="the PNG; default: beside the log")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw a log: table from above, tracking errors, torques, valves, step times."""
    from rt.log import read_log
    from rt.plot import plot_log

    path = picture or log.with_suffix(".png")
    plot_log(read_log(log), path, overwrite=overwrite)
    out.print(f"picture: {path}")


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """What this machine allows: compiler, priority, memory lock, timer, serial ports."""
    from rt.doctor import examine

    findings = examine()
    if as_json:
        _print_json([finding._asdict() for finding in findings])
    else:
        out.print(report.doctor_table(findings))


def main() -> None:
    """Entry point: one sentence and exit code 2 for whatever a person typed wrongly."""
    try:
        code = app(standalone_mode=False)
    except InputError as error:
        _complain(str(error))
    except typer.Abort:
        sys.exit(STOPPED)
    except Exception as error:
        if not hasattr(error, "format_message"):  # click's own errors carry the sentence
            raise
        _complain(error.format_message())
    else:
        sys.exit(code if isinstance(code, int) else DONE)


def _complain(sentence: str) -> None:
    err.print(f"granite: {sentence}", soft_wrap=True)
    sys.exit(BAD_INPUT)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def _new_log(bed: str) -> Path:
    """The first free name in runs/."""
    stem = bed.replace("/", "-").removesuffix(".toml")
    return next(p for i in range(1, 100_000) if not (p := Path("runs") / f"{stem}-{i:03d}.mcap").exists())


if __name__ == "__main__":
    main()
