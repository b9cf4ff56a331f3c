"""The start of a session: the board describes itself, and is refused if it is not the one that was configured."""

from __future__ import annotations

import select
import time
from typing import Literal

from granite.config.base import NotNegative, Positive
from granite.config.errors import InputError
from granite.drivers.board.description import BoardIdentity, Channel, Description
from granite.drivers.board.numbered_line import NumberedLine
from granite.drivers.board.port import Baud
from granite.drivers.board.wire import BOARD, CHANNEL, VERSION, FrameKind, FrameVerdict
from granite.drivers.shared_link import LinkTable

#: firmware that this host was tested with
FIRMWARE = "1."
_ANSWER_S, _TRIES = 0.3, 5


class LinkOptions(LinkTable):
    """How a board is reached, and what it must be."""

    baud: Baud = 2_000_000  #: bits a second
    #: name in the board's own description
    board: str
    #: its version begins with this
    firmware: str = FIRMWARE
    #: without commands for this long, the board makes its outputs safe
    watchdog_s: Positive = 0.02
    #: a port that went away: stay without it, or open it again if the same board answers there; never armed by itself
    replug: Literal["stay_away", "reconnect"] = "stay_away"
    #: between two attempts
    retry_s: NotNegative = 0.5


def describe(line: NumberedLine, options: LinkOptions, period_s: float) -> Description:
    """The board's description; blocks until it is complete.

    Raises
    ------
    InputError
        Where board, firmware, rate or watchdog time is wrong, a channel has no usable range, or nothing answers.
    """
    identity = BoardIdentity.unpack(_ask(line, options, FrameKind.HELLO, b"", FrameKind.BOARD, BOARD.size))
    _refuse_wrong(identity, options, period_s)
    channels = [
        Channel.unpack(_ask(line, options, FrameKind.DESCRIBE, bytes([i]), FrameKind.CHANNEL, CHANNEL.size))
        for i in range(identity.channels)
    ]
    description = Description(identity, tuple(channels))
    description.refuse_unusable()
    description.refuse_slow_line(options.baud, period_s)
    return description


def _ask(
    line: NumberedLine, options: LinkOptions, kind: FrameKind, payload: bytes, answer: FrameKind, size: int
) -> bytes:
    """Send a frame and wait for its answer, several times."""
    try:
        for _ in range(_TRIES):
            if not line.transmit(0.0, kind, payload):
                raise InputError("it does not take any bytes", key="port", value=options.port)
            deadline = time.monotonic() + _ANSWER_S
            while (left := deadline - time.monotonic()) > 0 and select.select([line.port], [], [], left)[0]:
                for frame in line.receive():
                    if frame.answers == line.sequence and frame.kind == answer and len(frame.payload) == size:
                        line.heard = frame.sequence
                        return frame.payload
    except OSError as error:
        raise InputError(f"the port went away: {error}", key="port", value=options.port) from error
    raise _no_answer(line, options)


def _no_answer(line: NumberedLine, options: LinkOptions) -> InputError:
    """Why there was no answer, as far as the received bytes tell."""
    count = line.decoder.count
    if count[FrameVerdict.BAD_VERSION]:
        problem = f"the board there speaks wire version {line.decoder.version}"
        return InputError(problem, key="port", value=options.port, expected=f"firmware of wire version {VERSION}")
    if any(count) or line.decoder.is_within_frame:
        problem = "something answers there, but no frame of it is whole"
        return InputError(problem, key="port", value=options.port, expected=f"a board at {options.baud} baud")
    problem = f"nothing answers there at {options.baud} baud"
    return InputError(problem, key="port", value=options.port, expected=f"board '{options.board}'")


def _refuse_wrong(identity: BoardIdentity, options: LinkOptions, period_s: float) -> None:
    if identity.name != options.board:
        problem = f"board '{identity.name}' answers on {options.port}"
        raise InputError(problem, key="board", value=options.board, expected="the board of this name there")
    if not identity.firmware.startswith(options.firmware):
        problem = f"board '{identity.name}' has firmware {identity.firmware}"
        raise InputError(problem, key="firmware", value=options.firmware, expected="a board with this version")
    least, greatest = (us * 1e-6 for us in (identity.watchdog_least_us, identity.watchdog_greatest_us))
    least = max(least, 2 * period_s)
    if not least <= options.watchdog_s <= greatest:
        expected = f"{least:g} (two ticks, or the board's limit) to {greatest:g}"
        raise InputError(key="watchdog_s", value=options.watchdog_s, expected=expected)
