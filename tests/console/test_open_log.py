"""What the page draws of a log contains every value of its rows."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import granite as api
from granite.config.errors import InputError
from granite.console.open_log import OpenLog
from granite.console.workshop import Workshop
from granite.logs import extremes, logged_rows
from granite.logs.comparison import compare
from granite.logs.extremes import EXTREMES, Extremes, ExtremesOfRows, known
from granite.logs.indexed_log import opened_by_index
from granite.logs.json_records import finite
from granite.logs.log import Log
from tests.support.console_server import ServedConsole, serving

NAMES = ["truth.base_x_m", "applied.motors_elbow_torque_n_m", "reference.elbow_rad"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    api.simulate(api.load("free-flyer", {"loop.duration_s": 3.0}), path / "run.mcap")
    return path


@pytest.fixture(scope="module", params=["by its index", "by a pass"])
def opened(request: pytest.FixtureRequest, folder: Path) -> OpenLog:
    """The same log with extremes and, as an older one, without."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by a pass":
            patch.setattr("granite.console.open_log.opened_by_index", lambda path: None)
        return OpenLog(str(folder / "run.mcap"))


@pytest.fixture(scope="module")
def log(folder: Path) -> Log:
    return api.read_log(folder / "run.mcap")


def values_of(log: Log) -> np.ndarray:
    columns = [log.channels.column(*name.split(".")) for name in NAMES]
    return known(log.channels, log.rows)[:, columns]


@given(begin=st.floats(0, 2.9), length=st.floats(0.001, 3), pixels=st.integers(1, 400))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_least_and_greatest_contain_every_value(opened, log, begin, length, pixels):
    values = values_of(log)
    data = np.frombuffer(opened.signals(NAMES, begin, begin + length, pixels))
    n = len(data) // (1 + 2 * len(NAMES))
    t, rest = data[:n], data[n:].reshape(2, len(NAMES), n)
    inside = np.flatnonzero((log.t >= begin) & (log.t <= begin + length))
    block = np.searchsorted(t, log.t[inside], side="right") - 1
    for i in range(len(NAMES)):
        low, value, high = rest[0, i, block], values[inside, i], rest[1, i, block]
        assert (np.isnan(value) | ((low <= value) & (value <= high))).all()
    assert n <= max(4 * pixels + 4, 8)


@given(lengths=st.lists(st.integers(1, 90), min_size=1, max_size=12), most=st.sampled_from([2, 4, 8]))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_extremes_of_any_batches_are_those_of_the_rows(log, lengths, most):
    """Also where blocks are joined because they are too many, and after they were packed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extremes, "MOST", most)
        collector = ExtremesOfRows(log.channels)
        rows = log.rows[: sum(lengths)]
        for batch in np.split(rows, np.cumsum(lengths)[:-1]):
            if len(batch):
                collector.add(batch)
        result = collector.result()
        again = Extremes.unpacked(result.packed(), log.channels.width)
    assert len(result.t) <= most
    assert again.block % 64 == 0
    shown = known(log.channels, rows)
    for i in range(len(again.t)):
        part = shown[i * again.block : (i + 1) * again.block]
        assert again.t[i] == log.t[i * again.block]
        assert (np.isnan(part) | ((again.low[i] <= part) & (part <= again.high[i]))).all()
        assert np.isnan(again.low[i]).tolist() == np.isnan(part).all(axis=0).tolist()


@pytest.mark.parametrize("at", [0, 4, 8, 12, 16, 40, -1])
def test_damaged_extremes_are_not_used(log: Log, at: int):
    collector = ExtremesOfRows(log.channels)
    collector.add(log.rows[:200])
    packed = bytearray(collector.result().packed())
    packed[at] ^= 0xFF
    damaged = Extremes.unpacked(bytes(packed), log.channels.width)
    assert damaged is None or at in (40, -1)  # the checksum of the attachment finds the others
    assert Extremes.unpacked(bytes(packed[:30]), log.channels.width) is None


def test_a_log_without_a_whole_index_is_read_by_a_pass(folder: Path, tmp_path: Path):
    whole = (folder / "run.mcap").read_bytes()
    cut, at = tmp_path / "cut.mcap", whole.index(EXTREMES.encode())
    cut.write_bytes(whole[: at - 100])
    assert opened_by_index(folder / "run.mcap") is not None
    assert opened_by_index(cut) is None
    damaged = tmp_path / "damaged.mcap"
    at += 500
    damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert opened_by_index(damaged) is None
    assert OpenLog(str(cut)).head()["complete"] is False


@given(t0=st.floats(-1, 4), length=st.floats(0, 4))
@example(t0=3.5, length=0.0)
@example(t0=-1.0, length=0.0)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_in_a_time_are_those_of_the_whole_log(opened, log, t0, length):
    rows = opened.rows_in(t0, t0 + length)
    first = int(np.searchsorted(log.t, rows[0, log.channels.column("/timing", "scheduled_s")]))
    assert np.array_equal(rows, log.rows[first : first + len(rows)], equal_nan=True)
    wanted = (log.t >= t0) & (log.t <= t0 + length)
    assert first <= (np.flatnonzero(wanted)[0] if wanted.any() else first)
    assert first + len(rows) > (np.flatnonzero(wanted)[-1] if wanted.any() else 0)


def test_a_difference_is_that_of_the_rows(folder: Path, log: Log):
    api.simulate(api.load("free-flyer", {"loop.duration_s": 3.0, "seed": 7}), folder / "other.mcap", overwrite=True)
    other, shop = api.read_log(folder / "other.mcap"), Workshop(lambda part: None)
    paths = str(folder / "run.mcap"), str(folder / "other.mcap")
    data = np.frombuffer(shop.difference(*paths, NAMES, 0.0, 9.0, 1000))
    expected = values_of(log) - values_of(other)
    n = len(data) // (1 + 2 * len(NAMES))
    assert np.array_equal(data[n:].reshape(2, len(NAMES), n)[0].T, expected, equal_nan=True)
    assert shop.compare(list(paths)) == finite(compare({path: api.read_log(path) for path in paths}))
    (folder / "other.mcap").unlink()


def test_nothing_is_drawn_of_a_reference_before_the_estimate_is_ready(log: Log):
    ready, rows = log["/state"].ready == 1.0, values_of(log)
    assert not ready[0]
    assert np.isnan(rows[~ready, 2]).all()
    assert np.isfinite(rows[ready]).all()


def test_a_scene_is_that_of_the_row_at_its_time(opened: OpenLog):
    scenes = opened.scenes([0.0, 1.0, 2.999, 99.0])
    assert [t for t, _, _ in scenes] == [0.0, 1.0, 2.995, 2.995]
    assert scenes[1][2] == opened.scene.picture(opened.rows_in(1.0, 1.0))[1]
    assert scenes[2] == scenes[3][:1] + scenes[2][1:]


@pytest.mark.parametrize("kept", [0, 64 * 2**20])
def test_rows_between_two_are_those_of_the_whole(folder: Path, kept: int, monkeypatch: pytest.MonkeyPatch):
    """From memory, and from the chunks of a file that have them."""
    monkeypatch.setattr(logged_rows, "KEPT", kept)
    whole = api.read_log(folder / "run.mcap").rows
    log: Log = api.read_log(folder / "run.mcap")
    for first, last in [(0, 1), (0, 600), (17, 18), (599, 600), (300, 450), (590, 9999), (-5, 3), (5, 5), (700, 800)]:
        assert np.array_equal(log.rows_between(first, last), whole[max(first, 0) : last], equal_nan=True)


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[ServedConsole]:
    with serving(folder) as server:
        yield server


def test_a_log_is_listed_opened_and_read_by_the_page(served: ServedConsole, folder: Path, opened: OpenLog):
    cookie = served.cookie(served.console.tokens.looking)
    [listed] = served.get("/api/logs", cookie)
    assert (listed["bed"], listed["ended"], listed["changes"]) == ("free-flyer", "completed", [])
    query = f"?path={folder / 'run.mcap'}"
    head = served.get(f"/api/log{query}", cookie)
    assert head == json.loads(json.dumps(opened.head()))
    names = ",".join(NAMES)
    _, _, content = served.request(f"/api/log/signals{query}&names={names}&t0=0&t1=3&pixels=500", cookie=cookie)
    assert content == opened.signals(NAMES, 0.0, 3.0, 500)
    for bad in ("t0=x&t1=1", "t0=nan&t1=1", "t0=0"):
        assert served.request(f"/api/log/signals{query}&names={names}&{bad}&pixels=5", cookie=cookie)[0] == 400
    assert served.request(f"/api/log/signals{query}&names=no.such&t0=0&t1=1&pixels=5", cookie=cookie)[0] == 400


def test_a_log_that_is_damaged_or_gone_gets_one_sentence(served: ServedConsole, folder: Path):
    (folder / "bad.mcap").write_bytes(b"no log")
    query, cookie = f"?path={folder / 'bad.mcap'}", served.cookie()
    status, _, content = served.request(f"/api/log{query}", cookie=cookie)
    assert (status, b"is not an MCAP file" in content) == (400, True)
    (folder / "bad.mcap").unlink()
    assert served.request(f"/api/log{query}", cookie=cookie)[0] == 400
    with pytest.raises(InputError):
        OpenLog(str(folder / "bad.mcap"))
