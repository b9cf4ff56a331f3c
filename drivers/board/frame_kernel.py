"""Frames by the firmware's own C code, `firmware/core/frame.c`; without a compiler those of `frame.py` are used.

COBS goes through a frame byte by byte: in Python that takes a third of the time of an exchange with a board.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from struct import Struct

from granite.config.errors import CompilationError
from granite.drivers.board import frame
from granite.drivers.board.frame import Decoder, WireFrame
from granite.drivers.board.wire import MAX_ENCODED, MAX_PAYLOAD, FrameVerdict
from granite.kernels.c_compiler import find_compiler
from granite.kernels.library import compile_source

_CORE = Path(__file__).parents[2] / "firmware" / "core"
#: each after those that it needs
_FILES = ("wire.h", "bytes.h", "cobs.h", "crc32.h", "frame.h", "cobs.c", "crc32.c", "frame.c")
#: verdict, is within frame, version, kind, sequence, answers, bytes of the payload that follows: `struct taken`
_TAKEN = Struct("<7H")
_PAYLOAD_AT = _TAKEN.size
_INCOMPLETE, _ACCEPTED = 0, int(FrameVerdict.ACCEPTED)
_WHOLE = (_ACCEPTED, int(FrameVerdict.BAD_VERSION))
_SIZE, _INT, _POINTER, _BYTES = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
# New memory for each call: the thread that stops a board may come between the calls of the loop.
_Taken = ctypes.c_char * (_PAYLOAD_AT + MAX_PAYLOAD)
_Sent = ctypes.c_char * (MAX_ENCODED + 2)

#: kind, sequence, answers, payload
Encode = Callable[[int, int, int, bytes], bytes]


class FrameKernel:
    """The functions of the library. Python's lock is kept in each call, so that no thread sees half a change."""

    def __init__(self) -> None:
        core = "\n".join((_CORE / file).read_text() for file in _FILES)
        source = re.sub(r'^#include ".*"$', "", core, flags=re.MULTILINE)
        compiled = compile_source("frames", source + Path(__file__).with_name("frames.c").read_text())
        library = ctypes.PyDLL(compiled._name)
        self.take, self._encode = library.take_frame, library.encode_frame
        self.take.restype, self.take.argtypes = _SIZE, [_POINTER, _BYTES, _SIZE, _Taken]
        self._encode.restype, self._encode.argtypes = _SIZE, [_INT, _INT, _INT, _BYTES, _SIZE, _Sent]
        library.sizeof_decoder.restype = _SIZE
        self.decoder_bytes = int(library.sizeof_decoder())

    def encode(self, kind: int, sequence: int, answers: int, payload: bytes = b"") -> bytes:
        """As `frame.encode`."""
        frame.refuse_long(payload)
        out = _Sent()
        n = self._encode(kind, sequence, answers, payload, len(payload), out)
        return out.raw[:n]


class CompiledDecoder(Decoder):
    """Finds the frames in a stream of bytes, as `Decoder` does."""

    def __init__(self, kernel: FrameKernel) -> None:
        super().__init__()
        self._take, self._state = kernel.take, ctypes.create_string_buffer(kernel.decoder_bytes)

    def feed(self, received: bytes) -> list[WireFrame]:
        """The frames that these bytes complete."""
        frames: list[WireFrame] = []
        taken = _Taken()
        while received:
            n = self._take(self._state, received, len(received), taken)
            verdict, is_within, version, kind, sequence, answers, size = _TAKEN.unpack_from(taken)
            self.is_within_frame = is_within == 1
            received = received[n:]
            if verdict == _INCOMPLETE:
                continue
            self.count[verdict] += 1
            if verdict == _ACCEPTED:
                frames.append(WireFrame(kind, sequence, answers, taken.raw[_PAYLOAD_AT : _PAYLOAD_AT + size]))
            if verdict in _WHOLE:
                self.version = version
        return frames


def frame_coding() -> tuple[Encode, Decoder]:
    """How frames are encoded, and a new decoder: compiled on first use, or in Python without a compiler."""
    kernel = _kernel(find_compiler())
    return (frame.encode, Decoder()) if kernel is None else (kernel.encode, CompiledDecoder(kernel))


@cache
def _kernel(compiler: str | None) -> FrameKernel | None:
    if compiler is None:
        return None
    try:
        return FrameKernel()
    except CompilationError:  # no disk has room for it
        return None
