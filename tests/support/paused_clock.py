"""A virtual clock whose process is paused, as by SIGSTOP or a suspended machine."""

from granite.rt.loop.clock import VirtualClock


class PausedClock(VirtualClock):
    """Time goes on in a pause; a deadline that has passed is not waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._next_pause = 0.0

    def pause(self, seconds: float) -> None:
        """The process pauses now."""
        self._now += seconds

    def pause_next_wait(self, seconds: float) -> None:
        """The process pauses while it waits for its next deadline."""
        self._next_pause = seconds

    def wait_until(self, deadline: float) -> float:
        """The deadline is now, or has passed."""
        self._now = max(self._now, deadline) + self._next_pause
        self._next_pause = 0.0
        return self._now - deadline
