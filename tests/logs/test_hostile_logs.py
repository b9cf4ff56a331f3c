"""Logs whose checksums are right, but whose content no run can have written: refused by name, in little memory."""

import json
import random
import struct
import warnings

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load, to_json
from granite.logs import logged_rows
from granite.logs.channels import Channels
from granite.logs.log import read_log
from granite.logs.mcap_file import McapFile
from granite.logs.overview import read_overview
from tests.fuzz.log_cases import (
    CHUNK,
    MESSAGE,
    bomb,
    chunk_of,
    chunk_parts,
    joined,
    memory_limit,
    records_of,
    whole_file,
)
from tests.support.recorded_ticks import bits, make_tick, many_rows

BED = load("free-flyer")
CHANNELS = Channels.of(BED)
N = 60


def rows_of(n=N):
    return np.array([np.frombuffer(CHANNELS.pack(*make_tick(BED, k))) for k in range(n)])


def write(path, rows, events=(), summaries=('{"ticks": 1}',)):
    file = McapFile(str(path), CHANNELS, to_json(BED), {"bed": BED.name}, 0)
    file.write(rows)
    for event in events:
        file._events.log(event, log_time=0)
    for summary in summaries:
        file.summary(summary)
    file.close()
    return path


def refusal(path):
    with pytest.raises(InputError) as caught, memory_limit():
        read_log(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    return sentence


def changed(topic, key, value, row=7):
    rows = rows_of()
    rows[row, CHANNELS.column(topic, key)] = value
    return rows


@pytest.mark.parametrize(
    ("topic", "key", "value", "expected"),
    [
        ("/timing", "tick", 6.0, "row 8: /timing tick = 6, expected more than in the row before"),
        ("/timing", "tick", np.nan, "row 8: /timing tick = nan, expected a whole number"),
        ("/timing", "tick", 7.5, "expected a whole number"),
        ("/timing", "scheduled_s", 1e7, "row 8: /timing scheduled_s = 1e+07, expected tick times 0.005 s"),
        ("/sample", "t_s", 1e7, "row 8: /sample t_s = 1e+07, expected tick times 0.005 s"),
        ("/timing", "lost", np.inf, "row 8: /timing lost = inf, expected a whole number"),
        ("/verdict", "reason", 99.0, "row 8: /verdict reason = 99, expected the number of a reason"),
        ("/state", "ready", 0.5, "row 8: /state ready = 0.5, expected 0 or 1"),
        ("/sample", "vision_number", np.nan, "row 8: /sample vision_number = nan, expected a whole number"),
    ],
)
def test_a_row_that_no_run_can_have_is_refused_by_name(tmp_path, topic, key, value, expected):
    assert expected in refusal(write(tmp_path / "run.mcap", changed(topic, key, value)))


@pytest.mark.parametrize("order", [[0, 2, 1], [0, 1, 1]], ids=["swapped", "repeated"])
def test_rows_that_do_not_rise_are_refused(tmp_path, order):
    assert "row 3: /timing tick = 1" in refusal(write(tmp_path / "run.mcap", rows_of(3)[order]))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (b"nothing", "event 1: damaged"),
        (b"[1]", "event 1: [1], expected t_s, tick, level, name and text"),
        (b"[" * 50_000, "event 1: damaged"),
        (b'{"t_s": NaN, "tick": 1, "level": "a", "name": "b", "text": "c"}', "event 1"),
        (b'{"t_s": 1e999, "tick": 1, "level": "a", "name": "b", "text": "c"}', "event 1"),
        (b'"' + b"x" * 100_000 + b'"', "event 1: 100002 bytes, expected at most 65536"),
    ],
)
def test_an_event_that_is_none_is_refused_by_its_number(tmp_path, event, expected):
    assert expected in refusal(write(tmp_path / "run.mcap", rows_of(3), [event]))


def test_more_events_than_rows_can_have_are_refused(tmp_path):
    event = json.dumps({"t_s": 0.0, "tick": 0, "level": "info", "name": "a", "text": "b"}).encode()
    assert "events after" in refusal(write(tmp_path / "run.mcap", rows_of(3), [event] * 2000))


@pytest.mark.parametrize(
    "summary",
    [
        *("nothing", "[]", "{}", '{"ticks": "many"}'),
        *('{"ticks": 1, "tracking_error": {"x": 1}}', '{"ticks": 1, "traceback": 1}'),
    ],
)
def test_a_summary_that_is_none_is_refused(tmp_path, summary):
    path = write(tmp_path / "run.mcap", rows_of(3), summaries=[summary])
    assert "summary" in refusal(path)
    assert read_overview(path).summary is None


def test_a_chunk_whose_checksum_is_zero_gives_no_wrong_number(tmp_path):
    rows = rows_of()
    records = records_of(write(tmp_path / "run.mcap", rows).read_bytes())
    (at,) = [i for i, (opcode, _) in enumerate(records) if opcode == CHUNK]
    times, content = chunk_parts(records[at][1])
    inner = records_of(content)
    forged = [i for i, (opcode, body) in enumerate(inner) if opcode == MESSAGE and len(body) > 34]
    body = bytearray(inner[forged[20]][1])
    body[26:34] = struct.pack("<d", 123.0)
    inner[forged[20]] = MESSAGE, bytes(body)
    records[at] = chunk_of(times, joined(inner), checksum=0)
    path = tmp_path / "forged.mcap"
    path.write_bytes(whole_file(records))
    assert "no complete tick" in refusal(path)


def test_compressed_bombs_and_huge_counts_are_refused_in_little_memory(tmp_path):
    whole = write(tmp_path / "run.mcap", rows_of()).read_bytes()
    records = records_of(whole)
    path = tmp_path / "bomb.mcap"
    for seed in range(12):
        path.write_bytes(bomb(random.Random(seed), whole, records))
        with memory_limit():
            try:
                assert not read_log(path).complete
            except InputError as error:
                assert str(path) in str(error)  # noqa: PT017
    for size in (2**31, 2**40, 2**63):
        at = next(i for i, (opcode, _) in enumerate(records) if opcode == CHUNK)
        times, content = chunk_parts(records[at][1])
        path.write_bytes(whole_file([*records[:at], chunk_of(times, content, size=size), *records[at + 1 :]]))
        assert "no complete tick" in refusal(path)


def test_large_numbers_that_a_fault_can_have_are_read(tmp_path):
    log = read_log(write(tmp_path / "run.mcap", changed("/truth", "base_x_m", 1e308)))
    assert log["/truth"].base_x_m[7] == 1e308


def test_rows_that_are_not_kept_are_read_again_and_equal_to_the_bit(tmp_path, monkeypatch):
    rows = many_rows(BED, CHANNELS, 2500)
    path = write(tmp_path / "run.mcap", rows)
    monkeypatch.setattr(logged_rows, "KEPT", 0)
    log = read_log(path)
    assert sum(len(block) for block in log.blocks()) == log.ticks == 2500
    column = CHANNELS.column("/truth", "base_x_m")
    np.testing.assert_array_equal(bits(log["/truth"].base_x_m), bits(rows[:, column]))
    path.write_bytes(b"replaced in place")
    with pytest.raises(InputError, match="changed while it was read"):
        list(log.blocks())


def test_a_log_that_is_replaced_while_it_is_read_stays_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(logged_rows, "KEPT", 0)
    rows = rows_of(50)
    log = read_log(write(tmp_path / "run.mcap", rows))
    write(tmp_path / "other.mcap", rows_of(10)).rename(tmp_path / "run.mcap")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(bits(log.rows), bits(rows))
