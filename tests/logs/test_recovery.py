"""Recovery of cut and damaged logs, the head of a log, and the exit codes of commands on an incomplete one."""

import importlib.metadata
import platform

import numpy as np
import pytest

from granite.config.loader import load
from granite.logs.log import read_log
from granite.logs.mcap_records import read_index
from granite.rt.replay import replay
from granite.rt.run import simulate
from tests.support.command_line import Call, granite, left_in, sentence_of  # noqa: F401
from tests.support.recorded_ticks import bits

CHANGES = ["loop.duration_s=8.0", "seed=3"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("recovery") / "run.mcap"
    simulate(load("free-flyer", CHANGES), path, changes=CHANGES)
    return path


@pytest.fixture
def cut(tmp_path, whole):
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    return path


def damaged_in_chunk(whole, path, numbers):
    content = bytearray(whole.read_bytes())
    with whole.open("rb") as file:
        chunks = read_index(file).chunks
    for number in numbers:
        content[chunks[number].chunk_start_offset + chunks[number].chunk_length // 2] ^= 1
    path.write_bytes(content)
    return len(chunks)


def test_a_cut_log_becomes_a_whole_one_and_the_loss_is_said(granite: Call, tmp_path, cut, whole):  # noqa: F811
    said = granite("recover", cut, "--out", "new.mcap")
    assert said.code == 0
    recovered, original = read_log("new.mcap"), read_log(whole)
    assert recovered.complete
    n = recovered.ticks
    assert 100 < n < original.ticks
    assert said.out.startswith(f"{n} rows recovered; lost: all after t = {recovered.t[-1]:.6g} s of 8 s\n")
    np.testing.assert_array_equal(bits(recovered.rows), bits(original.rows[:n]))
    assert (recovered.bed, recovered.summary["ended"], recovered.summary["ticks"]) == (original.bed, "cut", n)
    assert recovered.events == original.events[: len(recovered.events)]
    assert recovered.info["changes"] == original.info["changes"]
    assert granite("replay", "new.mcap").code == 0
    assert left_in(tmp_path) == ["cut.mcap", "new.mcap"]


@pytest.mark.parametrize("number", [0, 1])
def test_rows_after_a_damaged_chunk_are_recovered_and_the_missing_ones_counted(granite: Call, tmp_path, whole, number):  # noqa: F811
    path = tmp_path / "damaged.mcap"
    assert damaged_in_chunk(whole, path, [number]) > 2
    said = granite("recover", path, "--out", "new.mcap")
    recovered, original = read_log("new.mcap"), read_log(whole)
    lost = original.ticks - recovered.ticks
    assert 0 < lost < original.ticks - 200
    assert said.out.startswith(f"{recovered.ticks} rows recovered; lost: {lost} rows in damaged parts\n")
    assert recovered.summary["ended"] == "completed"
    assert recovered.summary["rows_lost"] == lost
    assert recovered["/timing"].lost[-1] == lost
    t = set(recovered.t)
    kept = [i for i, at in enumerate(original.t) if at in t]
    column = original.channels.column("/timing", "lost")
    others = [i for i in range(original.channels.width) if i != column]
    np.testing.assert_array_equal(bits(recovered.rows[:, others]), bits(original.rows[kept][:, others]))
    again = replay(recovered)
    assert again.first is None
    assert again.gap is not None
    assert again.ticks == np.flatnonzero(recovered["/timing"].lost)[0]


def test_what_a_killed_run_left_is_recovered_under_its_own_name(granite: Call, tmp_path, cut):  # noqa: F811
    cut.rename(tmp_path / "run.part.mcap")
    assert read_log("run.mcap").ticks > 0  # found where there is no finished one
    assert granite("recover", "run.mcap", "--out", "run.mcap").code == 0
    assert read_log("run.mcap").complete
    assert left_in(tmp_path) == ["run.mcap", "run.part.mcap"]


def test_a_log_without_a_row_or_onto_itself_is_not_recovered(granite: Call, tmp_path, cut):  # noqa: F811
    assert "is the damaged one" in sentence_of(granite("recover", cut, "--out", cut, "--overwrite"))
    (tmp_path / "text.mcap").write_text("no log")
    assert "not an MCAP file" in sentence_of(granite("recover", "text.mcap", "--out", "new.mcap"))
    assert left_in(tmp_path) == ["cut.mcap", "text.mcap"]


def test_a_log_that_is_being_recorded_ends_with_a_chunk_that_is_not_closed(tmp_path, whole):
    with whole.open("rb") as file:
        second = read_index(file).chunks[1]
    content = bytearray(whole.read_bytes()[: second.chunk_start_offset + second.chunk_length // 2])
    content[second.chunk_start_offset + 1 : second.chunk_start_offset + 9] = (
        b"\xff" * 8
    )  # as a recorder writes it first
    path = tmp_path / "run.part.mcap"
    path.write_bytes(content)
    log = read_log(path)
    assert log.ticks > 100
    assert log.damage == "a chunk that is not closed"


@pytest.mark.slow
def test_commands_on_a_cut_log_do_their_work_and_end_with_the_documented_code(granite: Call, tmp_path, cut, whole):  # noqa: F811
    for arguments in (("replay", cut), ("plot", cut), ("info", cut), ("compare", cut, whole)):
        said = granite(*arguments)
        sentence = sentence_of(said, 1)
        assert "cut.mcap' is cut off or damaged after" in sentence
        assert "granite recover" in sentence
        assert said.out
    assert (tmp_path / "cut.png").stat().st_size > 10_000
    for arguments in (("replay", whole), ("info", whole)):
        assert granite(*arguments).code == 0


def test_the_head_of_a_log_says_what_was_run_where_and_when(granite: Call, whole):  # noqa: F811
    info = granite("info", whole, "--json").json
    assert info["granite"] == importlib.metadata.version("granite-robotics")
    assert (info["bed"], info["seed"], info["host"]) == ("free-flyer", "3", platform.node())
    assert info["changes"] == CHANGES
    assert info["date"][:2] == "20"
    assert (info["rows"], info["ended"], info["complete"]) == (1600, "completed", True)
    table = granite("info", whole).out
    for text in ("free-flyer", "seed=3", info["date"], "completed"):
        assert text in table
