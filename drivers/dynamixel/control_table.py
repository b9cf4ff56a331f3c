"""Registers of the servos of the 430 and 540 series: addresses, models and units (the maker's e-Manual).

In one read of every tick a servo gives all that the driver needs: its indirect addresses collect the registers that
lie apart, in the order of `FEEDBACK`.
"""

from __future__ import annotations

import math
from struct import Struct
from typing import NamedTuple

# In the EEPROM: the identity block begins with the model number.
IDENTITY = 0
_IDENTITY = Struct("<HIBBBBBB")  # model, information, firmware, id, baud rate, return delay, drive mode, operating mode
IDENTITY_BYTES = _IDENTITY.size
CURRENT_LIMIT = 38
# In the RAM.
TORQUE_ENABLE = 64
HARDWARE_ERROR = 70
BUS_WATCHDOG = 98
GOAL_CURRENT = 102
REALTIME_TICK = 120
INDIRECT_ADDRESS = 168
INDIRECT_DATA = 224
_PRESENT = range(126, 136)  # current, velocity, position

#: registers in the read of every tick, byte by byte
FEEDBACK = (TORQUE_ENABLE, HARDWARE_ERROR, BUS_WATCHDOG, REALTIME_TICK, REALTIME_TICK + 1, *_PRESENT)
#: torque enable, hardware error, bus watchdog, realtime tick, current, velocity, position
_FEEDBACK = Struct("<BBbHhii")
FEEDBACK_BYTES = _FEEDBACK.size

CURRENT_MODE = 0
MODES = {0: "current", 1: "velocity", 3: "position", 4: "extended position", 5: "current-based position", 16: "PWM"}
#: of the bus watchdog [s], its greatest value, and the one after it has stopped the servo
WATCHDOG_STEP_S, WATCHDOG_MOST, WATCHDOG_TRIPPED = 0.02, 127, -1
#: of the return delay time [s]
RETURN_DELAY_STEP_S = 2e-6
#: position at the centre, and units
CENTRE = 2048
RAD_PER_COUNT = math.tau / 4096
RAD_S_PER_COUNT = 0.229 * math.tau / 60
#: bits of the hardware error status
ERRORS = {0: "input voltage", 2: "overheating", 3: "motor encoder", 4: "electrical shock", 5: "overload"}


class Model(NamedTuple):
    """A model with current mode."""

    name: str
    ampere_per_count: float


#: by model number
MODELS = {
    **{
        number: Model(name, 2.69e-3)
        for number, name in {
            1000: "XH430-W350",
            1001: "XD430-T350",
            1010: "XH430-W210",
            1011: "XD430-T210",
            1020: "XM430-W350",
            1030: "XM430-W210",
            1100: "XH540-W270",
            1101: "XD540-T270",
            1110: "XH540-W150",
            1111: "XD540-T150",
            1120: "XM540-W270",
            1130: "XM540-W150",
            1140: "XH540-V270",
            1150: "XH540-V150",
            1170: "XW540-T260",
            1180: "XW540-T140",
            1270: "XW430-T333",
        }.items()
    },
    1040: Model("XH430-V350", 1.34e-3),
    1050: Model("XH430-V210", 1.34e-3),
}


class Identity(NamedTuple):
    """What a servo is."""

    model: int
    firmware: int
    return_delay_s: float
    mode: int

    @classmethod
    def unpack(cls, block: bytes) -> Identity:
        """From the registers at `IDENTITY`."""
        model, _, firmware, _, _, delay, _, mode = _IDENTITY.unpack(block)
        return cls(model, firmware, delay * RETURN_DELAY_STEP_S, mode)


class Feedback(NamedTuple):
    """What a servo reports in a tick, in counts."""

    torque_on: int
    error: int
    watchdog: int
    milliseconds: int  #: of its clock, from 0 to 32767
    current: int
    velocity: int
    position: int

    @classmethod
    def unpack(cls, block: bytes) -> Feedback:
        """From the registers of `FEEDBACK`."""
        return cls(*_FEEDBACK.unpack(block))


def errors_of(status: int) -> str:
    """The bits of a hardware error status as words."""
    return ", ".join(ERRORS.get(bit, f"bit {bit}") for bit in range(8) if status >> bit & 1)
