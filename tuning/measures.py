"""The metrics of a run by name: what objectives, constraints and distributions speak of.

A metric of several things has a member for each, as in `rms_error.base_x`, and one for all of a unit, as in
`rms_error_m`: the norm over the coordinates for rms, the largest one for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.logs.channels import Channels
from granite.logs.log import Log
from granite.logs.run_summary import RunSummary
from granite.mrds.energy import Energy
from granite.tuning import margins
from granite.tuning.expressions import Expression, Names
from granite.tuning.margins import followed_indices

#: by the beginning of their names: the entry of the summary's tracking errors
_ERRORS = {"rms_error": "rms", "largest_error": "max", "final_error": "max_in_last_5_s"}
#: metrics of a testbed without objectives: those of these that it has
_USUAL = (
    "rms_error_m", "rms_error_rad", "final_error_m", "final_error_rad", "propellant_n_s", "peak_torque_n_m", "margin",
)  # fmt: skip
#: of the strain energy of flexible links: every tenth tick
_EVERY = 10


#: expressions, each with the key under which it stands in the configuration
Goals = tuple[tuple[str, str], ...]


class Band(NamedTuple):
    """Errors within which a move has settled."""

    m: float = 0.005
    rad: float = 0.01


def metric_units(bed: Testbed) -> dict[str, str]:
    """Every metric of a testbed, with its unit."""
    followed = [bed.known.positions[i] for i in followed_indices(bed)]
    units = [unit for unit in ("m", "rad") if any(c.unit == unit for c in followed)]
    metrics: dict[str, str] = {}
    for name in _ERRORS:
        metrics |= {f"{name}_{unit}": unit for unit in units}
        metrics |= {f"{name}.{c.name}": c.unit for c in followed}
    if followed:
        metrics["settling_time_s"] = "s"
    if bed.thrusters:
        metrics |= {"propellant_n_s": "N s", "propellant_g": "g", "pulses": "1"}
    if bed.motors:
        metrics["peak_torque_n_m"] = "N m"
        metrics |= {f"peak_torque.{motor.joint}": "N m" for motor in bed.motors}
    if _grips(Channels.of(bed)):
        metrics["internal_force_error_n"] = "N"
    metrics |= {f"squeeze.{name}": "N" for name in bed.squeezed}
    if any(body.flexible for module in bed.modules for body in module.bodies):
        metrics["elastic_energy_j"] = "J"
    limits = margins.names_of(bed)
    metrics |= {f"margin.{name}": "1" for name in limits}
    return metrics | ({"margin": "1"} if limits else {})


def names_of(bed: Testbed) -> Names:
    """What an expression about a run of the testbed may speak of."""
    topics = Channels.of(bed).topics
    signals = [f"{topic.name[1:]}.{value.key}" for topic in topics for _, value in topic.values]
    return Names(tuple(metric_units(bed)), tuple(signals))


class Measures:
    """Expressions about the runs of a testbed, checked once and evaluated for each log."""

    def __init__(self, bed: Testbed, goals: Goals, band: Band) -> None:
        names = names_of(bed)
        self._expressions: list[Expression] = []
        self._band = band
        for key, text in goals:
            try:
                self._expressions.append(Expression(text, names))
            except InputError as refusal:
                problem = InputError(refusal.problem, key=key, value=text, expected=refusal.expected)
                raise problem.within(file=bed.name) from None

    def values(self, log: Log) -> list[float]:
        """The number of each expression; not finite where it has none in this run."""
        run = _Run(log, self._band)
        return [expression.value(run.metric, run.signal, log.t) for expression in self._expressions]


def goals_of(table: TuningTable) -> Goals:
    """The expressions of objectives, then of constraints."""
    named = (("objectives", table.objectives), ("constraints", table.constraints))
    return tuple((f"tuning.{key}.{i}.of", goal.of) for key, goals in named for i, goal in enumerate(goals))


def chosen_goals(bed: Testbed, metrics: Sequence[str]) -> tuple[Goals, Band]:
    """The expressions that were typed; else those of the testbed's table, or the usual ones.

    Raises
    ------
    InputError
        Where the testbed has no usual ones.
    """
    table = bed.tuning
    band = Band(table.settled_m, table.settled_rad) if table else Band()
    if metrics:
        return tuple(("--metric", text) for text in metrics), band
    if table is not None:
        return goals_of(table), band
    there = metric_units(bed)
    goals = tuple((name, name) for name in _USUAL if name in there)
    if not goals:
        expected = "an expression over its signals, by --metric"
        raise InputError("no usual metric", file=bed.name, key="--metric", expected=expected)
    return goals, band


class _Run:
    """The metrics and signals of one log."""

    def __init__(self, log: Log, band: Band) -> None:
        assert log.summary is not None
        self._log = log
        self._band = band
        self._summary: RunSummary = log.summary

    def signal(self, name: str) -> Array:
        """A signal over time."""
        topic, _, key = name.partition(".")
        return self._log.columns([self._log.channels.column(topic, key)])[:, 0]

    def metric(self, name: str) -> float:
        """One number of the run."""
        head, _, member = name.partition(".")
        summary, bed = self._summary, self._log.bed
        for start, entry in _ERRORS.items():
            if head == start:
                return float(summary["tracking_error"][member][entry])  # type: ignore[literal-required]
            if head.startswith(f"{start}_"):
                unit = head.removeprefix(f"{start}_")
                errors = [e[entry] for e in summary["tracking_error"].values() if e["unit"] == unit]  # type: ignore[literal-required]
                return float(np.linalg.norm(errors) if entry == "rms" else np.max(errors))
        if head == "settling_time_s":
            return settling_time(self._log, self._band)
        if head in ("propellant_n_s", "propellant_g", "pulses"):
            return float(summary["propellant"][_PROPELLANT[head]])  # type: ignore[literal-required]
        if head.startswith("peak_torque"):
            peaks = {n: p["max"] for n, p in summary["applied"].items() if n.endswith("_torque")}
            torques = [peak for n, peak in peaks.items() if not member or n.endswith(f"_{member}_torque")]
            return max(torques)
        if head == "squeeze":
            return float(summary["squeeze"][member]["max"])
        if head == "internal_force_error_n":
            return internal_force_error(self._log)
        if head == "elastic_energy_j":
            return elastic_energy(self._log)
        return (
            margins.margin(self._log, member)
            if member
            else min(margins.margin(self._log, limit) for limit in margins.names_of(bed))
        )


_PROPELLANT = {"propellant_n_s": "impulse_n_s", "propellant_g": "mass_g", "pulses": "pulses"}


def settling_time(log: Log, band: Band) -> float:
    """From the end of the reference's motion until all errors stay within the band [s]; infinite where they do not."""
    bed = log.bed
    columns = log.channels.columns
    rows = log.rows
    ready = rows[:, columns("/state", "ready")] == 1.0
    truth = rows[:, columns("/truth", "q")][:, [bed.positions.index(c) for c in bed.known.positions]]
    has_truth = np.isfinite(truth).all(axis=1, keepdims=True)
    actual = np.where(has_truth, truth, rows[:, columns("/state", "q")])
    error = np.abs(actual - rows[:, columns("/reference", "q")])
    within = np.array(ready, dtype=bool)
    for i in followed_indices(bed):
        if (unit := bed.known.positions[i].unit) in ("m", "rad"):
            within &= error[:, i] <= getattr(band, unit)
    moving = np.any(np.abs(rows[:, columns("/reference", "u")]) > 1e-9, axis=1) & ready
    t = log.t
    last_moving = int(np.flatnonzero(moving)[-1]) if moving.any() else int(np.argmax(ready))
    if not bool(within[-1]):
        return float("inf")
    outside = np.flatnonzero(~within)
    settled = int(outside[-1]) + 1 if len(outside) else 0
    return max(0.0, float(t[settled] - t[last_moving]))


def internal_force_error(log: Log) -> float:
    """Rms of the grips' force errors without their resultant, which moves the object [N].

    The rest of the errors, true less demanded force of each grip, neither pushes the object nor is felt outside it.
    """
    errors = []
    for grip in _grips(log.channels):
        pair = [log["/truth"][f"{grip}_{axis}_n"] - log["/demand"][f"{grip}_{axis}_n"] for axis in ("fx", "fy")]
        errors.append(np.stack(pair, axis=1))
    error = np.stack(errors)
    internal = error - error.mean(axis=0)
    return float(np.sqrt(np.mean(np.sum(np.square(internal), axis=(0, 2)))))


def elastic_energy(log: Log) -> float:
    """Largest strain energy of the flexible links [J]."""
    energy = Energy(log.bed.modules)
    rows = log.rows[::_EVERY]
    rows = rows[np.isfinite(rows[:, log.channels.columns("/truth", "q")]).all(axis=1)]
    q = rows[:, log.channels.columns("/truth", "q")]
    u = rows[:, log.channels.columns("/truth", "u")]
    return max((energy.balance(a, b).strain for a, b in zip(q, u, strict=True)), default=float("nan"))


def _grips(channels: Channels) -> list[str]:
    """Contacts whose force is both demanded and known."""
    keys = {name: [value.key for _, value in channels.topic(name).values] for name in ("/demand", "/truth")}
    ends = "_fx_n"
    both = [key.removesuffix(ends) for key in keys["/demand"] if key.endswith(ends) and key in keys["/truth"]]
    return both if len(both) > 1 else []
