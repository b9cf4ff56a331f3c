"""Commands on the log of a run: `replay`, `plot`, `export`, `info`, `recover`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from granite.cli.arguments import AsJson, LogFile, Overwrite, Trust, say_own_files
from granite.cli.completion import complete_bed, complete_log
from granite.cli.endings import DIFFERS, FAULT, end
from granite.cli.lines import command
from granite.cli.screen import err, out, print_json
from granite.config.errors import InputError, one_of
from granite.config.loader import load
from granite.config.whole_file import refuse_output, write_whole

if TYPE_CHECKING:
    from granite.logs.log import Log


def replay(log: LogFile, trust: Trust = False, as_json: AsJson = False) -> None:
    """Run the recorded inputs through the same controllers and compare every output bit for bit.

    Files with parts of your own run, and are named before; they must be those of the run.
    """
    from granite.cli.report.info import replay_lines
    from granite.logs.json_records import finite
    from granite.logs.log import read_log
    from granite.rt.replay import replay as run_again

    recorded = read_log(log)
    say_own_files(recorded.bed)
    with Progress(console=err, transient=True, disable=as_json or not err.is_terminal) as progress:
        task = progress.add_task("replaying", total=recorded.ticks)

        def report(n: int) -> None:
            if n % 200 == 0:
                progress.update(task, completed=n)

        result = run_again(recorded, report, trust=trust)
    if as_json:
        overview = {
            "log": str(log),
            "ticks": result.ticks,
            "values": result.values,
            "identical": result.first is None,
            "first_difference": result.first.__dict__ if result.first else None,
            "complete": recorded.complete,
            "ends_at_gap_after_tick": result.gap,
        }
        print_json(finite(overview))
    else:
        for line in replay_lines(result, recorded.complete):
            out.print(line, soft_wrap=True)
    if result.first is not None:
        raise typer.Exit(DIFFERS)
    end_if_incomplete(log, recorded)


def plot(
    log: LogFile,
    path: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="the plot, *.png, *.svg or *.pdf; default: a PNG beside the log"),
    ] = None,
    panels: Annotated[
        str | None, typer.Option(metavar="NAMES", help="only these parts, large, e.g. tracking,valves or view")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Plot a log: the motion of modules and contacts in space, and the signals of this testbed over time."""
    from granite.logs.log import read_log
    from granite.views.plots import SUFFIXES, plot_log

    recorded = read_log(log)
    path = path or log.with_suffix(".png")
    refuse_output("plot", path, SUFFIXES, overwrite)
    named = [name.strip() for name in panels.split(",")] if panels is not None else []
    plot_log(recorded, path, overwrite=overwrite, panels=named)
    out.print(f"plot: {path}", soft_wrap=True)
    end_if_incomplete(log, recorded)


def export(
    log: Annotated[
        Path | None, typer.Argument(metavar="LOG", help="a log that Granite recorded", autocompletion=complete_log)
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="*.csv, *.parquet, *.mat, or *.mcap with the scene; default: a CSV"),
    ] = None,
    layout: Annotated[
        str | None, typer.Option(metavar="VIEWER", help="a layout for its signals: foxglove or plotjuggler")
    ] = None,
    ros2: Annotated[
        Path | None, typer.Option("--ros2", metavar="FOLDER", help="a rosbag2 folder with standard messages")
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="only these, e.g. truth,state; default: all")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="BED", help="instead of a log: dynamics of a testbed as C, *.c", autocompletion=complete_bed
        ),
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="BED",
            help="the controller of a testbed as C in a folder; of a LOG its example has the samples",
            autocompletion=complete_bed,
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a log for other programs: a table, a rosbag2 folder, the log with its scene, or a layout for a viewer; or
    the dynamics or the controller of a testbed as C code."""
    from granite.logs.export import SUFFIXES, export_log
    from granite.logs.log import read_log

    if controller is not None:
        if model or layout or ros2 or topics:
            raise InputError("another export, too", key="--controller", value=controller, expected="it alone")
        return _export_controller(controller, path, log, overwrite)
    if (log is None) == (model is None) or (model is not None and (layout or ros2 or topics)):
        raise InputError(key="LOG", value=None if log is None else str(log), expected="a log, or --model BED alone")
    if model is not None:
        return _export_model(model, path, overwrite)
    assert log is not None
    recorded = read_log(log)
    if ros2 is not None and (path or layout or topics):
        raise InputError("a table, too", key="--ros2", value=str(ros2), expected="it alone: the bag has all topics")
    if ros2 is not None:
        return _export_bag(recorded, log, ros2, overwrite)
    if topics is not None and (layout or (path and path.suffix == ".mcap")):
        raise InputError("a part of the topics", key="--topics", expected="a table with it")
    if layout is not None:
        return _export_layout(recorded, log, layout, path, overwrite)
    path = path or log.with_suffix(".csv")
    if path.suffix == ".mcap":
        return _export_scene(recorded, log, path, overwrite)
    refuse_output("table", path, (*SUFFIXES, ".mcap"), overwrite)
    named = [name.strip() for name in topics.split(",")] if topics is not None else []
    n = export_log(recorded, path, named, overwrite)
    out.print(f"table: {path}, {recorded.ticks} rows of {n} signals", soft_wrap=True)
    end_if_incomplete(log, recorded)


def _export_model(name: str, path: Path | None, overwrite: bool) -> None:
    """Write the dynamics of a testbed as C."""
    from granite.mrds.model_export import export_model

    bed = load(name)
    files = export_model(bed, path or Path(f"{bed.name.replace('/', '-')}.c"), overwrite)
    out.print(f"model: {', '.join(map(str, files))}", soft_wrap=True)


def _export_controller(name: str, folder: Path | None, log: Path | None, overwrite: bool) -> None:
    """Write the controller of a testbed as C."""
    from granite.logs.log import read_log
    from granite.rt.controller_export import export_controller

    bed, recorded = load(name), read_log(log) if log else None
    folder = folder or Path(f"{bed.name.replace('/', '-')}-controller")
    size = export_controller(bed, folder, recorded, overwrite)
    out.print(f"controller: {folder}, {size} bytes of static memory", soft_wrap=True)


def _export_bag(recorded: Log, log: Path, folder: Path, overwrite: bool) -> None:
    """Write a rosbag2 folder."""
    from granite.views.ros2.bag import export_bag

    messages = export_bag(recorded, folder, overwrite)
    out.print(f"bag: {folder}, {messages} messages", soft_wrap=True)
    end_if_incomplete(log, recorded)


def _export_layout(recorded: Log, log: Path, viewer: str, path: Path | None, overwrite: bool) -> None:
    """Write a layout for a viewer."""
    from granite.views.scene_messages.layouts import LAYOUTS

    if viewer not in LAYOUTS:
        raise InputError(key="--layout", value=viewer, expected=one_of(viewer, LAYOUTS))
    made, suffix = LAYOUTS[viewer]
    path = path or log.with_name(f"{log.stem}-{viewer}{suffix}")
    with write_whole("layout", path, (suffix,), overwrite) as unfinished:
        unfinished.write_text(made(recorded.bed, recorded.channels), "utf-8")
    out.print(f"layout: {path}", soft_wrap=True)


def _export_scene(recorded: Log, log: Path, path: Path, overwrite: bool) -> None:
    """Write a copy of a log with its scene."""
    from granite.views.scene_messages.scene_stream import export_scene

    refuse_output("log", path, (".mcap",), overwrite)
    if path.exists() and path.samefile(log):
        raise InputError(f"log '{path}' is the one to be copied: expected another name")
    rows = export_scene(log, path, overwrite)
    out.print(f"log: {path}, {rows} rows with their scene", soft_wrap=True)
    end_if_incomplete(log, recorded)


def info(log: LogFile, as_json: AsJson = False) -> None:
    """The head of a log: testbed, changes, date, host and version; its rows, how the run ended, and any damage.

    Of a run that an exception ended it prints the traceback, too.
    """
    from granite.cli.report.info import info_json, info_table, traceback_lines
    from granite.logs.log import read_log
    from granite.views.table import put

    recorded = read_log(log, without_rows=True)
    if as_json:
        print_json(info_json(log, recorded))
    else:
        put(out, [info_table(log, recorded)])
        for line in traceback_lines(recorded):
            out.print(line, soft_wrap=True)
    end_if_incomplete(log, recorded)


def recover(
    log: LogFile,
    path: Annotated[Path, typer.Option("--out", metavar="NEW", help="the whole log to write, *.mcap")],
    overwrite: Overwrite = False,
) -> None:
    """Make a whole log of one that was cut or damaged, and report the lost rows."""
    from granite.logs.recovery import recover as recover_log

    refuse_output("log", path, (".mcap",), overwrite)
    if path.exists() and log.exists() and path.samefile(log):
        raise InputError(f"log '{path}' is the damaged one: expected another name")
    recovered = recover_log(log, path, overwrite)
    out.print(recovered.sentence, soft_wrap=True)
    out.print(f"log: {path}", soft_wrap=True)


def end_if_incomplete(path: Path, log: Log) -> None:
    """End with the exit code of an incomplete log, after everything that could be done with it."""
    if not log.complete:
        advice = f"{command('recover', path, '--out', 'NEW.mcap')} makes a whole one"
        end(f"log '{path}' is cut off or damaged after {log.ticks} rows ({log.damage}): {advice}", FAULT)
