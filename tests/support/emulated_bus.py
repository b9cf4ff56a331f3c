"""Servos on a pseudo-terminal: registers, instructions of protocol 2.0, hardware errors, silence and damaged bytes.

It reads and writes packets by itself; check sums and byte stuffing are the SDK's. Time passes by `advance` only.
"""

from __future__ import annotations

import os
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dynamixel_sdk import Protocol2PacketHandler

PING, READ, WRITE, STATUS, SYNC_READ, SYNC_WRITE, FAST_SYNC_READ = 1, 2, 3, 0x55, 0x82, 0x83, 0x8A
BROADCAST = 254
_END = b"end!"
SDK = Protocol2PacketHandler()


class EmulatedServo:
    """One servo, by default an XM430-W350 in current mode."""

    def __init__(self, id: int, model: int = 1020, mode: int = 0, return_delay: int = 0) -> None:
        self.registers = bytearray(300)
        self.id = id
        self.is_silent = False
        self.lost = 0  #: so many writes of torque enable to come never arrive
        self.put(0, model, 2)
        self.put(6, 46, 1)
        self.put(7, id, 1)
        self.put(9, return_delay, 1)
        self.put(11, mode, 1)
        self.put(38, 1193, 2)
        self.put(132, 2048, 4)
        self.silence_s = 0.0
        self.clock = time.monotonic

    def put(self, address: int, value: int, size: int) -> None:
        self.registers[address : address + size] = (value % (1 << 8 * size)).to_bytes(size, "little")

    def get(self, address: int, size: int) -> int:
        return int.from_bytes(self.registers[address : address + size], "little", signed=size > 1)

    @property
    def alert(self) -> int:
        return 0x80 if self.registers[70] else 0

    def fail(self, error: int) -> None:
        """A hardware error turns torque off."""
        self.put(70, error, 1)
        self.put(64, 0, 1)

    def advance(self, seconds: float) -> None:
        steps = self.registers[98]
        self.silence_s += seconds
        if self.registers[64] and 0 < steps < 128 and self.silence_s > steps * 0.02:
            self.put(98, 255, 1)
            self.put(102, 0, 2)

    def read(self, address: int, size: int) -> bytes:
        self.put(120, int(1e3 * self.clock()) % 32768, 2)
        self.put(126, self.get(102, 2) if self.registers[64] else 1, 2)  # a converter's noise where torque is off
        return bytes(self.registers[self._direct(address + i)] for i in range(size))

    def write(self, address: int, values: bytes) -> int | None:
        """The error number of the answer; None if there is none."""
        if address == 64 and self.lost:
            self.lost -= 1
            return None
        if address == 102:
            if self.registers[98] == 255:
                return 7
            if abs(int.from_bytes(values, "little", signed=True)) > self.get(38, 2):
                return 6
        if self.registers[64] and (address < 64 or 168 <= address < 224):
            return 7
        self.registers[address : address + len(values)] = values
        return 0

    def _direct(self, address: int) -> int:
        return self.get(168 + 2 * (address - 224), 2) if 224 <= address < 252 else address


class EmulatedBus:
    """The servos' end of a port."""

    def __init__(self, servos: list[EmulatedServo]) -> None:
        self.servos = {servo.id: servo for servo in servos}
        self.instructions: list[tuple[int, bytes]] = []  #: those heard, with their parameters
        self.damage = 0  #: so many answers to come have a flipped bit
        self.before = b""  #: bytes before every answer
        self.late = 0  #: so many answers are held back
        self._held: list[bytes] = []
        self.last = b""  #: newest answer
        self.has_fast_read = True  #: whether the firmware knows fast sync read
        self.obeyed = 0  #: instructions so far
        self.emitted = 0  #: bytes written so far
        self._rest = b""
        self._end, self._other = os.openpty()
        tty.setraw(self._other)
        self.port = os.ttyname(self._other)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def advance(self, seconds: float) -> None:
        for servo in self.servos.values():
            servo.advance(seconds)

    def heard(self, instruction: int, address: int) -> list[bytes]:
        """Parameters behind the address, of all such instructions."""
        return [
            p[2:] for i, p in list(self.instructions) if i == instruction and p[:2] == address.to_bytes(2, "little")
        ]

    def hang(self) -> None:
        """Read and answer nothing any more."""
        if self._thread.is_alive():
            os.write(self._other, _END)
            self._thread.join(5)

    def close(self) -> None:
        """Unplug it."""
        if self._end >= 0:
            self.hang()
            os.close(self._other)
            os.close(self._end)
            self._end = self._other = -1

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                self._rest += os.read(self._end, 4096)
                if self._rest.endswith(_END):
                    return
                while (packet := self._next()) is not None:
                    self._obey(packet)

    def _next(self) -> bytes | None:
        """The next whole instruction packet, without stuffing."""
        begin = self._rest.find(b"\xff\xff\xfd\x00")
        if begin < 0 or len(self._rest) < begin + 7:
            return None
        self._rest = self._rest[begin:]
        end = 7 + int.from_bytes(self._rest[5:7], "little")
        if len(self._rest) < end:
            return None
        packet, self._rest = self._rest[:end], self._rest[end:]
        assert SDK.updateCRC(0, packet, end - 2) == int.from_bytes(packet[-2:], "little")
        return bytes(SDK.removeStuffing(list(packet)))

    def _obey(self, packet: bytes) -> None:
        id, instruction, parameters = packet[4], packet[7], packet[8 : 7 + int.from_bytes(packet[5:7], "little") - 2]
        for servo in self.servos.values():
            servo.silence_s = 0.0
        self.instructions.append((instruction, parameters))
        self._carry_out(id, instruction, parameters)
        self.obeyed += 1

    def _carry_out(self, id: int, instruction: int, parameters: bytes) -> None:
        address, rest = int.from_bytes(parameters[:2], "little"), parameters[2:]
        if instruction == SYNC_WRITE:
            size, blocks = int.from_bytes(rest[:2], "little"), rest[2:]
            for i in range(0, len(blocks), 1 + size):
                if blocks[i] in self.servos:
                    self.servos[blocks[i]].write(address, blocks[i + 1 : i + 1 + size])
            return
        if instruction == FAST_SYNC_READ:
            if self.has_fast_read:
                self._answer_together(address, int.from_bytes(rest[:2], "little"), rest[2:])
            return
        asked = rest[2:] if instruction == SYNC_READ else [id]
        for each in asked:
            servo = self.servos.get(each)
            if servo is None or servo.is_silent:
                continue
            if instruction == WRITE:
                error = servo.write(address, rest)
                if error is not None:
                    self._answer(servo, error, b"")
            else:
                self._answer(servo, 0, servo.read(address, int.from_bytes(rest[:2], "little")))

    def _answer_together(self, address: int, size: int, ids: bytes) -> None:
        """One packet, to which each servo adds its block; those behind a silent one wait for it."""
        length = 1 + (4 + size) * len(ids)
        packet = bytearray([0xFF, 0xFF, 0xFD, 0, BROADCAST, length & 255, length >> 8, STATUS])
        for each in ids:
            servo = self.servos.get(each)
            if servo is None or servo.is_silent:
                break
            packet += bytes([servo.alert, each]) + servo.read(address, size)
            packet += SDK.updateCRC(0, packet, len(packet)).to_bytes(2, "little")
        if self.damage:
            self.damage -= 1
            packet[-5] ^= 1
        if len(packet) > 8:
            self._emit(bytes(packet))

    def _answer(self, servo: EmulatedServo, error: int, values: bytes) -> None:
        length = 4 + len(values)
        packet = [0xFF, 0xFF, 0xFD, 0, servo.id, length & 255, length >> 8, STATUS, error | servo.alert, *values, 0, 0]
        packet = SDK.addStuffing(packet)
        crc = SDK.updateCRC(0, packet, len(packet) - 2)
        packet[-2:] = crc & 255, crc >> 8
        if self.damage:
            self.damage -= 1
            packet[9 % len(packet)] ^= 1
        self._emit(bytes(packet))

    def _emit(self, packet: bytes) -> None:
        self._held.append(packet)
        while len(self._held) > self.late:
            self.last = self._held.pop(0)
            os.write(self._end, self.before + self.last)
            self.emitted += len(self.before) + len(self.last)


@contextmanager
def emulated(*servos: EmulatedServo) -> Iterator[EmulatedBus]:
    bus = EmulatedBus(list(servos))
    try:
        yield bus
    finally:
        bus.close()
