"""CAN FD frames of moteus servos: register writes and reads in one frame, and the answer.

A frame has subframes: kind and type in one byte, with the number of registers in its last two bits or in the byte
behind it; the first register; values. Rates and positions are in turns of the output, torque in N m.
"""

from __future__ import annotations

import math
from struct import Struct, error
from typing import NamedTuple

STOPPED, FAULT, POSITION, TIMEOUT = 0, 1, 10, 11
#: the answer's identifier has the servo in its second byte
REPLY = 0x8000
_MODE, _COMMAND, _FAULT_CODE = 0x000, 0x020, 0x00F
_WRITE_FLOATS, _READ_FLOATS, _REPLY_FLOATS = 0x0C, 0x1C, 0x2C
_WRITE_BYTE, _READ_BYTE, _REPLY_BYTE = 0x01, 0x11, 0x21
_NOTHING = 0x50
#: position, velocity, feedforward torque, scale of kp, of kd, largest torque, stop position, watchdog
_SETPOINT = Struct("<8f")
#: mode, position [turn], velocity [turn/s], torque [N m]
_FEEDBACK = Struct("<4f")
#: lengths that a CAN FD frame may have
_LENGTHS = (*range(9), 12, 16, 20, 24, 32, 48, 64)


class MoteusFeedback(NamedTuple):
    """The state of a servo."""

    mode: int
    position: float  #: [turn]
    velocity: float  #: [turn/s]
    torque: float  #: [N m]
    fault: int  #: code of the maker; 0 is none


def torque_frame(torque: float, watchdog_s: float) -> bytes:
    """Apply a torque alone: position mode without stiffness and damping; then ask for the state."""
    nan = math.nan
    setpoint = _SETPOINT.pack(nan, 0.0, torque, 0.0, 0.0, nan, nan, watchdog_s)
    return _padded(bytes((_WRITE_BYTE, _MODE, POSITION, _WRITE_FLOATS, 8, _COMMAND)) + setpoint + _QUERY)


def stop_frame() -> bytes:
    """Turn the servo off, which clears a fault and a watchdog that has stopped it; then ask for the state."""
    return _padded(bytes((_WRITE_BYTE, _MODE, STOPPED)) + _QUERY)


def query_frame() -> bytes:
    """Ask for the state alone."""
    return _padded(_QUERY)


_QUERY = bytes((_READ_FLOATS, 4, _MODE, _READ_BYTE, _FAULT_CODE))


def feedback_of(content: bytes) -> MoteusFeedback | None:
    """The state in an answer; None if it is none."""
    if len(content) < 3 + _FEEDBACK.size + 3 or content[:3] != bytes((_REPLY_FLOATS, 4, _MODE)):
        return None
    try:
        mode, position, velocity, torque = _FEEDBACK.unpack_from(content, 3)
        kind, register, fault = Struct("<BBb").unpack_from(content, 3 + _FEEDBACK.size)
    except error:
        return None
    is_state = (kind, register) == (_REPLY_BYTE, _FAULT_CODE) and math.isfinite(mode) and mode == round(mode)
    return MoteusFeedback(int(mode), position, velocity, torque, fault) if is_state else None


def _padded(content: bytes) -> bytes:
    length = next(length for length in _LENGTHS if length >= len(content))
    return content.ljust(length, bytes((_NOTHING,)))
