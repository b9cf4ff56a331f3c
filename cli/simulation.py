"""`granite sim`: a testbed on the simulated plant."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from granite.cli.arguments import AsJson, Bed, Overrides, Overwrite, named
from granite.cli.outputs import new_log
from granite.cli.recorded_run import (
    BehaviourName,
    Duration,
    Live,
    LiveGains,
    LivePort,
    NewLog,
    Seed,
    WithOperator,
    end_run,
    live_port,
    load_changed,
    short_forms,
    show_run,
    with_behaviour,
)
from granite.cli.screen import err, print_json
from granite.config.whole_file import refuse_output


def sim(
    bed: Bed,
    realtime: Annotated[bool, typer.Option("--realtime", help="keep pace with wall-clock time")] = False,
    operator: WithOperator = False,
    live: Live = False,
    with_port: LivePort = None,
    live_gains: LiveGains = False,
    behaviour: BehaviourName = None,
    overrides: Overrides = None,
    duration: Duration = None,
    seed: Seed = None,
    log: NewLog = None,
    overwrite: Overwrite = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="check energy, momentum and contacts, against their limits")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a testbed on the simulated plant and record everything."""
    from granite.logs.unfinished import found_log
    from granite.rt.run import simulate

    asked = [*(overrides or []), *(["simulation.audit=true"] if audit else [])]
    bed = with_behaviour(bed, behaviour)
    testbed = load_changed(bed, asked, duration, seed)
    port = live_port(live, with_port, live_gains)
    if log is not None:
        refuse_output("log", log, (".mcap",), overwrite)
    with contextlib.nullcontext(log) if log is not None else new_log(testbed.name) as path, named(bed, testbed):
        summary = simulate(
            testbed,
            path,
            realtime=realtime,
            overwrite=overwrite or log is None,
            progress=not as_json and err.is_terminal,
            changes=[*asked, *short_forms(duration, seed)],
            announce=lambda sentence: err.print(f"granite: {sentence}", soft_wrap=True),
            pass_signals_on=False,
            operator=operator,
            live=port,
            live_gains=live_gains,
        )
    if as_json:
        print_json(summary)
    else:
        show_run(summary, path)
        path = found_log(path)
    end_run(summary, path)
