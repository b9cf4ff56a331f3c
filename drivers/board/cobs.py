"""Consistent overhead byte stuffing (Cheshire and Baker, 1999): a frame without zero bytes.

Each block is a length byte and the bytes up to the next zero, which the length replaces. So a frame without a full
block is encoded by a join, and decoded in place by walking along the lengths.
"""

from __future__ import annotations

#: the length byte of a full block, which stands for no zero
_FULL = 255
_LENGTHS = [bytes([n + 1]) for n in range(_FULL - 1)]


def encode(raw: bytes) -> bytes:
    """The bytes without zeros."""
    parts = raw.split(b"\0")
    try:
        return b"".join([_LENGTHS[len(part)] + part for part in parts])
    except IndexError:
        return _encode_long(parts)


def decode(encoded: bytes) -> bytes | None:
    """The original bytes; None where a length leads beyond the end."""
    n = len(encoded)
    if n >= _FULL or 0 in encoded:
        return _decode_long(encoded)
    out, i = bytearray(encoded), 0
    while i < n:
        length = out[i]
        out[i] = 0
        i += length
    return bytes(out[1:]) if i == n else None


def _encode_long(parts: list[bytes]) -> bytes:
    """The same for parts that need full blocks."""
    out = bytearray()
    for i, part in enumerate(parts):
        while len(part) >= _FULL - 1:
            out.append(_FULL)
            out += part[: _FULL - 1]
            part = part[_FULL - 1 :]
            if not part and i == len(parts) - 1:
                return bytes(out)  # nothing follows a full block at the end
        out.append(len(part) + 1)
        out += part
    return bytes(out)


def _decode_long(encoded: bytes) -> bytes | None:
    """The same where a block may be full."""
    out = bytearray()
    i, n = 0, len(encoded)
    while i < n:
        length = encoded[i]
        end = i + length
        if length == 0 or end > n:
            return None
        out += encoded[i + 1 : end]
        if length < _FULL and end < n:
            out.append(0)
        i = end
    return bytes(out)
