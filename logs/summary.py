"""Metrics of a run, accumulated from its rows as they are recorded: by the recorder, never by the loop."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from granite.config.coordinates import Coordinate
from granite.config.devices.thrusters import Thrusters
from granite.config.reasons import Reason
from granite.config.records import STEPS, Array
from granite.config.run_modes import RequestKind
from granite.config.testbed import Testbed
from granite.logs.audit import AuditVerdict
from granite.logs.bending import Bending
from granite.logs.channels import Channels
from granite.logs.collisions import CollisionSummary
from granite.logs.contact_summary import ContactSummary
from granite.logs.energy import EnergySummary
from granite.logs.log import Log
from granite.logs.machine_summary import MachineSummary, StateChanges
from granite.logs.run_summary import FinalValue, Metrics, Propellant, RunSummary, StepTimes, TrackingError

#: bins of the time histograms: 20 a decade from 0.1 us to 10 s
EDGES = np.logspace(-7, 1, 161)
#: length of the last interval, in which a move should have settled [s]
SETTLED_S = 5.0
STANDARD_GRAVITY = 9.80665  #: [m/s^2], in the definition of specific impulse


class Histogram:
    """Counts of durations in logarithmic bins; a percentile is accurate to 12 %, the largest one exact."""

    def __init__(self) -> None:
        self.counts = np.zeros(len(EDGES) + 1, dtype=np.int64)
        self.largest = 0.0

    def add(self, durations: Array) -> None:
        """Count these durations [s]."""
        np.add.at(self.counts, np.searchsorted(EDGES, durations), 1)
        self.largest = max(self.largest, float(durations.max(initial=0.0)))

    def percentile(self, percent: float) -> float:
        """The upper edge of the bin in which this percentile falls [s]."""
        wanted = self.counts.sum() * percent / 100
        i = int(np.searchsorted(np.cumsum(self.counts), wanted))
        return min(float(EDGES[i]), self.largest) if i < len(EDGES) else self.largest

    def result(self) -> StepTimes:
        """Percentiles in microseconds, and the counts by the upper edge of their bin."""
        filled = np.flatnonzero(self.counts)
        upper = [float(EDGES[i]) if i < len(EDGES) else float("inf") for i in filled]
        return {
            "median_us": self.percentile(50) * 1e6,
            "p99_us": self.percentile(99) * 1e6,
            "max_us": self.largest * 1e6,
            "histogram": {f"{edge * 1e6:.3g}": int(self.counts[i]) for edge, i in zip(upper, filled, strict=True)},
        }


class Summary:
    """Accumulates rows; `result` may be called at any time."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._bed, self._channels = bed, channels
        at = channels.columns
        self._t, self._tick = at("/timing", "scheduled"), at("/timing", "tick")
        self._ready, self._reason = at("/state", "ready"), at("/verdict", "reason")
        self._reference, self._estimate, self._truth = (
            at("/reference", "q"),
            at("/state", "q"),
            at("/truth", "q"),
        )
        self._rates = at("/truth", "u"), at("/state", "u")
        self._expected, self._delivered = at("/verdict", "thrust"), at("/truth", "thrust")
        applied = channels.topic("/applied")
        columns = [(i, c) for i, (entry, c) in enumerate(applied.values, applied.start) if entry.endswith(".values")]
        #: actuator signals with a physical unit, such as torques
        self._applied = [i for i, c in columns if c.unit != "1"]
        self._signals = [c for _, c in columns if c.unit != "1"]
        bounds = [pair for device in bed.actuators.values() for pair in device.bounds(bed)]
        #: largest set point of each of them
        self._limits = [max(map(abs, pair)) for pair, (_, c) in zip(bounds, columns, strict=True) if c.unit != "1"]
        self._opening = _columns(channels, bed.devices_of(Thrusters))
        #: coordinates with a reference: known objects have none
        self._controlled = set(bed.followed_positions)
        #: headings of floating modules: sensors give them within one turn, the truth counts turns
        self._headings = [
            bed.known.root_q(module).start + 2
            for module in bed.known.modules
            if module.base == "floating" and module.dimension == "planar"
        ]
        #: indices of the controller's coordinates among those of all modules
        self._among_all = [bed.positions.index(c) for c in bed.known.positions]
        self._steps, self._delay = at("/timing", "steps"), at("/timing", "delay")
        self._counters = at("/timing", "lost"), at("/timing", "overruns")
        self._operation = [channels.column("/operation", key) for key in ("request", "argument", "cause")]
        n = len(bed.known.positions)
        self._n, self._n_ready, self._n_true = 0, 0, 0
        self._peak, self._square, self._estimate_peak = np.zeros(n), np.zeros(n), np.zeros(n)
        self._applied_peak = np.zeros(len(self._applied))
        n_thrusters = len(bed.thrusters)
        self._impulse, self._pulses = np.zeros(n_thrusters), np.zeros(n_thrusters, dtype=int)
        self._open = np.zeros(n_thrusters, dtype=bool)
        self._reasons: Counter[int] = Counter()
        self._noticed: dict[str, float] = {}
        self._histograms = {name: Histogram() for name in (*STEPS, "tick", "wake_up")}
        #: time and error of the rows of the last interval, and perhaps of some before it
        self._tail: deque[tuple[Array, Array]] = deque()
        self._last: Array | None = None
        self._contacts, self._audit = ContactSummary(bed, self._channels), AuditVerdict(bed, self._channels)
        self._bending = Bending(bed, channels)
        self._energy = EnergySummary(bed, channels)
        self._machine, self._states = MachineSummary(bed, channels), StateChanges(bed, channels)
        self._impulse_by_state: dict[str, Array] = {}
        self._collisions = CollisionSummary(bed, channels)

    def update(self, rows: Array) -> None:
        """Process the next rows."""
        if not len(rows):
            return
        self._use_propellant(rows)
        self._count_pulses(rows)
        self._contacts.update(rows)
        self._machine.update(rows)
        self._collisions.update(rows)
        self._audit.update(rows)
        self._bending.update(rows)
        self._energy.update(rows)
        self._n += len(rows)
        self._n_true += int(self._has_truth(rows).sum())
        self._last = rows[-1].copy()
        ready = rows[rows[:, self._ready] == 1.0]
        self._n_ready += len(ready)
        if len(ready):
            true, truth = self._has_truth(ready), ready[:, self._truth][:, self._among_all]
            actual = np.where(true[:, None], truth, ready[:, self._estimate])
            error = self._within_a_turn(actual - ready[:, self._reference])
            self._peak = np.maximum(self._peak, np.abs(error).max(axis=0))
            self._square = _added(self._square, np.square(error))
            self._tail.append((ready[:, self._t].copy(), error))
            off = np.abs(self._within_a_turn(ready[true, self._estimate] - truth[true]))
            self._estimate_peak = np.maximum(self._estimate_peak, off.max(axis=0, initial=0.0))
        while self._tail and self._tail[0][0][-1] < self._settled_from():
            self._tail.popleft()
        self._reasons.update(rows[:, self._reason].astype(int).tolist())
        self._note_causes(rows)
        self._applied_peak = np.maximum(self._applied_peak, np.abs(rows[:, self._applied]).max(axis=0, initial=0.0))
        for i, step in enumerate(STEPS):
            self._histograms[step].add(rows[:, self._steps][:, i])
        self._histograms["tick"].add(rows[:, self._steps].sum(axis=1))
        self._histograms["wake_up"].add(rows[:, self._delay])

    def result(self) -> Metrics:
        """Everything by name, with units beside the numbers or in the keys."""
        if self._last is None:
            return {"ticks": 0}
        bed, last = self._bed, self._last
        truth = self._n_true > 0
        known = self._has_truth(last[None, :])[0]
        positions, velocities = bed.positions, bed.velocities
        q, u = last[self._truth], last[self._rates[0]]
        if not known:
            positions, velocities = bed.known.positions, bed.known.velocities
            q, u = last[self._estimate], last[self._rates[1]]
        lost, overruns = (int(last[i]) for i in self._counters)
        peaks = zip(bed.known.positions, self._estimate_peak, strict=True)
        estimated = peaks if truth and self._n_ready else ()
        metrics: Metrics = {
            "ticks": self._n,
            "duration_s": (int(last[self._tick]) + 1) * bed.loop.period_s,
            "measured_against": "truth" if truth else "estimate",
            "tracking_error": self._tracking(),
            "estimation_error": {c.name: {"unit": c.unit, "max": float(x)} for c, x in estimated},
            "applied": {
                c.name: {"unit": c.unit, "max": float(peak), "limit": float(limit)}
                for c, peak, limit in zip(self._signals, self._applied_peak, self._limits, strict=True)
            },
            "propellant": self._propellant(),
            "guard": {Reason(code).name.lower(): n for code, n in sorted(self._reasons.items())},
            "noticed_at_s": dict(self._noticed),
            "overruns": overruns,
            "rows_lost": lost,
            "timing": {name: h.result() for name, h in self._histograms.items()},
            "final_t_s": float(last[self._t]),
            "final_state": named_values(positions, q),
            "final_rate": named_values(velocities, u),
        }
        self._contacts.add_to(metrics)
        if energy := self._energy.result():
            metrics["energy"] = energy
        self._machine.add_to(metrics)
        self._collisions.add_to(metrics)
        if bending := self._bending.result():
            metrics["bending"] = bending
        if audit := self._audit.result(self._bending.check()):
            metrics["audit"] = audit
        return metrics

    def _within_a_turn(self, errors: Array) -> Array:
        errors[:, self._headings] -= math.tau * np.round(errors[:, self._headings] / math.tau)
        return errors

    def _note_causes(self, rows: Array) -> None:
        """When each cause of a mode, and each fault reported from outside the tick, came first."""
        request, argument, cause = rows[:, self._operation].T
        codes = np.where(request == RequestKind.REPORT, argument, cause)
        for i in np.flatnonzero(codes):
            self._noticed.setdefault(Reason(int(codes[i])).name.lower(), float(rows[i, self._t]))

    def _tracking(self) -> dict[str, TrackingError]:
        peak, rms, settled = (np.full(len(self._peak), np.nan) for _ in range(3))  # no error where nothing was tracked
        if self._n_ready:
            peak, rms = self._peak, np.sqrt(self._square / self._n_ready)
        if self._tail:
            t, error = (np.concatenate(parts) for parts in zip(*self._tail, strict=True))
            settled = np.abs(error[t >= self._settled_from()]).max(axis=0)
        return {
            c.name: {
                "unit": c.unit,
                "max": float(peak[i]),
                "rms": float(rms[i]),
                "max_in_last_5_s": float(settled[i]),
            }
            for i, c in enumerate(self._bed.known.positions)
            if i in self._controlled
        }

    def _propellant(self) -> Propellant:
        devices = self._bed.devices_of(Thrusters).values()
        exhaust = np.array([d.specific_impulse_s * STANDARD_GRAVITY for d in devices for _ in d.units])
        used: Propellant = {
            "impulse_n_s": float(self._impulse.sum()),
            "mass_g": float((self._impulse / exhaust).sum() * 1e3),
            "pulses": int(self._pulses.sum()),
            "by_thruster_n_s": dict(zip(self._bed.thruster_names, self._impulse.tolist(), strict=True)),
        }
        if self._impulse_by_state:
            used["by_state_n_s"] = {state: float(x.sum()) for state, x in self._impulse_by_state.items()}
        return used

    def _settled_from(self) -> float:
        """Start of the last interval, half a tick early so that rounding does not matter [s]."""
        assert self._last is not None
        return float(self._last[self._t]) - SETTLED_S + 0.5 * self._bed.loop.period_s

    def _has_truth(self, rows: Array) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = np.asarray(np.isfinite(rows[:, self._truth]).all(axis=1))
        return known

    def _use_propellant(self, rows: Array) -> None:
        """Thrust times the time until the next tick: longer than a period where ticks were skipped."""
        if not self._impulse.size:
            return
        with_before = rows if self._last is None else np.vstack((self._last, rows))
        interval = np.diff(with_before[:, self._t])
        # The truth is the mean over the interval before the tick, the expected thrust over the one after it.
        delivered, expected = with_before[1:, self._delivered], with_before[:-1, self._expected]
        thrust = np.where(np.isnan(delivered), expected, delivered)
        impulse = interval[:, None] * thrust
        self._impulse = _added(self._impulse, impulse)
        for state, is_in in self._states.by_name(with_before[:-1]).items():
            before = self._impulse_by_state.get(state, np.zeros_like(self._impulse))
            self._impulse_by_state[state] = _added(before, impulse[is_in])

    def _count_pulses(self, rows: Array) -> None:
        if not self._impulse.size:
            return
        opened = np.vstack((self._open, rows[:, self._opening] > 0))
        self._pulses += (opened[1:] & ~opened[:-1]).sum(axis=0)
        self._open = opened[-1]


def named_values(coordinates: Iterable[Coordinate], values: Array) -> dict[str, FinalValue]:
    """Values by the names of their coordinates, with their units."""
    return {c.name: {"value": float(x), "unit": c.unit} for c, x in zip(coordinates, values, strict=True)}


#: of the ending of a run: what does not depend on the process that ran it
_OF_THE_RUN = (
    "ended", "text", "ended_at_s", "fault", "fault_in", "traceback", "not_stopped", "not_closed", "bed", "seed",
    "redundant", "final_t_s", "final_state", "final_rate",
)  # fmt: skip


def metrics(log: Log) -> RunSummary:
    """Metrics of a run: tracking errors, propellant, torques, contacts, and how it ended, as its summary has it.

    Parameters
    ----------
    log
        The run; from a file and from memory they are the same, made from the rows.
    """
    summary = Summary(log.bed, log.channels)
    for rows in log.blocks():
        summary.update(rows)
    ending = {key: value for key, value in (log.summary or {}).items() if key in _OF_THE_RUN}
    merged: Any = {**summary.result(), **ending}
    return cast(RunSummary, merged)


def _columns(channels: Channels, devices: Iterable[str]) -> list[int]:
    """Columns of the applied values of these actuators, device after device."""
    slices = [channels.columns("/applied", f"{name}.values") for name in devices]
    return [i for part in slices if isinstance(part, slice) for i in range(part.start, part.stop)]


def _added(total: Array, rows: Array) -> Array:
    """The total with all rows added one after the other: the same sum however the rows are divided into blocks."""
    total_after: Array = np.cumsum(np.vstack((total, rows)), axis=0)[-1]
    return total_after
