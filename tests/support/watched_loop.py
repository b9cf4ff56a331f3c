"""A short run of the free-flyer whose clock is slow and whose devices fail where a test wants it."""

import numpy as np

from granite.config.loader import load
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

PERIOD = 0.005


class SlowClock(VirtualClock):
    """Time in which chosen ticks take longer than their period."""

    def __init__(self, slow: dict[int, float]) -> None:
        super().__init__()
        self._slow = slow
        self.deadlines: list[float] = []

    def wait_until(self, deadline: float) -> float:
        delay = max(self._now - deadline, 0.0)
        self._now = max(self._now, deadline)
        self.deadlines.append(deadline)
        self._now += self._slow.get(round(deadline / PERIOD), 0.001)
        return delay


class WatchedDevices:
    """A device set that notes its stops and can be made to fail."""

    def __init__(self, devices, fail_at: float = np.inf, error: BaseException | None = None, do=None) -> None:
        self._devices, self._fail_at, self._error, self._do = devices, fail_at, error, do
        self.stops = 0
        self.last = None

    def read(self, t, delay):
        if t >= self._fail_at:
            if self._do:
                self._do()
            else:
                raise self._error
        return self._devices.read(t, delay)

    def write(self, t, command):
        self.last = self._devices.write(t, command)
        return self.last

    def stop(self, t, paced=False):
        self.stops += 1
        return self._devices.stop(t, paced)

    def __getattr__(self, name):
        return getattr(self._devices, name)


def is_at_rest(whole: Run) -> bool:
    """Whether the plant gets neither torque nor thrust from now on."""
    (motors,), (thrusters,) = whole.lab.plant.torque_sources, whole.lab.plant.thrust_sources
    return not motors.torque.any() and not thrusters.thrust(100, 101).any()


def run(*changes: str, clock=None, ticks: int = 100, **watch):
    bed = load("free-flyer/clean", (f"loop.duration_s={ticks * PERIOD}", *changes))
    whole = Run(bed)
    memory = Memory(whole.channels, whole.ticks)
    whole.devices = devices = WatchedDevices(whole.devices, **watch)
    outcome = whole.execute(clock or VirtualClock(), memory)
    return outcome, memory.rows, whole.channels, devices, is_at_rest(whole)
