"""What the page draws of a log contains every value of its rows."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import granite as api
from granite.config.errors import InputError
from granite.console import log_reader
from granite.console.log_reader import OpenLog
from granite.console.shown_signals import known
from granite.logs import logged_rows
from granite.logs.log import Log
from tests.support.console_server import Served, serving

NAMES = ["truth.base_x_m", "applied.motors_elbow_torque_n_m", "reference.elbow_rad"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    api.simulate(api.load("free-flyer", {"loop.duration_s": 3.0}), path / "run.mcap")
    return path


@pytest.fixture(scope="module")
def opened(folder: Path) -> OpenLog:
    return OpenLog(str(folder / "run.mcap"), lambda part: None)


@pytest.fixture
def rows(opened: OpenLog) -> np.ndarray:
    log = opened.log
    columns = [log.channels.column(*name.split(".")) for name in NAMES]
    return known(log.channels, log.rows)[:, columns]


@given(
    begin=st.floats(0, 2.9), length=st.floats(0.001, 3), pixels=st.integers(1, 40), raw=st.sampled_from([0, 50, 4000])
)
@settings(max_examples=60, deadline=None)
def test_least_and_greatest_contain_every_value(opened, begin, length, pixels, raw):
    log = opened.log
    columns = [log.channels.column(*name.split(".")) for name in NAMES]
    values = known(log.channels, log.rows)[:, columns]
    before, log_reader._RAW = log_reader._RAW, raw
    try:
        data = np.frombuffer(opened.signals(NAMES, begin, begin + length, pixels))
    finally:
        log_reader._RAW = before
    n = len(data) // (1 + 2 * len(NAMES))
    t, rest = data[:n], data[n:].reshape(2, len(NAMES), n)
    inside = np.flatnonzero((log.t >= begin) & (log.t <= begin + length))
    for i in range(len(NAMES)):
        for row in inside:
            block = np.searchsorted(t, log.t[row], side="right") - 1
            value = values[row, i]
            assert np.isnan(value) or rest[0, i, block] <= value <= rest[1, i, block]
    assert n <= max(raw, 2 * pixels) or n <= len(log.t) // 16 + 2


def test_nothing_is_drawn_of_a_reference_before_the_estimate_is_ready(opened: OpenLog, rows: np.ndarray):
    ready = opened.log["/state"].ready == 1.0
    assert not ready[0]
    assert np.isnan(rows[~ready, 2]).all()
    assert np.isfinite(rows[ready]).all()


def test_a_scene_is_that_of_the_row_at_its_time(opened: OpenLog):
    scenes = opened.scenes([0.0, 1.0, 2.999, 99.0])
    assert [t for t, _, _ in scenes] == [0.0, 1.0, 2.995, 2.995]
    row = opened.log.rows_between(200, 201)
    assert scenes[1][2] == opened.scene.picture(row)[1]
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
def served(folder: Path) -> Iterator[Served]:
    with serving(folder) as found:
        yield found


def test_a_log_is_listed_opened_and_read_by_the_page(served: Served, folder: Path, opened: OpenLog):
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


def test_a_log_that_is_damaged_or_gone_gets_one_sentence(served: Served, folder: Path):
    (folder / "bad.mcap").write_bytes(b"no log")
    query, cookie = f"?path={folder / 'bad.mcap'}", served.cookie()
    status, _, content = served.request(f"/api/log{query}", cookie=cookie)
    assert (status, b"is not an MCAP file" in content) == (400, True)
    (folder / "bad.mcap").unlink()
    assert served.request(f"/api/log{query}", cookie=cookie)[0] == 400
    with pytest.raises(InputError):
        OpenLog(str(folder / "bad.mcap"), lambda part: None)
