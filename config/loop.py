"""The fixed-rate loop and the ring to its recorder."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from granite.config.base import NotNegative, Positive, Table
from granite.config.errors import InputError


class LoopTable(Table):
    """The fixed-rate loop and its requests to the operating system."""

    period_s: Annotated[float, Field(ge=1e-5, le=1.0)] = 0.005  #: of the tick
    duration_s: Positive  #: of the run
    #: after an overrun: drop the missed ticks, run them at once, or end the run safely
    overrun: Literal["skip", "catch_up", "stop"] = "skip"
    #: the run ends before a command is written later than this after its tick was due; none: 50 periods
    longest_lateness_s: Positive | None = None
    #: in real time, the actuators are stopped by another thread when no tick ends for this long; none: 50 periods
    watchdog_s: Positive | None = None
    #: how long an actuator may take to confirm its stop
    stop_timeout_s: Positive = 0.5
    #: SCHED_FIFO priority, 0 for none
    priority: Annotated[int, Field(ge=0, le=99)] = 80
    cpu: Annotated[int, Field(ge=0, le=4095)] | None = None  #: CPU that the loop is pinned to; none: any
    lock_memory: bool = True  #: lock the memory of the process (mlockall)
    hold_cpu_awake: bool = True  #: ask the CPU to stay out of deep sleep (/dev/cpu_dma_latency)
    freeze_garbage: bool = True  #: no garbage collection in a run
    #: busy-wait this long before each deadline
    spin_s: NotNegative = 0.0

    @model_validator(mode="after")
    def _times_fit_the_period(self) -> LoopTable:
        if self.duration_s < self.period_s:
            expected = f"at least period_s = {self.period_s}"
            raise InputError(key="duration_s", value=self.duration_s, expected=expected)
        for key, limit in (("longest_lateness_s", self.longest_lateness_s), ("watchdog_s", self.watchdog_s)):
            if limit is not None and limit < 2 * self.period_s:
                raise InputError(key=key, value=limit, expected=f"at least two periods of {self.period_s} s")
        return self

    @property
    def lateness_limit_s(self) -> float:
        """The longest lateness, given or usual [s]."""
        return self.longest_lateness_s or 50 * self.period_s

    @property
    def watchdog_limit_s(self) -> float:
        """The time of the watchdog, given or usual [s]."""
        return self.watchdog_s or 50 * self.period_s


class Recording(Table):
    """The ring between loop and recorder."""

    ring_rows: Annotated[int, Field(ge=16, le=100_000)] = 8192  #: rows that the ring holds for a slow disk
    #: in real time, less free space on the disk of the log is the fault `disk_full`
    least_free_mb: NotNegative = 100.0
