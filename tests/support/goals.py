"""Runs on demand: requests for goals, and what became of them."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np

from granite.config.loader import from_json, to_json
from granite.config.records import Array
from granite.config.run_modes import Request, RequestKind
from granite.logs.log import Log
from granite.rt.run_in_memory import logged
from tests.support.scripted_operator import ScriptedRun, scripted

ON_DEMAND = "behaviour={kind='on_demand'}"
#: coordinates of the free-flyer
NAMES = ("base_x", "base_y", "base_heading", "shoulder", "elbow")
N = len(NAMES)


def go(duration: float, sender: int = 1, **target: float) -> Request:
    """To a pose of the free-flyer."""
    return Request(RequestKind.GO, sender, 0, duration, numbers=tuple(target.get(name, nan) for name in NAMES))


def jog(sender: int = 1, **rates: float) -> Request:
    """Rates of the free-flyer."""
    return Request(RequestKind.JOG, sender, numbers=tuple(rates.get(name, 0.0) for name in NAMES))


def knots(times: Array, q: Array, lead: float = 4.0) -> list[Request]:
    """A path through poses at rest in each, and the request to follow it."""
    still = (0.0,) * (2 * N)
    requests = [
        Request(RequestKind.KNOT, 1, i, float(t), numbers=(*map(float, pose), *still))
        for i, (t, pose) in enumerate(zip(times, q, strict=True))
    ]
    return [*requests, Request(RequestKind.FOLLOW, 1, len(times), lead)]


def demanded(requests: Any, *changes: str, **more: Any) -> ScriptedRun:
    """A run of the free-flyer on demand."""
    return scripted(requests, ON_DEMAND, *changes, **more)


def log_of(done: ScriptedRun) -> Log:
    """The log of a run in memory."""
    return logged(from_json(to_json(done.run.bed)), done.run, done.rows, done.outcome)


def jumps(done: ScriptedRun) -> tuple[float, float]:
    """Of the reference between two ticks of one mode: change of q and of u that their rates do not explain."""
    q, u, a = (done.entry("/reference", name) for name in ("q", "u", "a"))
    h = done.run.bed.loop.period_s
    mode = done.column("/operation", "mode")
    same = (mode[1:] == mode[:-1]) & (done.column("/state", "ready")[:-1] > 0)
    by_rate = np.abs(np.diff(q, axis=0) - h * (u[1:] + u[:-1]) / 2)[same].max()
    by_acceleration = np.abs(np.diff(u, axis=0) - h * (a[1:] + a[:-1]) / 2)[same].max()
    return float(by_rate), float(by_acceleration)
