"""Consistent overhead byte stuffing (Cheshire and Baker, 1999): a frame without zero bytes."""

from __future__ import annotations

#: the length byte of a full block, which stands for no zero
_FULL = 255


def encode(raw: bytes) -> bytes:
    """The bytes without zeros."""
    out = bytearray()
    parts = raw.split(b"\0")
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


def decode(encoded: bytes) -> bytes | None:
    """The original bytes; None where a length leads beyond the end."""
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
