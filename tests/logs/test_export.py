"""Exports: what other programs read from them is the log, to the bit, with its units."""

from pathlib import Path

import numpy as np
import pytest

import granite as api
from granite.logs.export import export_log
from granite.logs.log import Log
from tests.support.command_line import Call, left_in, sentence_of
from tests.support.command_line import granite as granite


@pytest.fixture(scope="module")
def log() -> Log:
    return api.simulate(api.load("free-flyer", {"loop.duration_s": 0.5}))


def test_csv_has_every_signal_to_the_bit(log: Log, tmp_path: Path):
    n = export_log(log, tmp_path / "run.csv", ["truth", "/timing"])
    names = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert len(names) == n + 1
    values = np.genfromtxt(tmp_path / "run.csv", delimiter=",", skip_header=1)
    np.testing.assert_array_equal(values[:, names.index("truth.base_x_m")], log["/truth"].base_x_m)
    np.testing.assert_array_equal(values[:, 0], log.t)


def test_mat_has_topics_with_units(log: Log, tmp_path: Path):
    from scipy.io import loadmat

    export_log(log, tmp_path / "run.mat")
    topics = loadmat(tmp_path / "run.mat", simplify_cells=True)
    np.testing.assert_array_equal(topics["truth"]["base_heading_rad"], log["/truth"].base_heading_rad)
    assert topics["truth"]["units"]["base_heading_rad_s"] == "rad/s"
    assert topics["sample"]["units"]["joint_sensors_shoulder_angle_rad"] == "rad"
    assert topics["bed"] == "free-flyer"


def test_parquet_has_units_in_its_schema(log: Log, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is missing: pip install granite-robotics[parquet]")
    export_log(log, tmp_path / "run.parquet", ["truth"])
    columns = parquet.read_table(tmp_path / "run.parquet")
    np.testing.assert_array_equal(columns["truth.base_y_m"].to_numpy(), log["/truth"].base_y_m)
    assert columns.schema.field("truth.base_y_m_s").metadata == {b"unit": b"m/s"}


def test_the_command_writes_a_table_and_refuses_what_it_can_not(granite: Call, tmp_path: Path):
    api.simulate(api.load("free-flyer", {"loop.duration_s": 0.1}), "run.mcap")
    assert "table: run.csv" in granite("export", "run.mcap", "--topics", "truth,state").out
    assert "table 'run.csv' exists" in sentence_of(granite("export", "run.mcap"))
    assert "no such topic" in sentence_of(granite("export", "run.mcap", "--out", "a.csv", "--topics", "thruth"))
    assert "expected a name that ends in" in sentence_of(granite("export", "run.mcap", "--out", "a.xls"))
    assert left_in(tmp_path) == ["run.csv", "run.mcap"]


def test_a_missing_package_is_named(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(api.InputError, match=r"pyarrow is not installed.*granite-robotics\[parquet\]"):
        export_log(log, tmp_path / "run.parquet")
    assert not list(tmp_path.iterdir())
