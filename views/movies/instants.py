"""The instants of a film: the numbers that are drawn in each of its frames."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.records import Array
from granite.logs.log import Log
from granite.views.plots.contact_marks import Flags
from granite.views.plots.run import PlottedRun

#: more frames than this take minutes and gigabytes
_MOST_FRAMES = 20_000


class Instants(NamedTuple):
    """One row for each frame."""

    t: Array  #: [s]
    q: Array  #: of all drawn modules; NaN where it is not known
    reference: Array  #: as q of all drawn modules; NaN where there is none
    opening: Array  #: of every thruster, the largest since the frame before
    closed: Flags  #: of every contact


def instants(log: Log, run: PlottedRun, fps: float, speed: float) -> Instants:
    """The frames of a film at `fps` frames a second, `speed` times as fast as the run.

    Raises
    ------
    InputError
        Where they are too many.
    """
    t = log.t
    n = max(2, math.ceil((float(t[-1] - t[0]) + log.bed.loop.period_s) * fps / speed))
    if n > _MOST_FRAMES:
        expected = f"at most {_MOST_FRAMES}, by a greater --speed or a smaller --fps"
        raise InputError(f"the film would have {n} frames", expected=expected)
    shown = np.minimum(t[0] + np.arange(n) * speed / fps, t[-1])
    ticks = np.maximum(np.searchsorted(t, shown + 1e-9, side="right") - 1, 0)
    topic = "/truth" if run.measure == "truth" else "/state"
    wanted = [(topic, "q"), ("/state", "ready"), ("/reference", "q"), ("/truth", "closed")]
    wanted += [("/applied", f"{name}.values") for name in log.bed.devices_of(Thrusters)]
    columns = [np.atleast_1d(np.r_[log.channels.columns(*entry)]) for entry in wanted]
    values = log.columns([int(index) for indices in columns for index in indices])
    ends = np.cumsum([len(indices) for indices in columns])
    q, ready, reference, closed, *openings = np.split(values, ends[:-1], axis=1)
    opening = np.nan_to_num(np.hstack([np.zeros((len(t), 0)), *openings]))
    starts = np.concatenate(([0], ticks[:-1] + 1))
    # A pulse may be shorter than a frame: the largest opening of all ticks since the frame before.
    largest = np.array([opening[min(a, b) : b + 1].max(axis=0) for a, b in zip(starts, ticks, strict=True)])
    is_known = ready[ticks] == 1.0
    referenced = np.zeros((n, q.shape[1]))
    referenced[:, run.referenced] = reference[ticks]
    return Instants(
        shown,
        q[ticks] if run.measure == "truth" else np.where(is_known, q[ticks], np.nan),
        np.where(is_known & bool(run.referenced), referenced, np.nan),
        largest,
        np.isin(closed[ticks], (1.0, 2.0)),
    )
