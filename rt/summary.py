"""What a run amounted to, gathered from its rows as they are recorded: by the recorder, never by the loop."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from config import coordinates
from config.records import Array
from config.testbed import Testbed
from rt.channels import STEPS, Channels
from rt.reasons import Reason

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
        return min(float(EDGES[min(i, len(EDGES) - 1)]), self.largest)

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
        self._ready, self._reason = at("/state", "ready"), at("/verdict", "reason")
        self._reference, self._estimate, self._truth = (
            at("/reference", "q"),
            at("/state", "q"),
            at("/truth", "q"),
        )
        self._rates = at("/truth", "u"), at("/state", "u")
        self._expected, self._delivered = at("/command", "thrust"), at("/truth", "thrust")
        self._torque, self._opening = at("/applied", "torque"), at("/applied", "opening")
        self._steps, self._delay = at("/timing", "steps"), at("/timing", "delay")
        self._counters = at("/timing", "lost"), at("/timing", "overruns")
        n = len(coordinates.positions(bed.robot))
        self._n, self._n_ready = 0, 0
        self._peak, self._square, self._estimate_peak = np.zeros(n), np.zeros(n), np.zeros(n)
        self._torque_peak = np.zeros(len(bed.devices.motors))
        n_thrusters = len(bed.devices.thrusters.units) if bed.devices.thrusters else 0
        self._impulse, self._pulses = np.zeros(n_thrusters), np.zeros(n_thrusters, dtype=int)
        self._open = np.zeros(n_thrusters, dtype=bool)
        self._reasons: Counter[int] = Counter()
        self._histograms = {name: Histogram() for name in (*STEPS, "tick", "wake_up")}
        self._tail: list[Array] = []
        self._n_tail = max(round(SETTLED_S / bed.loop.period_s), 1)
        self._last: Array | None = None

    def update(self, rows: Array) -> None:
        """Take in rows that follow those before."""
        if not len(rows):
            return
        self._n += len(rows)
        self._last = rows[-1].copy()
        ready = rows[rows[:, self._ready] == 1.0]
        self._n_ready += len(ready)
        if len(ready):
            error = self._error(ready)
            self._peak = np.maximum(self._peak, np.abs(error).max(axis=0))
            self._square += np.square(error).sum(axis=0)
            self._keep_tail(error)
            if self._has_truth(ready):
                off = np.abs(ready[:, self._estimate] - ready[:, self._truth]).max(axis=0)
                self._estimate_peak = np.maximum(self._estimate_peak, off)
        self._reasons.update(rows[:, self._reason].astype(int).tolist())
        self._torque_peak = np.maximum(self._torque_peak, np.abs(rows[:, self._torque]).max(axis=0))
        self._count_pulses(rows)
        for i, step in enumerate(STEPS):
            self._histograms[step].add(rows[:, self._steps][:, i])
        self._histograms["tick"].add(rows[:, self._steps].sum(axis=1))
        self._histograms["wake_up"].add(rows[:, self._delay])

    def result(self) -> dict[str, Any]:
        """Everything by name, with units beside the numbers or in the keys."""
        if self._last is None:
            return {"ticks": 0}
        bed, last = self._bed, self._last
        truth = self._has_truth(last[None, :])
        positions, velocities = coordinates.positions(bed.robot), coordinates.velocities(bed.robot)
        q, u = (last[self._truth], last[self._rates[0]]) if truth else (last[self._estimate], last[self._rates[1]])
        lost, overruns = (int(last[i]) for i in self._counters)
        estimated = zip(positions, self._estimate_peak, strict=True) if truth else ()
        return {
            "ticks": self._n,
            "duration_s": self._n * bed.loop.period_s,
            "measured_against": "truth" if truth else "estimate",
            "tracking_error": self._tracking(),
            "estimation_error": {c.name: {"unit": c.unit, "max": float(x)} for c, x in estimated},
            "torque": {
                motor.joint: {"unit": "N m", "max": float(peak)}
                for motor, peak in zip(bed.devices.motors, self._torque_peak, strict=True)
            },
            "propellant": self._propellant(),
            "guard": {Reason(code).name.lower(): n for code, n in sorted(self._reasons.items())},
            "overruns": overruns,
            "rows_lost": lost,
            "timing": {name: h.result() for name, h in self._histograms.items()},
            "final_state": {c.name: {"value": float(x), "unit": c.unit} for c, x in zip(positions, q, strict=True)},
            "final_rate": {c.name: {"value": float(x), "unit": c.unit} for c, x in zip(velocities, u, strict=True)},
        }

    def _tracking(self) -> dict[str, Any]:
        rms = np.sqrt(self._square / max(self._n_ready, 1))
        tail = np.concatenate(self._tail) if self._tail else np.zeros((1, len(rms)))
        settled = np.abs(tail[-self._n_tail :]).max(axis=0)
        return {
            c.name: {
                "unit": c.unit,
                "max": float(self._peak[i]),
                "rms": float(rms[i]),
                "max_in_last_5_s": float(settled[i]),
            }
            for i, c in enumerate(coordinates.positions(self._bed.robot))
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

    def _has_truth(self, rows: Array) -> bool:
        return not bool(np.isnan(rows[:, self._truth]).any())

    def _error(self, rows: Array) -> Array:
        actual = self._truth if self._has_truth(rows) else self._estimate
        error: Array = rows[:, actual] - rows[:, self._reference]
        return error

    def _keep_tail(self, error: Array) -> None:
        """Keep as many of the newest batches as it takes to cover the last stretch."""
        self._tail.append(error[-self._n_tail :])
        while sum(len(batch) for batch in self._tail[1:]) >= self._n_tail:
            self._tail.pop(0)

    def _count_pulses(self, rows: Array) -> None:
        if not self._impulse.size:
            return
        delivered = rows[:, self._delivered]
        # Truth speaks of the interval before the tick, the expectation of the one after it.
        thrust = delivered if not np.isnan(delivered).any() else rows[:, self._expected]
        self._impulse += thrust.sum(axis=0) * self._bed.loop.period_s
        opened = np.vstack((self._open, rows[:, self._opening] > 0))
        self._pulses += (opened[1:] & ~opened[:-1]).sum(axis=0)
        self._open = opened[-1]
