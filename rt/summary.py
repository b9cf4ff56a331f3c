"""What a run amounted to, gathered from its rows as they are recorded: by the recorder, never by the loop."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.audit import AuditVerdict
from granite.rt.channels import STEPS, Channels
from granite.rt.contact_summary import ContactSummary
from granite.rt.reasons import Reason

#: bins of the time histograms: 20 a decade from 0.1 us to 10 s
EDGES = np.logspace(-7, 1, 161)
#: the last stretch, in which a move should have settled [s]
SETTLED_S = 5.0
STANDARD_GRAVITY = 9.80665  #: [m/s^2], in the definition of specific impulse


class Histogram:
    """Counts of durations in logarithmic bins; a percentile is right to 12 %, and the largest one exactly."""

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

    def result(self) -> dict[str, Any]:
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
    """Accumulates rows; `result` may be asked at any time."""

    def __init__(self, bed: Testbed) -> None:
        self._bed, self._channels = bed, Channels(bed)
        at = self._channels.place
        self._t, self._tick = at("/timing", "scheduled"), at("/timing", "tick")
        self._ready, self._reason = at("/state", "ready"), at("/verdict", "reason")
        self._reference, self._estimate, self._truth = (
            at("/reference", "q"),
            at("/state", "q"),
            at("/truth", "q"),
        )
        self._rates = at("/truth", "u"), at("/state", "u")
        self._expected, self._delivered = at("/verdict", "thrust"), at("/truth", "thrust")
        self._torque, self._opening = at("/applied", "torque"), at("/applied", "opening")
        self._steps, self._delay = at("/timing", "steps"), at("/timing", "delay")
        self._counters = at("/timing", "lost"), at("/timing", "overruns")
        n = len(bed.estimated_positions)
        self._n, self._n_ready, self._n_true = 0, 0, 0
        self._peak, self._square, self._estimate_peak = np.zeros(n), np.zeros(n), np.zeros(n)
        self._torque_peak = np.zeros(len(bed.devices.motors))
        n_thrusters = len(bed.devices.thrusters.units) if bed.devices.thrusters else 0
        self._impulse, self._pulses = np.zeros(n_thrusters), np.zeros(n_thrusters, dtype=int)
        self._open = np.zeros(n_thrusters, dtype=bool)
        self._reasons: Counter[int] = Counter()
        self._histograms = {name: Histogram() for name in (*STEPS, "tick", "wake_up")}
        #: time and error of the rows of the last stretch, and perhaps of some before it
        self._tail: deque[tuple[Array, Array]] = deque()
        self._last: Array | None = None
        self._contacts, self._audit = ContactSummary(bed, self._channels), AuditVerdict(bed, self._channels)

    def update(self, rows: Array) -> None:
        """Take in rows that follow those before."""
        if not len(rows):
            return
        self._use_propellant(rows)
        self._count_pulses(rows)
        self._contacts.update(rows)
        self._audit.update(rows)
        self._n += len(rows)
        self._n_true += int(self._has_truth(rows).sum())
        self._last = rows[-1].copy()
        ready = rows[rows[:, self._ready] == 1.0]
        self._n_ready += len(ready)
        if len(ready):
            true, n = self._has_truth(ready), len(self._peak)
            actual = np.where(true[:, None], ready[:, self._truth][:, :n], ready[:, self._estimate])
            error = actual - ready[:, self._reference]
            self._peak = np.maximum(self._peak, np.abs(error).max(axis=0))
            self._square += np.square(error).sum(axis=0)
            self._tail.append((ready[:, self._t].copy(), error))
            off = np.abs(ready[true, self._estimate] - ready[true, self._truth][:, :n])
            self._estimate_peak = np.maximum(self._estimate_peak, off.max(axis=0, initial=0.0))
        while self._tail and self._tail[0][0][-1] < self._settled_from():
            self._tail.popleft()
        self._reasons.update(rows[:, self._reason].astype(int).tolist())
        self._torque_peak = np.maximum(self._torque_peak, np.abs(rows[:, self._torque]).max(axis=0))
        for i, step in enumerate(STEPS):
            self._histograms[step].add(rows[:, self._steps][:, i])
        self._histograms["tick"].add(rows[:, self._steps].sum(axis=1))
        self._histograms["wake_up"].add(rows[:, self._delay])

    def result(self) -> dict[str, Any]:
        """Everything by name, with units beside the numbers or in the keys."""
        if self._last is None:
            return {"ticks": 0}
        bed, last = self._bed, self._last
        truth = self._n_true > 0
        known = self._has_truth(last[None, :])[0]
        positions, velocities = bed.positions, bed.velocities
        q, u = last[self._truth], last[self._rates[0]]
        if not known:
            positions, velocities = bed.estimated_positions, bed.estimated_velocities
            q, u = last[self._estimate], last[self._rates[1]]
        lost, overruns = (int(last[i]) for i in self._counters)
        peaks = zip(bed.estimated_positions, self._estimate_peak, strict=True)
        estimated = peaks if truth and self._n_ready else ()
        return {
            "ticks": self._n,
            "duration_s": (int(last[self._tick]) + 1) * bed.loop.period_s,
            "measured_against": "truth" if truth else "estimate",
            "tracking_error": self._tracking(),
            "estimation_error": {c.name: {"unit": c.unit, "max": float(x)} for c, x in estimated},
            "torque": {
                motor.joint: {"unit": "N m", "max": float(peak)}
                for motor, peak in zip(bed.devices.motors, self._torque_peak, strict=True)
            },
            "propellant": self._propellant(),
            **self._contacts.result(),
            **({"audit": audit} if (audit := self._audit.result()) else {}),
            "guard": {Reason(code).name.lower(): n for code, n in sorted(self._reasons.items())},
            "overruns": overruns,
            "rows_lost": lost,
            "timing": {name: h.result() for name, h in self._histograms.items()},
            "final_state": {c.name: {"value": float(x), "unit": c.unit} for c, x in zip(positions, q, strict=True)},
            "final_rate": {c.name: {"value": float(x), "unit": c.unit} for c, x in zip(velocities, u, strict=True)},
        }

    def _tracking(self) -> dict[str, Any]:
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
            for i, c in enumerate(self._bed.estimated_positions)
        }

    def _propellant(self) -> dict[str, Any]:
        thrusters = self._bed.devices.thrusters
        total = float(self._impulse.sum())
        if thrusters is None:
            return {"impulse_n_s": 0.0, "mass_g": 0.0, "pulses": 0, "by_thruster_n_s": {}}
        return {
            "impulse_n_s": total,
            "mass_g": total / (thrusters.specific_impulse_s * STANDARD_GRAVITY) * 1e3,
            "pulses": int(self._pulses.sum()),
            "by_thruster_n_s": {
                unit.name: float(impulse) for unit, impulse in zip(thrusters.units, self._impulse, strict=True)
            },
        }

    def _settled_from(self) -> float:
        """When the last stretch began: half a tick early, so that rounding does not decide."""
        assert self._last is not None
        return float(self._last[self._t]) - SETTLED_S + 0.5 * self._bed.loop.period_s

    def _has_truth(self, rows: Array) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = np.asarray(np.isfinite(rows[:, self._truth]).all(axis=1))
        return known

    def _use_propellant(self, rows: Array) -> None:
        """Thrust times the time for which it was given: longer than a period where ticks were skipped."""
        if not self._impulse.size:
            return
        with_before = rows if self._last is None else np.vstack((self._last, rows))
        interval = np.diff(with_before[:, self._t])
        # Truth speaks of the interval before the tick, the expectation of the one after it.
        delivered, expected = with_before[1:, self._delivered], with_before[:-1, self._expected]
        self._impulse += interval @ np.where(np.isnan(delivered), expected, delivered)

    def _count_pulses(self, rows: Array) -> None:
        if not self._impulse.size:
            return
        opened = np.vstack((self._open, rows[:, self._opening] > 0))
        self._pulses += (opened[1:] & ~opened[:-1]).sum(axis=0)
        self._open = opened[-1]
