"""The numbers of a log as they are drawn: what was really so where that is known, NaN where nothing is."""

from __future__ import annotations

import numpy as np

from config.records import Array
from rt.log import Log

#: a number beyond this is a fault, and must not blow up the axes
_LARGEST = 1e6


class Run:
    """Time series of a log, one row per tick."""

    def __init__(self, log: Log) -> None:
        rows = np.where(np.abs(log.rows) < _LARGEST, log.rows, np.nan)

        def series(topic: str, entry: str) -> Array:
            values: Array = rows[:, log.channels.place(topic, entry)]
            return values

        self.bed, self.events = log.bed, log.events
        #: what ended the run before its time
        self.stop = next((str(event["name"]) for event in log.events if event["level"] == "error"), "")
        self.t = series("/timing", "scheduled")
        self.end = float(self.t[-1]) + log.bed.loop.period_s
        ready = series("/state", "ready")[:, None] == 1.0
        truth, estimate = series("/truth", "q"), series("/state", "q")
        #: what is drawn as the robot's motion
        self.measure = "estimate" if np.isnan(truth).all() else "truth"
        self.q = truth if self.measure == "truth" else np.where(ready, estimate, np.nan)
        self.reference = np.where(ready, series("/reference", "q"), np.nan)
        self.torque = series("/applied", "torque")
        self.opening = np.nan_to_num(series("/applied", "opening"))
        self.step_times = np.nan_to_num(series("/timing", "steps"))  #: [s]
        self.tick_time = self.step_times.sum(axis=1)  #: [s]
        self.thrusters = log.bed.devices.thrusters.units if log.bed.devices.thrusters else ()
