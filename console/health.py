"""The health of a run: devices with status and age, links, the steps of a tick, lateness, lost rows and tank."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.reasons import Reason
from granite.config.records import Array, Status, Verdict
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import sentence, subjects
from granite.logs.channels import Channels
from granite.logs.link_trouble import TROUBLE

#: counters of a link come once a second: without news or frames for this long it is silent [s]
_SILENT_S = 2.5


class Health:
    """Looks at the last seconds of rows."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        column = channels.column
        self._t, self._delay = column("/sample", "t_s"), column("/timing", "delay_s")
        self._lost, self._overruns = column("/timing", "lost"), column("/timing", "overruns")
        steps = channels.columns("/timing", "steps")
        assert isinstance(steps, slice)
        self._steps = steps
        first = channels.topic("/timing").start
        self._names = [value.name for _, value in channels.topic("/timing").values][steps.start - first :][
            : steps.stop - steps.start
        ]
        devices = [("/sample", name) for name in bed.sensors] + [("/applied", name) for name in bed.actuators]
        self._devices = [
            (name, *(column(topic, f"{name}_{what}") for what in ("t_s", "number", "status")))
            for topic, name in devices
        ]
        self._reports = set(bed.sensors)
        tanks = [name for name, device in bed.devices_of(Thrusters).items() if device.simulated.tank_n_s]
        self._tanks = [(name, column("/truth", f"{name}_tank_n_s")) for name in tanks]
        self._period = bed.loop.period_s
        self._verdict = [column("/verdict", key) for key in ("reason", "subject", "value", "limit", "stop")]
        self._subjects = subjects(bed)

    def of(self, rows: Array) -> dict[str, Any]:
        """What a page shows; durations in microseconds, ages in milliseconds."""
        last, late = rows[-1], 1e6 * np.nan_to_num(rows[:, self._delay])
        steps = 1e6 * np.nan_to_num(rows[:, self._steps])  # the last one of a tick is known in the next row
        whole = steps.sum(axis=1)
        return {
            "devices": [
                {
                    "name": name,
                    "sensor": name in self._reports,
                    "status": _status(last[status]),
                    "age_ms": _number(1e3 * (last[self._t] - last[t]), 1),
                    "frames": int(_number(last[number]) or 0),
                }
                for name, t, number, status in self._devices
            ],
            "steps": [
                {"name": name, "median_us": round(median, 1), "p99_us": round(p99, 1)}
                for name, (median, p99) in zip(
                    self._names, np.percentile(steps, [50, 99], axis=0).T.tolist(), strict=True
                )
            ],
            "guard": self._guard(last),
            "tick_us": [round(float(value), 1) for value in np.percentile(whole, [50, 99])],
            "late_us": [round(float(value), 1) for value in np.percentile(late, [50, 99])],
            "period_us": 1e6 * self._period,
            "overruns": int(last[self._overruns]),
            "lost": int(last[self._lost]),
            "tanks": {name: _number(last[column], 2) for name, column in self._tanks},
        }

    def _guard(self, row: Array) -> str:
        """Why the guard changed the command of a row, with subject, value and limit."""
        reason, subject, value, limit, stop = row[self._verdict].tolist()
        if math.isnan(reason):
            return "unknown"
        verdict = Verdict(0.0, None, Reason(int(reason)), int(subject), value, limit, bool(stop))  # type: ignore[arg-type]
        return "passed" if verdict.reason is Reason.PASSED else sentence(self._subjects, verdict)


class LinkHealth:
    """The counters of a link to real devices, as the live view sends them."""

    def __init__(self) -> None:
        self._newest: dict[str, Any] = {}
        #: frames a second between the newest two, and when one came last by `time.monotonic`
        self._rate, self._heard_at = 0.0, time.monotonic()

    def note(self, numbers: dict[str, Any]) -> None:
        """The next ones."""
        before, self._newest = self._newest or {**numbers, "received": 0}, numbers
        frames, time_between = numbers["received"] - before["received"], numbers["t_s"] - before["t_s"]
        self._rate = frames / time_between if time_between > 0 else 0.0
        if frames > 0:
            self._heard_at = time.monotonic()

    def shown(self) -> dict[str, Any]:
        """What a page shows."""
        age = time.monotonic() - self._heard_at
        return {
            "status": "ok" if age < _SILENT_S else "silent",
            "age_s": round(age, 1),
            "rate": round(self._rate),
            "trouble": {key: self._newest[key] for key in TROUBLE if self._newest.get(key)},
        }


def _status(value: float) -> str:
    try:
        return Status(int(value)).name.lower().replace("_", " ")
    except ValueError:
        return "unknown"


def _number(value: float, digits: int = 0) -> float | None:
    """For JSON, which has no NaN."""
    return round(float(value), digits) if np.isfinite(value) else None
