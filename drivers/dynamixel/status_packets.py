"""Status packets of protocol 2.0 in a stream of bytes, which may come in pieces, damaged or among others.

The SDK's own receiver waits for a whole packet; a loop must not. Check sum and byte stuffing are the SDK's.

All servos answer a fast sync read in one packet from the broadcast id, one after the other:

    header  0xfe  length  0x55  [error  id  parameters  check sum] ...

Each check sum is that of all bytes before it, and no bytes are stuffed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_HEADER = b"\xff\xff\xfd\x00"
#: header, id and length
_HEAD = 7
_STATUS = 0x55
#: instruction, error and check sum
_LEAST = 4
#: longer ones are damaged: the loop asks for far fewer bytes
_MOST = 128
_ALERT = 0x80
_BROADCAST = 0xFE
#: of a block in the answer to a fast sync read: error, id and check sum
_BLOCK = 4


class StatusPacket(NamedTuple):
    """The answer of a servo."""

    id: int
    error: int  #: result of the instruction; 0 is none
    alert: bool  #: the servo has a hardware error
    parameters: bytes


class StatusDecoder:
    """Finds status packets.

    Parameters
    ----------
    sdk
        The SDK's encoder.
    block_parameters, blocks
        Bytes of parameters of each servo in the answer to a fast sync read, and number of servos.

    Attributes
    ----------
    corrupt : int
        Packets whose check sum or length is wrong.
    ignored : int
        Bytes between packets, and of packets that are no answer, such as an adapter's echo.
    """

    def __init__(self, sdk: Any, block_parameters: int = 0, blocks: int = 0) -> None:
        self._sdk = sdk
        self._block = block_parameters + _BLOCK
        self._fast_length = 1 + blocks * self._block
        self._rest, self._taken = b"", 0
        self.corrupt = self.ignored = 0

    def begin_request(self) -> None:
        """Forget a joint answer that stays incomplete: a servo is silent, and the others wait for it."""
        if self._rest.startswith(_HEADER) and self._rest[4:5] == bytes([_BROADCAST]):
            self.corrupt += 1
            self._rest, self._taken = b"", 0

    def feed(self, received: bytes) -> list[StatusPacket]:
        """The packets that are whole now."""
        rest, packets = self._rest + received, []
        while True:
            begin = rest.find(_HEADER)
            if begin < 0:
                kept = next((n for n in (3, 2, 1) if rest.endswith(_HEADER[:n])), 0)
                self.ignored += len(rest) - kept
                rest = rest[len(rest) - kept :]
                break
            self.ignored += begin
            rest = rest[begin:]
            if len(rest) < _HEAD:
                break
            length = rest[5] | rest[6] << 8
            end = _HEAD + length
            if rest[4] == _BROADCAST and length == self._fast_length:
                blocks = self._blocks(rest)
                if blocks is None:
                    self.corrupt, self._taken, rest = self.corrupt + 1, 0, rest[len(_HEADER) :]
                    continue
                packets += blocks
                if len(rest) < end:
                    break
                self._taken, rest = 0, rest[end:]
                continue
            if _LEAST - 1 <= length <= _MOST and len(rest) < end:
                break
            if not _LEAST - 1 <= length <= _MOST or self._sdk.updateCRC(0, rest, end - 2) != int.from_bytes(
                rest[end - 2 : end], "little"
            ):
                self.corrupt += 1
                rest = rest[len(_HEADER) :]  # a whole packet may follow within what looked like this one
                continue
            packet, rest = rest[:end], rest[end:]
            if packet[_HEAD] != _STATUS or length < _LEAST:
                self.ignored += end
                continue
            packets.append(self._unpacked(packet))
        self._rest = rest
        return packets

    def _blocks(self, rest: bytes) -> list[StatusPacket] | None:
        """The answers in a joint one that are whole now and have not been given yet; None where one is damaged."""
        packets: list[StatusPacket] = []
        if rest[_HEAD : _HEAD + 1] not in (b"", bytes([_STATUS])):
            return None
        while True:
            begin = _HEAD + 1 + self._taken * self._block
            end = begin + self._block
            if len(rest) < end or end > _HEAD + self._fast_length:
                return packets
            if self._sdk.updateCRC(0, rest, end - 2) != int.from_bytes(rest[end - 2 : end], "little"):
                return None
            error = rest[begin]
            packets.append(
                StatusPacket(rest[begin + 1], error & ~_ALERT, bool(error & _ALERT), rest[begin + 2 : end - 2])
            )
            self._taken += 1

    def _unpacked(self, packet: bytes) -> StatusPacket:
        if b"\xff\xff\xfd\xfd" in packet:
            plain = self._sdk.removeStuffing(list(packet))
            packet = bytes(plain[: _HEAD + (plain[5] | plain[6] << 8)])
        error = packet[_HEAD + 1]
        return StatusPacket(packet[4], error & ~_ALERT, bool(error & _ALERT), packet[_HEAD + 2 : -2])
