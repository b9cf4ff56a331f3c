"""The first ticks of a testbed that was accepted, in CasADi's virtual machine: a case compiles nothing."""

from unittest.mock import patch

from granite.config.reasons import Reason
from granite.config.testbed import Testbed
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

TICKS = 3


def run_first_ticks(bed: Testbed) -> None:
    """Raise where a run can't be prepared, or has a fault inside; a guard that stops it is a result."""
    with patch.dict("os.environ", {"GRANITE_NO_COMPILER": "1"}):
        run = Run(bed)
        run.ticks = min(run.ticks, TICKS)
        outcome = run.execute(VirtualClock(), Memory(run.channels, run.ticks))
    if outcome.fault is not None and outcome.reason is Reason.FAULT:
        raise outcome.fault
