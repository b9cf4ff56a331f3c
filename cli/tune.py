"""`granite tune`: tuning sessions of a testbed."""

from __future__ import annotations

import itertools
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from typer.core import TyperGroup

from granite.cli.arguments import AsJson, Bed, Overrides, Overwrite, Trust, named, reading, say_own_files
from granite.cli.batches import say_parts_in_python, table_in
from granite.cli.endings import STOPPED, end
from granite.cli.lines import command, with_changes
from granite.cli.screen import err, out, print_json
from granite.config.errors import GraniteError, InputError
from granite.config.loader import load, load_tuning
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.config.validation_errors import complaint
from granite.config.whole_file import refuse_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from granite.tuning.driver import Progress as Known
    from granite.tuning.session import Session

_START = "start"
SessionFolder = Annotated[Path, typer.Argument(metavar="SESSION", help="a folder that granite tune BED made")]
Figures = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="draw it, *.png, *.svg or *.pdf")]


class _Sessions(TyperGroup):
    """The commands of sessions; any other first word is the testbed of a session to start."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the word `start`, which may be left out, before a testbed or an option."""
        if not args and not ctx.resilient_parsing:
            raise InputError.missing("BED", f"a testbed, or one of {', '.join(self.commands)} (granite tune --help)")
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [_START, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The commands of sessions, and the testbeds."""
        [bed] = [parameter for parameter in self.commands[_START].params if parameter.name == "bed"]
        return [*super().shell_complete(ctx, incomplete), *bed.shell_complete(ctx, incomplete)]


tune = typer.Typer(
    cls=_Sessions,
    add_completion=False,
    rich_markup_mode=None,
    help="Tune a testbed: granite tune BED starts a session (options: granite tune start --help).",
)


@tune.command(_START, short_help="Start or resume a session; this word may be left out")
def start(
    bed: Bed,
    overrides: Overrides = None,
    tuning: Annotated[
        Path | None, typer.Option("--tuning", metavar="FILE", help="the [tuning] table, if not in the testbed")
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", metavar="N", min=1, help="how many")] = None,
    sampler: Annotated[str | None, typer.Option("--sampler", metavar="KIND", help="tpe, cma_es or nsga_ii")] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="of the sampler")] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="default: one for each processor")
    ] = None,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="send the runs to this Dask scheduler")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="SESSION", help="a new folder; default: one in runs/")
    ] = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="SESSION", help="go on with this session")] = None,
    listed: Annotated[bool, typer.Option("--list", help="what can be tuned and judged, and no session")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="tune a loop that runs with --operator, by hand, and no session")
    ] = False,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="of --live: where the loop listens, if not as in BED")
    ] = None,
    key: Annotated[str, typer.Option(metavar="NAME", help="of --live: whose key to use")] = "operator",
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="EXPRESSION", help="of --live: what to compare by; several times"),
    ] = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Start a tuning session, or go on with one; Ctrl-C keeps what was found."""
    from granite.tuning.driver import drive
    from granite.tuning.report.tables import list_tables, result_tables
    from granite.tuning.session import Session
    from granite.tuning.workers import workers
    from granite.views.table import put

    testbed = load(bed, overrides or ())
    if live:
        from granite.cli.tune_live import tune_live

        given = {"--tuning": tuning, "--trials": trials, "--sampler": sampler, "--seed": seed, "--resume": resume}
        given |= {"--processes": processes, "--dask": dask, "--out": folder, "--list": listed, "--json": as_json}
        if other := [option for option, value in given.items() if value not in (None, False)]:
            raise InputError("it is of a session", key=other[0], expected="no such option with --live")
        return tune_live(testbed, address or testbed.operator.address, key, metrics or ())
    if other := [o for o, v in {"--address": address, "--metric": metrics}.items() if v]:
        raise InputError("it is of a running loop", key=other[0], expected="--live with it")
    if listed:
        with named(bed, testbed):
            put(out, list_tables(testbed))
            say_parts_in_python(testbed)
        out.print("Any other key with a number can be tuned too, with bounds of your own.", soft_wrap=True)
        return
    with named(bed, testbed), table_in(tuning), workers(processes, dask) as made:
        if resume is not None:
            read = Session.read(resume)
            table = _typed(load_tuning(tuning) if tuning else read.table, trials, sampler, seed)
            session = read.resumed(testbed, table, trust)
        else:
            table = _typed(_table(testbed, tuning), trials, sampler, seed)
            session = Session.create(folder or _new_folder(testbed.name), testbed, table)
        with session.alone():
            study = session.with_trials(table.trials).study()
            say_parts_in_python(testbed)
            try:
                with _shown(session, as_json) as report:
                    drive(session.bed, session.table, study, made, report)
            except KeyboardInterrupt:
                # Without --tuning: the session has its table, with the options that were typed beside the file.
                going_on = command("tune", bed, *with_changes(overrides), "--resume", session.folder)
                end(f"stopped by the operator: {study.kept} trials are kept, go on by {going_on}", STOPPED)
            except GraniteError as error:
                if not study.kept:
                    raise
                raise InputError(f"{error} ({study.kept} trials are kept in {session.folder})") from error
            session.keep_logs()
    if as_json:
        from granite.tuning.report.tables import session_json

        print_json(session_json(session))
    else:
        put(out, result_tables(session))
        out.print(f"session: {session.folder}", soft_wrap=True)
        out.print(f"see it: {command('tune', 'report', session.folder)}", soft_wrap=True)


@tune.command(short_help="What a session found")
@reading
def show(session: SessionFolder, plot: Figures = None, overwrite: Overwrite = False, as_json: AsJson = False) -> None:
    """The best trials of a session, its Pareto front and the importance of the parameters."""
    from granite.tuning.report.figures import session_figure
    from granite.tuning.report.tables import result_tables, session_json
    from granite.tuning.session import Session
    from granite.views.plots.figure_file import SUFFIXES, write_figure
    from granite.views.table import put

    opened = Session.read(session)
    if plot is not None:
        refuse_output("plot", plot, SUFFIXES, overwrite)
    if as_json:
        print_json(session_json(opened))
    else:
        put(out, result_tables(opened))
    if plot is not None:
        write_figure(plot, lambda: session_figure(opened), overwrite)
        if not as_json:
            out.print(f"plot: {plot}", soft_wrap=True)


@tune.command(short_help="Two sessions side by side")
@reading
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="a session")],
    second: Annotated[Path, typer.Argument(metavar="B", help="another one")],
    as_json: AsJson = False,
) -> None:
    """The best trials of two sessions: parameters, objectives, constraints; differences of what was tuned."""
    from granite.tuning.report.tables import comparison_tables, session_json
    from granite.tuning.session import Session
    from granite.views.table import put

    sessions = [Session.read(first), Session.read(second)]
    if as_json:
        print_json({str(one.folder): session_json(one) for one in sessions})
    else:
        put(out, comparison_tables(*sessions))


@tune.command(short_help="A report in one HTML file")
@reading
def report(
    session: SessionFolder,
    path: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="*.html; default: report.html in the session")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a report: convergence, Pareto front, importance, the best trajectories against the start."""
    from granite.tuning.report.page import write_report
    from granite.tuning.session import Session

    opened = Session.read(session)
    file = path or session / "report.html"
    refuse_output("report", file, (".html",), overwrite or path is None)
    write_report(opened, file)
    out.print(f"report: {file}", soft_wrap=True)


@tune.command(short_help="A testbed with the parameters of a trial")
def promote(
    session: SessionFolder,
    trial: Annotated[int | None, typer.Argument(metavar="[TRIAL]", help="its number; default: the best")] = None,
    path: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="the testbed to write, *.toml; default: tuned.toml")
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FILE", help="a testbed whose numbers to replace, nothing else")
    ] = None,
    overwrite: Overwrite = False,
    trust: Trust = False,
) -> None:
    """Write the testbed with the parameters of a trial as a file of its own, or its parameters into one.

    Without --out and --into the file is tuned.toml in this folder.
    """
    from granite.tuning.session import Session

    opened = Session.read(session)
    if into is not None and path is not None:
        raise InputError(
            "a file of its own is asked for too", key="--into", value=str(into), expected="no --out with it"
        )
    if into is not None:
        result = opened.trial(trial)
        opened.promote_into(result, into)
        out.print(f"testbed: {into}, with {len(result.parameters)} numbers of trial {result.number}", soft_wrap=True)
        return
    path = path or Path("tuned.toml")
    refuse_output("testbed", path, (".toml",), overwrite)
    result = opened.trial(trial)
    say_own_files(opened.bed)
    opened.promote(result, path, overwrite, trust)
    out.print(f"testbed: {path}, with trial {result.number}", soft_wrap=True)
    out.print(f"run it: {command('sim', path)}", soft_wrap=True)


def _table(bed: Testbed, file: Path | None) -> TuningTable:
    """The table of the file, else that of the testbed."""
    table = load_tuning(file) if file is not None else bed.tuning
    if table is None:
        expected = (
            "a table, in the testbed or by --tuning FILE, such as those in docs/sessions "
            "(granite tune BED --list shows what can be tuned)"
        )
        raise InputError.missing("tuning", expected).within(file=bed.name)
    return table


def _typed(table: TuningTable, trials: int | None, sampler: str | None, seed: int | None) -> TuningTable:
    """The table with what was typed."""
    if sampler is not None and sampler not in ("tpe", "cma_es", "nsga_ii"):
        raise InputError(key="--sampler", value=sampler, expected="tpe, cma_es or nsga_ii")
    typed = {"trials": trials, "sampler": sampler, "seed": seed}
    given = {key: value for key, value in typed.items() if value is not None}
    content = {**table.model_dump(), **given}
    try:
        return TuningTable.model_validate(content)
    except ValidationError as failure:
        raise complaint(failure, content, TuningTable).within("tuning") from None


def _new_folder(bed: str) -> Path:
    stem = re.sub(r"[^\w.-]+", "-", bed)
    return next(f for i in itertools.count(1) if not (f := Path("runs") / f"{stem}-tuning-{i:03d}").exists())


@contextmanager
def _shown(session: Session, quiet: bool) -> Iterator[Any]:
    """A progress bar with the best so far and the time left; lines where there is no terminal."""
    columns = TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[left]}")
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("tuning", total=session.table.trials, completed=session.study().told, left="")

        def report(known: Known) -> None:
            words = "no result yet"
            if known.best is not None:
                goals = zip(session.table.objectives, known.best.objectives, strict=True)
                words = f"best {known.best.number}: " + ", ".join(f"{goal.label} {value:.4g}" for goal, value in goals)
            bar.update(task, completed=known.told, description=words, left=f"{known.left_s:.0f} s left")

        yield report
