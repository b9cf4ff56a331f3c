"""A case in the simulation: virtual time, simulated devices, recorded and shown as `granite sim` does."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from granite.cli.recorded_run import end_run, show_run
from granite.logs.log import read_log
from granite.rt.run import Run
from tests.rt.fault_matrix.cases import Case
from tests.rt.fault_matrix.injections import OperatorRequest, RunPreparation
from tests.rt.fault_matrix.judged import FaultEnding, judge
from tests.support.scripted_operator import Script


def simulate(case: Case, folder: Path) -> FaultEnding:
    """Let it happen."""
    path, screen = folder / "run.mcap", io.StringIO()
    run = Run(case.testbed())
    if isinstance(case.injection, RunPreparation):
        case.injection.prepare(run)
    if isinstance(case.injection, OperatorRequest):
        run.source = Script({round(case.at_s / run.bed.loop.period_s): case.injection.request})
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen), contextlib.suppress(SystemExit):
        summary = run.record(path, overwrite=True)
        show_run(summary, path)
        end_run(summary, path)
    # A silent actuator does not confirm its stop; that of every other one is confirmed.
    is_safe = set(summary.get("not_stopped", ())) <= {case.device}
    return judge(case, read_log(path), screen.getvalue(), case.at_s, is_safe)
