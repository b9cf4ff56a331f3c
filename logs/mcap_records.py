"""The records of an MCAP file, one after the other, with a limit for everything that a damaged file could claim.

The checksums are compared always: to MCAP a checksum of 0 means that there is none, but every log has its own.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import IO, NamedTuple

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, AttachmentIndex, Chunk, ChunkIndex
from mcap.records import Channel as ChannelRecord
from mcap.writer import MCAP0_MAGIC

#: longest record, and longest content of a chunk [bytes]; a recorder writes chunks of 1 MB, longer only for one message
LONGEST = 64 * 2**20
#: exceptions that a truncated or damaged record can raise
BROKEN = (McapError, ValueError, KeyError, struct.error, zstandard.ZstdError, OverflowError, MemoryError)

_HEAD = struct.Struct("<BQ")
#: the length of a record that is being written
_OPEN = 2**64 - 1
_FOOTER = struct.Struct("<QQI")
#: channel, sequence and two times before the data of a message
_MESSAGE = 22
#: the end of a file: footer record, magic
_TAIL = _HEAD.size + _FOOTER.size + len(MCAP0_MAGIC)


class BrokenError(ValueError):
    """The file is truncated or damaged here."""


class Record(NamedTuple):
    """A record of the data section."""

    opcode: int
    body: bytes
    at: int  #: of its body in the file


def records(file: IO[bytes]) -> Iterator[Record]:
    """The records up to the end of the data; the rest of the file is checked, then the iteration ends.

    Raises
    ------
    BrokenError
        Where the file is truncated or damaged.
    """
    file.seek(0)
    head = file.read(len(MCAP0_MAGIC))
    if head != MCAP0_MAGIC:
        raise BrokenError("no MCAP file")
    checksum, at = zlib.crc32(head), len(head)
    while True:
        head = file.read(_HEAD.size)
        opcode, length = _unpack(_HEAD, head)
        if length == _OPEN:
            raise BrokenError("a chunk that is not closed")  # the run is under way, or its recorder was killed
        if length > LONGEST:
            raise BrokenError(f"a record of {length} bytes")
        body = file.read(length)
        if len(body) < length:
            raise BrokenError("a record that is cut off")
        if opcode == Opcode.DATA_END:
            if body != struct.pack("<I", checksum):
                raise BrokenError("the checksum of the file differs")
            _check_index(file)
            return
        yield Record(opcode, body, at + len(head))
        checksum = zlib.crc32(body, zlib.crc32(head, checksum))
        at += len(head) + length


def chunk_content(body: bytes) -> bytes:
    """The records in a chunk, uncompressed; one of the `BROKEN` where it is damaged."""
    chunk = Chunk.read(ReadDataStream(BytesIO(body)))
    size = chunk.uncompressed_size
    if size > LONGEST:
        raise BrokenError(f"a chunk of {size} bytes")
    if chunk.compression == "zstd":
        # Not `decompress`: it allocates what the compressed data claim.
        with zstandard.ZstdDecompressor(max_window_size=LONGEST).stream_reader(chunk.data) as stream:
            content: bytes = stream.read(size + 1)
    elif chunk.compression == "":
        content = chunk.data
    else:
        raise BrokenError(f"compression '{chunk.compression}'")
    if len(content) != size or zlib.crc32(content) != chunk.uncompressed_crc:
        raise BrokenError("the checksum of a chunk differs")
    return content


def messages(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Channel and data of every message in a chunk."""
    at = 0
    while at < len(content):
        opcode, length = _HEAD.unpack_from(content, at)
        body, at = content[at + _HEAD.size : at + _HEAD.size + length], at + _HEAD.size + length
        if opcode == Opcode.MESSAGE:
            yield int.from_bytes(body[:2], "little"), body[_MESSAGE:]


class Index(NamedTuple):
    """The index at the end of a whole file."""

    chunks: list[ChunkIndex]
    channels: dict[str, int]  #: their numbers by topic
    attachments: dict[str, int]  #: where the record of each begins in the file, by name
    definitions: list[tuple[int, bytes]]  #: schemas and channels, as they stand in the first chunk too


def read_index(file: IO[bytes]) -> Index:
    """The index, index from the end of the file; one of the `BROKEN` where there is none."""
    index = Index([], {}, {}, [])
    for opcode, body in index_records(file):
        if opcode == Opcode.CHUNK_INDEX:
            index.chunks.append(ChunkIndex.read(ReadDataStream(BytesIO(body))))
        elif opcode == Opcode.CHANNEL:
            channel = ChannelRecord.read(ReadDataStream(BytesIO(body)))
            index.channels[channel.topic] = channel.id
        elif opcode == Opcode.ATTACHMENT_INDEX:
            attachment = AttachmentIndex.read(ReadDataStream(BytesIO(body)))
            index.attachments[attachment.name] = attachment.offset
        if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            index.definitions.append((opcode, body))
    return index


def index_records(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Opcode and body of the records of the index; one of the `BROKEN` where there is none."""
    size = file.seek(0, 2)
    file.seek(max(size - _TAIL, 0))
    tail = file.read(_TAIL)
    start = _unpack(_FOOTER, tail[_HEAD.size : -len(MCAP0_MAGIC)])[0]
    if not 0 < start < size or size - start > LONGEST:
        raise BrokenError("no index")
    file.seek(start)
    content, at = _check_index(file), 0
    while at < len(content):
        opcode, length = _HEAD.unpack_from(content, at)
        body, at = content[at + _HEAD.size : at + _HEAD.size + length], at + _HEAD.size + length
        yield opcode, body


def read_chunk(file: IO[bytes], at: int) -> bytes:
    """The content of the chunk whose record begins there."""
    return chunk_content(_record_at(file, at, Opcode.CHUNK))


def read_attachment(file: IO[bytes], at: int) -> bytes:
    """The data of the attachment whose record begins there."""
    body = _record_at(file, at, Opcode.ATTACHMENT)
    if zlib.crc32(body[:-4]) != int.from_bytes(body[-4:], "little"):
        raise BrokenError("the checksum of an attachment differs")
    data: bytes = Attachment.read(ReadDataStream(BytesIO(body))).data
    return data


def _record_at(file: IO[bytes], at: int, kind: int) -> bytes:
    file.seek(at)
    opcode, length = _unpack(_HEAD, file.read(_HEAD.size))
    if opcode != kind or length > LONGEST:
        raise BrokenError(f"no record of kind {kind}")
    return file.read(length)


def _check_index(file: IO[bytes]) -> bytes:
    """The index after the data, which is the rest of the file: complete, and its checksum is right."""
    rest = file.read(LONGEST + 1)
    if len(rest) > LONGEST or len(rest) < _TAIL or not rest.endswith(MCAP0_MAGIC):
        raise BrokenError("the end of the file is missing")
    opcode, length = _HEAD.unpack_from(rest, len(rest) - _TAIL)
    checksum = _FOOTER.unpack_from(rest, len(rest) - _TAIL + _HEAD.size)[2]
    covered = rest[: -len(MCAP0_MAGIC) - 4]
    if (opcode, length) != (Opcode.FOOTER, _FOOTER.size) or zlib.crc32(covered) != checksum:
        raise BrokenError("the checksum of the index differs")
    return rest[:-_TAIL]


def _unpack(layout: struct.Struct, data: bytes) -> tuple[int, ...]:
    if len(data) < layout.size:
        raise BrokenError("the file is cut off")
    return layout.unpack(data)
