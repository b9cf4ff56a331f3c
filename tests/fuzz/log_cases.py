"""Mutated logs, made from whole ones with a structure-aware mutator: bytes, records, values, checksums repaired or not.

Run as a script for many cases: `python -m tests.fuzz.log_cases 100000`.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, ATTACHMENT, METADATA, DATA_END = 1, 2, 3, 4, 5, 6, 9, 12, 15
#: of each case [s], [bytes of address space beyond the present one]
TIME_LIMIT, MEMORY_LIMIT = 20, 500 * 2**20
#: numbers that break what does not expect them
HOSTILE = (float("nan"), float("inf"), -1.0, 1e7, 1e308, 5e-324, 0.5, -0.0, 2.0**53, 1e18, 7.0)
LENGTHS = (0, 1, 2**16, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1)

#: metadata that are none
_TEXTS = (b"", b"-1", b"9" * 40, b"[", b"{}", b'["a", 1]', b"\xff", b"1e9", b"[" * 9999)

Record = tuple[int, bytes]


def records_of(content: bytes) -> list[Record]:
    """Opcode and body of the records of a file's data section, or of a chunk."""
    at, records = (len(MAGIC) if content.startswith(MAGIC) else 0), []
    while at + 9 <= len(content):
        opcode, length = struct.unpack_from("<BQ", content, at)
        records.append((opcode, content[at + 9 : at + 9 + length]))
        at += 9 + length
        if opcode == DATA_END:
            break
    return records


def joined(records: list[Record]) -> bytes:
    return b"".join(struct.pack("<BQ", opcode, len(body)) + body for opcode, body in records)


def whole_file(records: list[Record]) -> bytes:
    """A file of these records whose checksums are right, without an index."""
    data = MAGIC + joined([record for record in records if record[0] not in (DATA_END, FOOTER)])
    end = joined([(DATA_END, struct.pack("<I", zlib.crc32(data)))])
    footer = struct.pack("<BQQQ", FOOTER, 20, 0, 0)
    return data + end + footer + struct.pack("<I", zlib.crc32(footer)) + MAGIC


def chunk_parts(body: bytes) -> tuple[bytes, bytes]:
    """The times of a chunk, and its content."""
    size, _, n = struct.unpack_from("<QII", body, 16)
    data = body[32 + n + 8 :]
    return body[:16], zstandard.ZstdDecompressor().decompress(data, size) if n else data


def chunk_of(times: bytes, content: bytes, checksum: int | None = None, size: int | None = None) -> Record:
    """A chunk of this content, its checksum and size right unless they are given."""
    data = zstandard.ZstdCompressor(level=1).compress(content)
    crc, length = zlib.crc32(content) if checksum is None else checksum, len(content) if size is None else size
    head = struct.pack("<QII", length, crc, 4) + b"zstd" + struct.pack("<Q", len(data))
    return CHUNK, times + head + data


# Mutations of a list of records; each returns the file.


def flip_bytes(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    spoilt = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
    return bytes(spoilt)


def cut(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    start, stop = sorted(rng.randrange(len(whole)) for _ in range(2))
    return rng.choice((whole[:stop], whole[:start] + whole[stop:], whole[:stop] + whole[start:stop] + whole[stop:]))


def move_records(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    changed = list(records)
    for _ in range(rng.choice((1, 2, 4))):
        i, j = rng.randrange(len(changed)), rng.randrange(len(changed))
        action = rng.randrange(4)
        if action == 0:
            changed[i], changed[j] = changed[j], changed[i]
        elif action == 1 and len(changed) > 2:
            del changed[i]
        elif action == 2:
            changed.insert(j, changed[i])
        else:
            changed[i] = rng.randrange(256), changed[i][1]
    return whole_file(changed)


def change_length(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    """A record claims another length."""
    at, position = rng.randrange(len(records)), len(MAGIC)
    for _, body in records[:at]:
        position += 9 + len(body)
    spoilt = bytearray(whole)
    spoilt[position + 1 : position + 9] = struct.pack("<Q", rng.choice(LENGTHS))
    return bytes(spoilt)


def change_chunk_head(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    """A chunk with a changed value in it, whose checksum is 0, wrong or repaired, or whose size is a lie."""
    changed, at = list(records), _pick(rng, records, CHUNK)
    times, content = chunk_parts(changed[at][1])
    spoilt = _with_bytes(rng, content)
    changed[at] = chunk_of(times, spoilt, rng.choice((0, None, 1)), rng.choice((None, None, *LENGTHS)))
    return whole_file(changed)


def bomb(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    """A chunk that inflates to very much of something."""
    changed, at = list(records), _pick(rng, records, CHUNK)
    times, content = chunk_parts(changed[at][1])
    filler = rng.choice((bytes(1), content[:4096], joined([(MESSAGE, bytes(22))]), joined([(200, b"")])))
    changed.insert(at, chunk_of(times, filler * (rng.choice((2**20, 2**25, 2**27)) // len(filler))))
    return whole_file(changed)


def change_values(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    """Numbers in rows, events and the summary, with every checksum repaired."""
    changed, at = list(records), _pick(rng, records, CHUNK)
    times, content = chunk_parts(changed[at][1])
    inner = records_of(content)
    messages = [i for i, (opcode, _) in enumerate(inner) if opcode == MESSAGE]
    for _ in range(rng.choice((1, 1, 3, 30))):
        i = rng.choice(messages)
        body = bytearray(inner[i][1])
        if len(body) >= 34 and body[22:26] == b"\x00\x01\x00\x00":
            column = rng.randrange((len(body) - 26) // 8) if rng.random() < 0.7 else 0
            body[26 + 8 * column : 34 + 8 * column] = struct.pack("<d", rng.choice(HOSTILE))
        else:
            body[22:] = _other_json(rng, bytes(body[22:]))
        inner[i] = MESSAGE, bytes(body)
    changed[at] = chunk_of(times, joined(inner))
    return whole_file(changed)


def change_messages(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    """Messages, schemas and channels removed, repeated, swapped, of another length or channel; repaired."""
    changed, at = list(records), _pick(rng, records, CHUNK)
    times, content = chunk_parts(changed[at][1])
    inner = records_of(content)
    for _ in range(rng.choice((1, 2, 5))):
        i, j, action = rng.randrange(len(inner)), rng.randrange(len(inner)), rng.randrange(5)
        opcode, body = inner[i]
        if action == 0:
            inner[i], inner[j] = inner[j], inner[i]
        elif action == 1 and len(inner) > 2:
            del inner[i]
        elif action == 2:
            inner[j:j] = [inner[i]] * rng.choice((1, 2, 1000))
        elif action == 3:
            inner[i] = opcode, body[: rng.randrange(len(body) + 1)]
        else:
            inner[i] = opcode, struct.pack("<H", rng.randrange(20)) + body[2:]
    changed[at] = chunk_of(times, joined(inner))
    return whole_file(changed)


def change_configuration(rng: random.Random, whole: bytes, records: list[Record]) -> bytes:
    """Testbed, layout and metadata changed, with the fingerprints repaired."""
    changed = list(records)
    texts = {}
    for i, (opcode, body) in enumerate(changed):
        if opcode == ATTACHMENT:
            head, name, media, data = _attachment(body)
            if rng.random() < 0.5:
                data = _other_json(rng, data)
            texts[name] = hashlib.sha256(data).hexdigest()
            packed = head + _string(name) + _string(media) + struct.pack("<Q", len(data)) + data
            changed[i] = ATTACHMENT, packed + struct.pack("<I", zlib.crc32(packed))
    for i, (opcode, body) in enumerate(changed):
        if opcode == METADATA:
            name, entries = _metadata(body)
            keys = {b"testbed_sha256": b"testbed.json", b"channels_sha256": b"channels.json"}
            entries = {k: texts[keys[k]].encode() if k in keys and keys[k] in texts else v for k, v in entries.items()}
            if rng.random() < 0.3:
                key = rng.choice(sorted(entries))
                entries[key] = rng.choice(_TEXTS)
            changed[i] = METADATA, _string(name) + _map(entries)
    return whole_file(changed)


MUTATIONS: dict[str, Callable[[random.Random, bytes, list[Record]], bytes]] = {
    mutation.__name__: mutation
    for mutation in (
        flip_bytes, cut, move_records, change_length, change_chunk_head, bomb, change_values, change_messages,
        change_configuration,
    )
}  # fmt: skip
#: how often each is drawn: bombs are slow to make
_WEIGHTS = [1 if name == "bomb" else 12 for name in MUTATIONS]


def cases(wholes: list[bytes], first: int, n: int) -> Iterator[tuple[str, bytes]]:
    """Name and content of mutated logs; the same number is always the same case."""
    parsed = [records_of(whole) for whole in wholes]
    for number in range(first, first + n):
        rng = random.Random(number)
        which = rng.randrange(len(wholes))
        (name,) = rng.choices(list(MUTATIONS), _WEIGHTS)
        yield f"{number} {name}", MUTATIONS[name](rng, wholes[which], parsed[which])


def _pick(rng: random.Random, records: list[Record], opcode: int) -> int:
    return rng.choice([i for i, (kind, _) in enumerate(records) if kind == opcode])


def _with_bytes(rng: random.Random, content: bytes) -> bytes:
    spoilt = bytearray(content)
    for _ in range(rng.choice((1, 1, 4))):
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
    return bytes(spoilt)


def _other_json(rng: random.Random, text: bytes) -> bytes:
    """Another text: cut, nested, or JSON in which one value is another one."""
    action = rng.randrange(6)
    if action == 0:
        return rng.choice((b"", b"null", b"[]", b"{}", b"nothing", b"[" * 100_000, b"\xff", b"NaN", b'{"a":' * 2000))
    if action == 1:
        return text[: rng.randrange(len(text) + 1)]
    try:
        tree = json.loads(text)
    except ValueError:
        return b"{}"
    places = list(_places(tree))
    if places:
        holder, key = rng.choice(places)
        values = (None, -1, 0, 10**400, 1e308, "x" * 10_000, "", [], {}, True, float("nan"), [[1]], holder[key])
        holder[key] = rng.choice(values)
        if rng.random() < 0.2 and isinstance(holder, dict):
            del holder[key]
    return json.dumps(tree).encode()


def _places(tree):
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        yield tree, key
        yield from _places(value)


def _string(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def _take_string(body: bytes, at: int) -> tuple[bytes, int]:
    (n,) = struct.unpack_from("<I", body, at)
    return body[at + 4 : at + 4 + n], at + 4 + n


def _attachment(body: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    name, at = _take_string(body, 16)
    media, at = _take_string(body, at)
    return body[:16], name, media, body[at + 8 : -4]


def _metadata(body: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    name, at = _take_string(body, 0)
    at, entries = at + 4, {}
    while at < len(body):
        key, at = _take_string(body, at)
        entries[key], at = _take_string(body, at)
    return name, entries


def _map(entries: dict[bytes, bytes]) -> bytes:
    pairs = b"".join(_string(key) + _string(value) for key, value in entries.items())
    return struct.pack("<I", len(pairs)) + pairs


# What is done with a case.


def try_case(path: Path, new: Path) -> list[str]:
    """Overview, read and measure, and recover a log: of each "done", or the sentence of its refusal."""
    from granite.config.errors import InputError
    from granite.logs.log import read_log
    from granite.logs.overview import final_error, read_overview
    from granite.logs.recovery import recover
    from granite.logs.summary import metrics
    from granite.views.plots.run import PlottedRun

    said = []
    for use in (
        lambda: final_error(read_overview(path).summary),
        lambda: (log := read_log(path), metrics(log), PlottedRun(log), log.rows),
        lambda: recover(path, new, overwrite=True),
    ):
        try:
            with warnings.catch_warnings(), memory_limit():
                warnings.simplefilter("ignore", RuntimeWarning)  # numbers near 1e308 overflow in sums of squares
                use()
            said.append("done")
        except InputError as error:
            sentence = str(error)
            assert "\n" not in sentence
            assert str(path) in sentence
            said.append(sentence)
    return said


class memory_limit:  # noqa: N801 - used as a statement
    """Address space that may grow by the limit; more is a MemoryError."""

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY_LIMIT, self._before[1]))

    def __exit__(self, *error: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self._before)


def give_up(number: int, frame: object) -> None:
    raise AssertionError(f"longer than {TIME_LIMIT} s")


def whole_logs(folder: Path) -> list[bytes]:
    """Small logs, one with contacts that change."""
    from granite.config.loader import load
    from granite.rt.run import simulate

    for i, (bed, duration) in enumerate((("free-flyer", 2.0), ("mrds-6a", 0.5))):
        simulate(load(bed, [f"loop.duration_s={duration}"]), folder / f"{i}.mcap")
    return [(folder / f"{i}.mcap").read_bytes() for i in range(2)]


def run_cases(folder: Path, wholes: list[bytes], first: int, n: int) -> dict[str, int]:
    """Try the cases; how many of them ended in a result, and in a refusal."""
    path, new, count = folder / "case.mcap", folder / "new.mcap", {"result": 0, "refusal": 0}
    before = signal.signal(signal.SIGALRM, give_up)
    try:
        for name, content in cases(wholes, first, n):
            path.write_bytes(content)
            signal.alarm(TIME_LIMIT)
            try:
                said = try_case(path, new)
            except BaseException as error:
                raise AssertionError(f"case {name}: {type(error).__name__}: {error}") from error
            signal.alarm(0)
            count["result" if said[1] == "done" else "refusal"] += 1
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return count


if __name__ == "__main__":
    began, many = time.monotonic(), int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    start_at = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as place:
        counts = run_cases(Path(place), whole_logs(Path(place)), start_at, many)
    print(f"{many} cases in {time.monotonic() - began:.0f} s: {counts}")
