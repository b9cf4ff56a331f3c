"""Several loops on one table, in virtual time: one plant for all, in which each is an obstacle to the others.

Every loop is a testbed of its own, with its own modules, controllers, guard and log, as on hardware, where it knows of
the others by sensors alone. Their ticks take turns in the order of the testbeds; then the plant advances by a period.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from granite.config.errors import InputError
from granite.config.footprints import collision_pairs
from granite.config.testbed import Testbed
from granite.logs.log import Log
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Outcome
from granite.rt.process.posix_signals import StopSignals
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from granite.rt.run_in_memory import logged
from granite.sim.lab import Lab


def simulate_together(beds: Sequence[Testbed]) -> list[Log]:
    """Run testbeds that share a table in virtual time, and keep their rows.

    Parameters
    ----------
    beds
        Testbeds of the same modules, in the same simulation; each with the devices that its loop has. A sensor of the
        same name is one device, which all of these hear. The first one's seed draws everything.

    Returns
    -------
    list of Log
        The log of each; the truth has all modules, and the loop's own thrusters.

    Raises
    ------
    InputError
        Where a testbed can't be run, or they do not fit together.
    """
    _refuse_misfits(beds)
    devices = {name: device for bed in beds for name, device in bed.devices.items()}
    lab = Lab(beds[0].model_copy(update={"devices": devices}))
    runs = [Run(bed, lab=lab.seen_by(bed)) for bed in beds]
    memories = [Memory(run.channels, run.ticks) for run in runs]
    outcomes: list[Outcome] = [Outcome()] * len(runs)
    with StopSignals() as signals:
        going = [run.ticking(VirtualClock(), memory, signals) for run, memory in zip(runs, memories, strict=True)]
        left = set(range(len(runs)))
        while left:
            for i in sorted(left):
                outcome = next(going[i], None)
                if outcome is None:
                    left.remove(i)
                else:
                    outcomes[i] = outcome
            if left:
                lab.advance(max(outcomes[i].t for i in left))
    ends = zip(runs, memories, outcomes, strict=True)
    return [logged(run.bed, run, memory.rows, outcome) for run, memory, outcome in ends]


def _refuse_misfits(beds: Sequence[Testbed]) -> None:
    """Raise where testbeds are not of one table."""
    if not beds:
        raise InputError("no testbed", key="beds", expected="one for each loop")
    first, taken = beds[0], dict[str, Any]()
    for bed in beds:
        pairs = [pair.name for pair in collision_pairs(bed)]
        for key, one, other in (
            ("modules", bed.modules, first.modules),
            ("loop.period_s", bed.loop.period_s, first.loop.period_s),
            ("simulation", bed.simulation, first.simulation),
            ("safety.footprint", pairs, [pair.name for pair in collision_pairs(first)]),
        ):
            if one != other:
                raise InputError(f"'{bed.name}' differs from '{first.name}'", key=key, expected="the same on one table")
        for name, device in bed.devices.items():
            if name in taken and (device != taken[name] or name in bed.actuators):
                problem = f"another device of that name is in '{first.name}'"
                expected = "another name, or the same sensor"
                raise InputError(problem, key=f"devices.{name}", expected=expected)
        taken |= bed.devices
