"""Status packets of protocol 2.0 in a stream of bytes, which may come in pieces, damaged or among others.

The SDK's own receiver waits for a whole packet; a loop must not. Check sum and byte stuffing are the SDK's.
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


class StatusPacket(NamedTuple):
    """The answer of a servo."""

    id: int
    error: int  #: result of the instruction; 0 is none
    alert: bool  #: the servo has a hardware error
    parameters: bytes


class StatusDecoder:
    """Finds status packets.

    Attributes
    ----------
    corrupt : int
        Packets whose check sum or length is wrong.
    ignored : int
        Bytes between packets, and of packets that are no answer, such as an adapter's echo.
    """

    def __init__(self, sdk: Any) -> None:
        self._sdk = sdk
        self._rest = b""
        self.corrupt = self.ignored = 0

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

    def _unpacked(self, packet: bytes) -> StatusPacket:
        if b"\xff\xff\xfd\xfd" in packet:
            plain = self._sdk.removeStuffing(list(packet))
            packet = bytes(plain[: _HEAD + (plain[5] | plain[6] << 8)])
        error = packet[_HEAD + 1]
        return StatusPacket(packet[4], error & ~_ALERT, bool(error & _ALERT), packet[_HEAD + 2 : -2])
