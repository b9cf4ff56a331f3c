"""Random and mutated frames through the decoders of the board (C) and of the host (Python, compiled), which must agree.

python -m tests.firmware.frame_storm 10000000
"""

from __future__ import annotations

import ctypes
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from random import Random
from unittest import mock

from granite.drivers.board import cobs, frame
from granite.drivers.board.frame import Decoder, encode
from granite.drivers.board.frame_kernel import CompiledDecoder, FrameKernel
from granite.drivers.board.wire import CRC, HEADER, MAX_PAYLOAD, VERSION, FrameVerdict
from tests.firmware.emulated import BUILD, build

_BATCH = 500


def flip_bits(f: bytes, random: Random) -> bytes:
    changed = bytearray(f)
    for _ in range(random.randint(1, 3)):
        changed[random.randrange(len(f))] ^= 1 << random.randrange(8)
    return bytes(changed)


def replace_byte(f: bytes, random: Random) -> bytes:
    i = random.randrange(len(f))
    return f[:i] + random.randbytes(1) + f[i + 1 :]


def lose_byte(f: bytes, random: Random) -> bytes:
    i = random.randrange(len(f))
    return f[:i] + f[i + 1 :]


def insert_bytes(f: bytes, random: Random) -> bytes:
    i = random.randrange(len(f))
    return f[:i] + random.randbytes(random.randint(1, 5)) + f[i:]


def lose_end(f: bytes, random: Random) -> bytes:
    return f[: random.randrange(len(f))]


def lose_begin(f: bytes, random: Random) -> bytes:
    return f[random.randrange(len(f)) :]


def burst(f: bytes, random: Random) -> bytes:
    i, n = random.randrange(len(f)), random.randint(1, 32)
    return f[:i] + random.randbytes(n) + f[i + n :]


def lose_zeros(f: bytes, random: Random) -> bytes:
    return f.strip(b"\0")


def swap_parts(f: bytes, random: Random) -> bytes:
    i = random.randrange(len(f))
    return f[i:] + f[:i]


def repeat(f: bytes, random: Random) -> bytes:
    return f + f


def noise(f: bytes, random: Random) -> bytes:
    return random.randbytes(random.randint(1, 400))


def long_noise(f: bytes, random: Random) -> bytes:
    return random.randbytes(random.randint(290, 700)).replace(b"\0", b"\1")


def wrong_inside(f: bytes, random: Random) -> bytes:
    """COBS is right, the content is not: what only the CRC notices."""
    raw = bytearray(cobs.decode(f.strip(b"\0")) or b"\0")
    raw[random.randrange(len(raw))] ^= 1 << random.randrange(8)
    return b"\0" + cobs.encode(bytes(raw)) + b"\0"


def other_version(f: bytes, random: Random) -> bytes:
    return encode(3, 1, 2, random.randbytes(20), version=random.choice([0, VERSION + 1, 255]))


def too_long(f: bytes, random: Random) -> bytes:
    """Right but for its length, which `encode` refuses."""
    raw = HEADER.pack(VERSION, 3, 1, 2) + random.randbytes(random.randint(MAX_PAYLOAD + 1, MAX_PAYLOAD + 20))
    return b"\0" + cobs.encode(raw + CRC.pack(zlib.crc32(raw))) + b"\0"


MUTATIONS: list[Callable[[bytes, Random], bytes]] = [
    flip_bits, replace_byte, lose_byte, insert_bytes, lose_end, lose_begin, burst, lose_zeros, swap_parts, repeat,
    noise, long_noise, wrong_inside, other_version, too_long,
]  # fmt: skip


def payload(random: Random) -> bytes:
    """As a command or report has it, or of any size and many zeros, or without any."""
    n = random.choice((0, 1, 4, 8, 52, 108, random.randint(0, MAX_PAYLOAD)))
    style = random.randrange(4)
    if style == 0:
        return bytes(n)
    if style == 1:
        return bytes([random.randint(1, 255)]) * n
    made = random.randbytes(n)
    return made.replace(b"\0", b"\7") if style == 2 else made


class BoardDecoder:
    """The board's decoder, in blocks."""

    def __init__(self) -> None:
        build("host")
        self._decode = ctypes.CDLL(str(BUILD / "libgranite-board.so")).decode_block
        self._decode.restype = ctypes.c_size_t
        self._state = ctypes.create_string_buffer(4096)

    def feed(self, stream: bytes) -> list[tuple[int, int]]:
        """FrameVerdict of each frame, and CRC of its content if it was accepted."""
        room = len(stream) // 2 + 1
        verdicts, contents = (ctypes.c_uint8 * room)(), (ctypes.c_uint32 * room)()
        n = self._decode(self._state, stream, ctypes.c_size_t(len(stream)), verdicts, contents)
        return list(zip(verdicts[:n], contents[:n], strict=True))


def storm(number: int, seed: int) -> Counter[str]:
    """So many frames, of which a third is intact; the tally of verdicts. Raises where the two decoders differ."""
    random, board, host, compiled = Random(seed), BoardDecoder(), Decoder(), CompiledDecoder(FrameKernel())
    tally: Counter[str] = Counter()
    seen: list[tuple[FrameVerdict, bytes]] = []
    originals: set[bytes] = set()
    judge = frame.judge

    def judged(encoded: bytes) -> tuple[FrameVerdict, bytes]:
        seen.append(judge(encoded))
        return seen[-1]

    with mock.patch.object(frame, "judge", judged):
        for first in range(0, number, _BATCH):
            before, originals = originals, set()
            intact, parts = [], []
            for _ in range(min(_BATCH, number - first)):
                header = random.choice((1, 3, 0x83)), random.getrandbits(16), random.getrandbits(16)
                content = payload(random)
                made = encode(*header, content)
                raw = HEADER.pack(VERSION, *header) + content
                originals.add(raw)
                if random.random() < 0.33:
                    intact.append(raw)
                    parts.append(made)
                else:
                    parts.append(random.choice(MUTATIONS)(made, random))
            stream = b"".join(parts)
            seen.clear()
            i = 0
            while i < len(stream):
                n = random.randint(1, 4000)
                assert compiled.feed(stream[i : i + n]) == host.feed(stream[i : i + n]), "the host's decoders differ"
                i += n
            _compare(seen, board.feed(stream))
            assert (compiled.count, compiled.version) == (host.count, host.version), "the host's decoders differ"
            accepted = [content for verdict, content in seen if verdict is FrameVerdict.ACCEPTED]
            # A frame without its last zero is whole when the next batch begins.
            assert (originals | before).issuperset(accepted), "a frame was accepted that nobody sent"
            rest = iter(accepted)
            assert all(raw in rest for raw in intact), "a whole frame after a damaged one was lost"
            tally.update(verdict.name.lower() for verdict, _ in seen)
            tally.update(frames=len(parts), intact=len(intact))
    return tally


def _compare(host: list[tuple[FrameVerdict, bytes]], board: list[tuple[int, int]]) -> None:
    ours = [(int(v), zlib.crc32(content[1:]) if v is FrameVerdict.ACCEPTED else 0) for v, content in host]
    assert ours == board, "the decoders differ"


if __name__ == "__main__":
    total = int(sys.argv[1])
    for verdict, count in sorted(storm(total, seed=2026).items()):
        print(f"{verdict:12s} {count}")
