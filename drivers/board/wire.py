"""Numbers of the wire format, as `docs/wire.md` has them."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct

VERSION = 2
MAX_FRAME = 300
MAX_ENCODED = MAX_FRAME + MAX_FRAME // 254 + 1

#: version, kind, sequence, answers
HEADER = Struct("<BBHH")
CRC = Struct("<I")
MAX_PAYLOAD = MAX_FRAME - HEADER.size - CRC.size
#: name, firmware, serial, channels, layout, watchdog in force, least, greatest [us], time [us]
BOARD = Struct("<16s16s12sB3xIIIIQ")
#: index, kind, name, unit, scale, least and greatest count
CHANNEL = Struct("<BBxx16s8sfii")
#: time, commanded, latched [us], latch number, flags, latch reason, damaged, missed, refused, late [us]
REPORT = Struct("<QIIIBBHHHH")
#: latch number, watchdog [us]
RESET = Struct("<II")
#: refused kind, reason, refused sequence
REFUSAL = Struct("<BBH")

#: valve times are counts of this [s]
VALVE_COUNT_S = 1e-5
#: of the time that a valve was open between two reports [s]
VALVE_RESOLUTION_S = 2 * VALVE_COUNT_S
MAX_VALVE_COUNT = 65535
ARMED, EMERGENCY_STOP, LIMITED = 1, 2, 4


class FrameKind(IntEnum):
    """What a frame is."""

    HELLO = 0x01
    DESCRIBE = 0x02
    COMMAND = 0x03
    RESET = 0x04
    STOP = 0x05
    BOARD = 0x81
    CHANNEL = 0x82
    REPORT = 0x83
    REFUSAL = 0x84
    WORLD_INPUTS = 0x41  #: on the second line of an emulated board
    WORLD_OUTPUTS = 0xC1


class FrameVerdict(IntEnum):
    """Result of the checks of the bytes between two zeros."""

    ACCEPTED = 1
    OVERSIZE = 2
    BAD_COBS = 3
    SHORT = 4
    BAD_CRC = 5
    BAD_VERSION = 6


class Refusal(IntEnum):
    """Why a board refuses a frame."""

    UNKNOWN_KIND = 1
    BAD_LENGTH = 2
    NO_SUCH_CHANNEL = 3
    WRONG_VERSION = 4
    NO_SESSION = 5
    OUT_OF_ORDER = 6
    WRONG_LAYOUT = 7
    OTHER_LATCH = 8
    EMERGENCY_STOP = 9
    NOT_STEADY = 10
    NOT_ACKNOWLEDGED = 11
    NOT_AT_REST = 12
    WATCHDOG_RANGE = 13


class LatchReason(IntEnum):
    """Why a board made its outputs safe."""

    POWER_ON = 1
    WATCHDOG = 2
    EMERGENCY_STOP = 3
    STOP = 4
    HELLO = 5


class ChannelKind(IntEnum):
    """What a channel drives or measures; those below `ENCODER` are actuators."""

    VALVE = 1
    MOTOR = 2
    WHEEL = 3
    GRIP = 4
    ENCODER = 16
    RATE = 17
    GAUGE = 18
    PRESSURE = 19
    GYRO = 20
    ACCELEROMETER = 21
