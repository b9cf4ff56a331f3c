"""`granite montecarlo`: a testbed with many seeds and plants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from granite.cli.arguments import AsJson, Bed, Overrides, Overwrite, named
from granite.cli.batches import say_parts_in_python, table_in
from granite.cli.lines import command, with_changes
from granite.cli.screen import err, out, print_json
from granite.config.loader import load, load_tuning
from granite.config.whole_file import refuse_output, write_whole


def montecarlo(
    bed: Bed,
    runs: Annotated[int, typer.Option("--runs", metavar="N", min=1, help="how many in each scenario")] = 100,
    overrides: Overrides = None,
    tuning: Annotated[
        Path | None, typer.Option("--tuning", metavar="FILE", help="a [tuning] table with scenarios and spread")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="EXPRESSION", help="what to judge by; several times"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="the first one")] = 1,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, help="default: one for each processor")
    ] = None,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="send the runs to this Dask scheduler")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="draw the distributions, *.png, *.svg or *.pdf")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="keep all runs, *.json, as the console shows them")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Run a testbed with many seeds, random plants and scenarios: distributions, worst seeds, robustness."""
    from granite.logs.json_records import finite
    from granite.tuning.montecarlo import monte_carlo
    from granite.tuning.report.montecarlo import monte_carlo_figure, monte_carlo_json, monte_carlo_tables
    from granite.tuning.workers import workers
    from granite.views.plots.figure_file import SUFFIXES, write_figure
    from granite.views.table import put

    testbed = load(bed, overrides or ())
    if tuning is not None:
        testbed = testbed.model_copy(update={"tuning": load_tuning(tuning)})
    if plot is not None:
        refuse_output("plot", plot, SUFFIXES, overwrite)
    if save is not None:
        refuse_output("result", save, (".json",), overwrite)
    columns = TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn()
    with (
        named(bed, testbed),
        table_in(tuning),
        Progress(*columns, console=err, transient=True, disable=as_json or not err.is_terminal) as bar,
        workers(processes, dask) as made,
    ):
        say_parts_in_python(testbed)
        task = bar.add_task("running")
        study = monte_carlo(
            testbed, runs, made, metrics=metrics or (), first_seed=seed,
            report=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    if save is not None:
        content = {"typed": bed, "overrides": overrides or [], **monte_carlo_json(study)}
        with write_whole("result", save, (".json",), overwrite) as unfinished:
            unfinished.write_text(json.dumps(finite(content)) + "\n", encoding="utf-8")
    if as_json:
        print_json(finite(monte_carlo_json(study)))
    else:
        put(out, monte_carlo_tables(study))
        for worst in study.worst(0):
            again = command("sim", bed, *with_changes(overrides), *study.options(worst))
            out.print(f"the worst {study.metrics[0]}, seed {worst.seed}, drew {study.drawn(worst)}", soft_wrap=True)
            for t, coordinate, error, unit in study.largest_errors(worst):
                shown = f"{1e3 * error:.3g} m{unit}" if unit in ("m", "rad") else f"{error:.3g} {unit}"
                out.print(f"its largest error of {coordinate}, {shown}, is at {t:.6g} s", soft_wrap=True)
            out.print(f"the worst {study.metrics[0]} again: {again}", soft_wrap=True)
    if plot is not None:
        write_figure(plot, lambda: monte_carlo_figure(study), overwrite)
        if not as_json:
            out.print(f"plot: {plot}", soft_wrap=True)
    with named(bed, testbed), table_in(tuning):  # after everything that could be done with the other metrics
        study.refuse_without_numbers()
