"""Many runs of a testbed in virtual time: other values and seeds, on all processors.

runs = simulate_many("free-flyer", [{"controller.law.gains.base.stiffness_1_s2": k} for k in (0.3, 0.6)], seeds=[1, 2])
runs[0].metrics["propellant"]["impulse_n_s"], runs[0].log("worst.mcap")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex

from granite.config.errors import InputError
from granite.config.loader import from_json, load, to_json
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.log import Log
from granite.logs.run_summary import RunSummary
from granite.rt.run_in_memory import simulate_in_memory
from granite.tuning.worker_processes import local_workers


@dataclass(frozen=True)
class ManyRun:
    """One run of many."""

    bed: Testbed  #: with its changes and its seed
    changes: Mapping[str, Any]
    #: as `granite.metrics` has them of a log, without the times of the ticks
    metrics: RunSummary
    #: over time, by the names that were asked for
    signals: dict[str, Array] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """The seed of the simulated lab."""
        return self.bed.seed

    def log(self, path: Path | str | None = None, *, overwrite: bool = False) -> Log:
        """The same run again as a full log, in memory or in a file."""
        from granite.rt.api import simulate

        return simulate(self.bed, path, overwrite=overwrite, changes=[f"{k}={v}" for k, v in self.changes.items()])


def simulate_many(
    bed: Testbed | str,
    changes: Sequence[Mapping[str, Any]] = ({},),
    seeds: Iterable[SupportsIndex] | None = None,
    signals: Sequence[str] | None = None,
    processes: int | None = None,
) -> list[ManyRun]:
    """Run a testbed with every change and every seed.

    Parameters
    ----------
    bed
        A testbed, or the name of one as for `load`.
    changes
        Values by dotted key, for each group of runs.
    seeds
        Of the simulated lab; None: that of the testbed.
    signals
        Signals to keep, as `topic.signal`, for instance `truth.base_x_m`.
    processes
        How many to use; None: one for each processor. A script that uses several must be guarded by
        `if __name__ == "__main__"`, because each process imports it.

    Returns
    -------
    list[ManyRun]
        For each change all seeds, in their order, whatever ends first.

    Raises
    ------
    InputError
        Where a change does not fit, a testbed can't be run, or there is no such signal.
    """
    whole = load(bed) if isinstance(bed, str) else bed
    wanted = tuple(signals or ())
    channels = Channels.of(whole)
    for name in wanted:
        column_of(channels, name)
    used = [whole.seed] if seeds is None else list(seeds)
    cases = [(dict(change), whole.with_changes({**change, "seed": seed})) for change in changes for seed in used]
    with local_workers(processes) as workers:
        answers = workers.answers(_answer, [(to_json(one), wanted) for _, one in cases])
        return [
            ManyRun(one, change, metrics, dict(zip(wanted, kept, strict=True)))
            for (change, one), (metrics, kept) in zip(cases, answers, strict=True)
        ]


def column_of(channels: Channels, name: str) -> int:
    """The column of a signal that is named as `topic.signal`; `InputError` where there is none."""
    topic, dot, key = name.partition(".")
    if not dot:
        raise InputError("no signal", key="signals", value=name, expected="topic.signal, such as truth.base_x_m")
    return channels.column(topic, key)


def _answer(case: tuple[str, tuple[str, ...]]) -> tuple[RunSummary, list[Array]]:
    text, signals = case
    log = simulate_in_memory(from_json(text), keep=False)
    assert log.summary is not None
    metrics = log.summary.copy()
    metrics.pop("timing", None)  # the only numbers that differ from run to run
    metrics.pop("log_failure", None)
    return metrics, [log.columns([column_of(log.channels, name)])[:, 0] for name in signals]
