"""Reading logs: what is not ours is refused in one sentence, and a log that was cut gives what is left."""

import foxglove
import numpy as np
import pytest
from foxglove import Context
from recorded_ticks import bits, make_tick

from granite.config.errors import InputError
from granite.config.loader import load, to_json
from granite.rt import mcap_file
from granite.rt.channels import Channels
from granite.rt.log import read_log
from granite.rt.mcap_file import McapFile

BED = load("free-flyer")
CHANNELS = Channels.of(BED)
FLUSHES, PER_FLUSH = 4, 10


def rows_of(n):
    return np.array([np.frombuffer(CHANNELS.pack(*make_tick(BED, k))) for k in range(n)])


def write(path, rows, bed_json=None, per_flush=PER_FLUSH, channels=CHANNELS):
    file = McapFile(str(path), False, channels, bed_json or to_json(BED), {"bed": BED.name}, 0)
    for at in range(0, len(rows), per_flush):
        file.write(rows[at : at + per_flush])
        file.flush()
    file.summary('{"ticks": 40}')
    file.close()
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a log that was flushed four times."""
    return write(tmp_path_factory.mktemp("log") / "run.mcap", rows_of(FLUSHES * PER_FLUSH)).read_bytes()


def refusal(path):
    """The one sentence that reading raises."""
    with pytest.raises(InputError) as caught:
        read_log(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    return sentence


def test_a_log_cut_anywhere_gives_whole_ticks_or_one_sentence(tmp_path, whole):
    path = tmp_path / "cut.mcap"
    rows = rows_of(FLUSHES * PER_FLUSH)
    lengths = []
    for size in [*range(0, len(whole), 997), *range(len(whole) - 40, len(whole))]:
        path.write_bytes(whole[:size])
        try:
            log = read_log(path)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
            lengths.append(0)
            continue
        assert not log.complete
        lengths.append(len(log.rows))
        np.testing.assert_array_equal(bits(log.rows), bits(rows[: len(log.rows)]))
    assert lengths == sorted(lengths)
    assert set(lengths) == {0, 10, 20, 30, 40}


def test_a_tick_that_was_cut_in_two_is_left_out(tmp_path):
    rows = np.random.default_rng(0).random((2000, CHANNELS.width))  # more than fits one chunk
    path = write(tmp_path / "cut.mcap", rows, per_flush=2000)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    log = read_log(path)
    assert 100 < len(log.rows) < 2000
    np.testing.assert_array_equal(log.rows, rows[: len(log.rows)])


def test_a_spoilt_byte_never_gives_a_wrong_number(tmp_path, whole):
    path = tmp_path / "spoilt.mcap"
    rows = rows_of(FLUSHES * PER_FLUSH)
    rng = np.random.default_rng(5)
    for at in rng.integers(len(whole), size=120):
        spoilt = bytearray(whole)
        spoilt[at] ^= 1 << rng.integers(8)
        path.write_bytes(spoilt)
        try:
            log = read_log(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017
            continue
        assert log.bed == BED
        np.testing.assert_array_equal(bits(log.rows), bits(rows[: len(log.rows)]))


def test_rows_can_not_be_changed_by_accident(tmp_path, whole):
    path = tmp_path / "run.mcap"
    path.write_bytes(whole)
    log = read_log(path)
    assert log.complete
    with pytest.raises(ValueError):
        log.rows[0, 0] = 1.0


def test_a_missing_log_is_named(tmp_path):
    assert refusal(tmp_path / "none.mcap").endswith("can't be read: No such file or directory")
    assert "Is a directory" in refusal(tmp_path)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    assert "is not an MCAP file" in refusal(path)
    path.write_bytes(b"\x89PNG")
    assert "is not an MCAP file" in refusal(path)


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "empty.mcap"
    path.touch()
    assert "is empty" in refusal(path)


def test_an_mcap_file_of_someone_else_is_refused(tmp_path):
    path = tmp_path / "theirs.mcap"
    with foxglove.open_mcap(path, context=Context()) as writer:
        writer.write_metadata("theirs", {"a": "b"})
    assert refusal(path).endswith("is an MCAP file, but not one that Granite wrote")


def test_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mcap_file, "FORMAT", "99")
    path = write(tmp_path / "newer.mcap", rows_of(1))
    assert "has format 99, expected format 3" in refusal(path)


def test_a_log_cut_before_its_configuration_is_refused(tmp_path, whole):
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole[: whole.index(b"testbed.json") + 50])
    assert "cut off before its configuration" in refusal(path)


def test_a_log_without_a_tick_is_refused(tmp_path):
    assert "has no complete tick" in refusal(write(tmp_path / "short.mcap", rows_of(0)))


def test_a_configuration_that_does_not_fit_the_rows_is_refused(tmp_path):
    other = to_json(BED).replace('"r1"', '"q1"')
    assert "is not laid out as its configuration says" in refusal(write(tmp_path / "run.mcap", rows_of(1), other))


def test_a_configuration_that_is_none_is_refused_with_the_name_of_the_log(tmp_path):
    refusal(write(tmp_path / "run.mcap", rows_of(1), "{}"))
