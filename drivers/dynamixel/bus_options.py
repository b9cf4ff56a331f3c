"""How a bus of servos is reached, and when its servos stop without the host."""

from __future__ import annotations

import math

from granite.config.base import Positive
from granite.config.errors import InputError
from granite.drivers.board.port import Baud
from granite.drivers.dynamixel.control_table import WATCHDOG_MOST, WATCHDOG_STEP_S
from granite.drivers.shared_link import LinkTable


class BusOptions(LinkTable):
    """Keys that all devices on a bus have in common."""

    baud: Baud = 1_000_000  #: bits a second
    #: without a packet for this long, a servo stops; in steps of 20 ms
    watchdog_s: Positive = 0.04
    #: all servos answer in one packet (fast sync read): fewer bytes, and one return delay; their firmware must have it
    fast_read: bool = False

    def watchdog_steps(self, period_s: float) -> int:
        """The value of the servos' register; `InputError` where the time can't be set, or is shorter than two ticks."""
        steps = round(self.watchdog_s / WATCHDOG_STEP_S)
        least = max(1, math.ceil(2 * period_s / WATCHDOG_STEP_S - 1e-9))
        if abs(steps * WATCHDOG_STEP_S - self.watchdog_s) > 1e-6 or not least <= steps <= WATCHDOG_MOST:
            low, high = least * WATCHDOG_STEP_S, WATCHDOG_MOST * WATCHDOG_STEP_S
            expected = f"a multiple of {WATCHDOG_STEP_S:g} from {low:g} (two ticks) to {high:g}"
            raise InputError(key="watchdog_s", value=self.watchdog_s, expected=expected)
        return steps
