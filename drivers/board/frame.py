"""Frames: encoded to bytes, and found in a stream of bytes."""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from granite.drivers.board import cobs
from granite.drivers.board.wire import CRC, HEADER, MAX_ENCODED, MAX_FRAME, MAX_PAYLOAD, VERSION, FrameVerdict

_SHORTEST = HEADER.size + CRC.size
_HEADER_BYTES = HEADER.size
_ACCEPTED = FrameVerdict.ACCEPTED
#: CRC-32 of any bytes that are followed by their own CRC-32
_RESIDUE = 0x2144DF1C


class WireFrame(NamedTuple):
    """A frame that passed all checks."""

    kind: int
    sequence: int
    answers: int
    payload: bytes


def encode(kind: int, sequence: int, answers: int, payload: bytes = b"", version: int = VERSION) -> bytes:
    """The bytes of a frame, with the zeros before and after it.

    Raises
    ------
    ValueError
        Where the payload is longer than that of any frame: no receiver would accept it.
    """
    refuse_long(payload)
    raw = HEADER.pack(version, kind, sequence, answers) + payload
    return b"\0" + cobs.encode(raw + CRC.pack(crc32(raw))) + b"\0"


def refuse_long(payload: bytes) -> None:
    """Raise a `ValueError` where no frame can have so long a payload."""
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"the payload of a frame has at most {MAX_PAYLOAD} bytes, not {len(payload)}")


def judge(encoded: bytes) -> tuple[FrameVerdict, bytes]:
    """The verdict on the bytes between two zeros, and the frame without its CRC if that is right."""
    if len(encoded) > MAX_ENCODED:
        return FrameVerdict.OVERSIZE, b""
    raw = cobs.decode(encoded)
    if raw is None:
        return FrameVerdict.BAD_COBS, b""
    if len(raw) < _SHORTEST:
        return FrameVerdict.SHORT, b""
    if len(raw) > MAX_FRAME:
        return FrameVerdict.OVERSIZE, b""
    if crc32(raw) != _RESIDUE:
        return FrameVerdict.BAD_CRC, b""
    return (_ACCEPTED if raw[0] == VERSION else FrameVerdict.BAD_VERSION), raw[:-4]


class Decoder:
    """Finds the frames in a stream of bytes that may arrive in any pieces.

    Attributes
    ----------
    count : list[int]
        Frames so far by the result of their checks, at the index of the `Verdict`.
    version : int
        Wire version of the newest whole frame; 0 before the first.
    is_within_frame : bool
        The bytes so far end inside a frame.
    """

    def __init__(self) -> None:
        self.count = [0] * (max(FrameVerdict) + 1)
        self.version = 0
        self.is_within_frame = False
        self._rest = b""

    def feed(self, received: bytes) -> list[WireFrame]:
        """The frames that these bytes complete."""
        *whole, rest = (self._rest + received).split(b"\0")
        self._rest = rest[: MAX_ENCODED + 1]  # one byte too many is enough to know that it is too long
        self.is_within_frame = bool(rest)
        frames: list[WireFrame] = []
        for encoded in whole:
            if not encoded:
                continue
            verdict, content = judge(encoded)
            self.count[verdict] += 1
            if content:
                self.version = content[0]
            if verdict is _ACCEPTED:
                _, kind, sequence, answers = HEADER.unpack_from(content)
                frames.append(WireFrame(kind, sequence, answers, content[_HEADER_BYTES:]))
        return frames
