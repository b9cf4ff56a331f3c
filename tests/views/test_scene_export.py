"""A log with its scene for the 3D panel of a viewer, and layouts of viewers for the signals of a testbed."""

import json
import math
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from mcap.reader import make_reader

import granite as api
from granite.config.loader import load
from granite.logs.channels import Channels
from granite.views.scene_messages.layouts import LAYOUTS
from tests.support.command_line import Call, sentence_of
from tests.support.command_line import granite as granite
from tests.support.foxglove_client import messages_in


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "run.mcap"
    api.simulate(api.load("free-flyer", {"loop.duration_s": 2.0}), path)
    return path


def test_a_log_with_its_scene_is_played_back_and_still_a_log(granite: Call, log: Path, tmp_path: Path):
    new = tmp_path / "scene.mcap"
    assert "400 rows with their scene" in granite("export", log, "--out", new).out
    counts = messages_in(new)
    assert 60 <= counts["/tf"] == counts["/scene/marks"] <= 62  # 30 a second, and where a block of rows ends
    assert 1 <= counts["/scene"] <= 2  # before and after the state is ready
    assert counts["/truth"] == 400
    with new.open("rb") as file:
        last = {channel.topic: message for _, channel, message in make_reader(file).iter_messages()}
    exported = api.read_log(new)
    heading = exported["/truth"].base_heading_rad[-1]
    numbers = [struct.unpack_from("<d", last["/tf"].data, i)[0] for i in range(len(last["/tf"].data) - 7)]
    for expected in (exported["/truth"].base_x_m[-1], math.sin(heading / 2)):
        assert any(abs(number - expected) < 1e-12 for number in numbers)
    assert b"reference/vehicle/base" in last["/scene"].data
    # The rows are those of the log, which replays; the scene adds less than a fifth to its size.
    assert exported.rows.tobytes() == api.read_log(log).rows.tobytes()
    assert api.replay(exported).first is None
    assert new.stat().st_size < 1.2 * log.stat().st_size


@pytest.mark.parametrize(
    "name", ["free-flyer", "two-arm-free-flyer", "leap", "flexible-arm", "spatial-dual-arm/open-loop", "mrds-3"]
)
def test_every_signal_of_a_layout_is_one_of_the_testbed(name: str):
    bed = load(name)
    channels = Channels.of(bed)
    known = {(topic.name, value.key) for topic in channels.topics for _, value in topic.values}
    foxglove = json.loads(LAYOUTS["foxglove"][0](bed, channels))
    paths = [path["value"] for panel in foxglove["configById"].values() for path in panel.get("paths", ())]
    assert paths
    assert {tuple(path.split(".")) for path in paths} <= known
    assert set(foxglove["configById"]["3D!scene"]["topics"]) == {"/scene", "/scene/marks"}
    assert panels_in(foxglove["layout"]) == set(foxglove["configById"])
    plotjuggler = ElementTree.fromstring(LAYOUTS["plotjuggler"][0](bed, channels))
    curves = [curve.get("name", "").split("/") for curve in plotjuggler.iter("curve")]
    assert {(f"/{topic}", key) for _, topic, key in curves} == {tuple(path.split(".")) for path in paths}


def test_layouts_have_what_their_viewers_need_to_draw():
    """As in the source of Lichtblick 1.28 and of PlotJuggler 3: titles, a camera above the table, colours, sizes."""
    bed = load("free-flyer")
    panels = json.loads(LAYOUTS["foxglove"][0](bed, Channels.of(bed)))["configById"]
    assert {name.split("!")[0] for name in panels} == {"3D", "Parameters", "RawMessages", "Plot"}
    assert (
        panels["Plot!base_x_m"]["lichtblickPanelTitle"] == panels["Plot!base_x_m"]["foxglovePanelTitle"] == "base_x_m"
    )
    camera = panels["3D!scene"]["cameraState"]
    x_min, y_min, x_max, y_max = bed.safety.table_m or ()
    assert camera["targetOffset"][:2] == pytest.approx([(x_min + x_max) / 2, (y_min + y_max) / 2])
    reach = camera["distance"] * math.tan(math.radians(camera["fovy"] / 2))
    assert reach > max(x_max - x_min, y_max - y_min) / 2
    root = ElementTree.fromstring(LAYOUTS["plotjuggler"][0](bed, Channels.of(bed)))
    for splitter in root.iter("DockSplitter"):
        sizes = [float(size) for size in splitter.get("sizes", "").split(";")]
        assert len(splitter) == len(sizes) == int(splitter.get("count", "0"))
        assert sum(sizes) == pytest.approx(1.0, abs=0.01)
    for plot in root.iter("plot"):
        colours = [curve.get("color") for curve in plot.iter("curve")]
        assert None not in colours
        assert len(set(colours)) == len(colours)


def panels_in(tree: object) -> set[str]:
    """The panels in a tree of halves."""
    if isinstance(tree, dict):
        return panels_in(tree["first"]) | panels_in(tree["second"])
    return {str(tree)}


def test_layouts_are_written_beside_the_log(granite: Call, log: Path):
    assert "run-foxglove.json" in granite("export", log, "--layout", "foxglove").out
    assert "configById" in json.loads((log.parent / "run-foxglove.json").read_text())
    assert "run-plotjuggler.xml" in granite("export", log, "--layout", "plotjuggler").out


def test_what_can_not_be_exported_is_refused(granite: Call, log: Path, tmp_path: Path):
    assert "foxglove, plotjuggler" in sentence_of(granite("export", log, "--layout", "rviz"))
    assert "ends in .json" in sentence_of(granite("export", log, "--layout", "foxglove", "--out", tmp_path / "a.xml"))
    assert "expected another name" in sentence_of(granite("export", log, "--out", log, "--overwrite"))
    assert "expected a table with it" in sentence_of(
        granite("export", log, "--out", tmp_path / "a.mcap", "--topics", "truth")
    )
    assert "exists" in sentence_of(granite("export", log, "--out", log))
