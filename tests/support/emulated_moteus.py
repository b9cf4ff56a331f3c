"""moteus servos behind an fdcanusb of a few lines; registers are decoded without the code of the driver."""

from __future__ import annotations

import math
import struct

_TYPES = {0: "b", 1: "<h", 2: "<i", 3: "<f"}


def registers_of(content: bytes) -> tuple[dict[int, float], list[tuple[int, int, int]]]:
    """Values that a frame writes, by register; and what it reads: type, number and first register."""
    written, read, at = {}, [], 0
    while at < len(content):
        kind = content[at]
        at += 1
        if kind == 0x50 or kind >= 0x20:
            continue
        type_, count = kind >> 2 & 3, kind & 3
        if not count:
            count, at = content[at], at + 1
        first, at = content[at], at + 1
        if kind >= 0x10:
            read.append((type_, count, first))
            continue
        size = struct.calcsize(_TYPES[type_])
        for i in range(count):
            (written[first + i],) = struct.unpack_from(_TYPES[type_], content, at)
            at += size
    return written, read


class EmulatedMoteus:
    """One servo: it applies the torque of its newest frame while it is in position mode."""

    def __init__(self, id: int) -> None:
        self.id, self.is_silent, self.heard = id, False, 0
        self.registers: dict[int, float] = {0: 0, 1: 0.25, 2: -0.5, 3: 0.0, 15: 0}

    def obey(self, content: bytes) -> bytes:
        """The answer."""
        written, read = registers_of(content)
        self.heard += 1
        if written.get(0) == 0:
            self.registers[0] = 0
        elif written.get(0) == 10 and self.registers[0] in (0, 10):  # a fault or its watchdog needs a stop first
            self.registers[0] = 10
            self.registers |= {0x22: written[0x22], 0x27: written[0x27]}
            assert (written[0x23], written[0x24]) == (0.0, 0.0)
            assert math.isnan(written[0x20])
        self.registers[3] = self.registers.get(0x22, 0.0) if self.registers[0] == 10 else 0.0
        answer = b""
        for type_, count, first in read:
            answer += bytes((0x20 | type_ << 2 | (count if count < 4 else 0), *([count] if count > 3 else []), first))
            for register in range(first, first + count):
                value = self.registers[register]
                answer += struct.pack(_TYPES[type_], value if type_ == 3 else int(value))
        return answer.ljust(24 if len(answer) <= 24 else 32, b"\x50")


class EmulatedFdcanusb:
    """Answers lines as the adapter does."""

    def __init__(self, *servos: EmulatedMoteus) -> None:
        self.servos = {servo.id: servo for servo in servos}
        self.is_late = False  #: answers come with the next request
        self.lost = 0  #: so many answers to come get lost
        self.sender = 0  #: of the newest request
        self.copies = 1  #: of each answer
        self._held: dict[int, bytes] = {}

    def __call__(self, line: bytes) -> bytes:
        if not line.startswith(b"can send "):
            return b"" if not line else b"ERR unknown command\n"
        _, _, identifier, content, *_ = line.split()
        node = int(identifier, 16)
        answer, servo, self.sender = b"OK\n", self.servos.get(node & 0x7F), node >> 8 & 0x7F
        if servo is not None and not servo.is_silent:
            reply = servo.obey(bytes.fromhex(content.decode()))
            if node & 0x8000:
                now = b"rcv %x %s E B F\n" % (servo.id << 8 | self.sender, reply.hex().encode())
                if self.lost:
                    self.lost, now = self.lost - 1, b""
                answer += self.copies * (self._held.pop(servo.id, b"") if self.is_late else now)
                self._held[servo.id] = now
        return answer
