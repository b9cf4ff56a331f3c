"""Reading logs: what is not ours is refused in one sentence, and a log that was cut gives what is left."""

import importlib.metadata
import json

import foxglove
import numpy as np
import pytest
from foxglove import Context

import granite
from granite.config.errors import InputError
from granite.config.loader import file_of, from_json, load, to_json
from granite.logs import mcap_file
from granite.logs.channels import Channels
from granite.logs.log import read_log
from granite.logs.mcap_file import McapFile
from granite.rt.replay import changed_sources, replay
from granite.rt.run import simulate
from granite.views.plots import plot_log
from tests.support.recorded_ticks import bits, make_tick, many_rows

BED = load("free-flyer")
CHANNELS = Channels.of(BED)
FLUSHES, PER_FLUSH = 4, 10


def rows_of(n):
    return np.array([np.frombuffer(CHANNELS.pack(*make_tick(BED, k))) for k in range(n)])


def write(path, rows, bed_json=None, per_flush=PER_FLUSH, channels=CHANNELS):
    file = McapFile(str(path), channels, bed_json or to_json(BED), {"bed": BED.name}, 0)
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
    rows = many_rows(BED, CHANNELS, 2000)  # more than fits one chunk
    rows[:, CHANNELS.columns("/truth", "u")] = np.random.default_rng(0).random((2000, 5))
    path = write(tmp_path / "cut.mcap", rows, per_flush=2000)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    log = read_log(path)
    assert 100 < len(log.rows) < 2000
    np.testing.assert_array_equal(bits(log.rows), bits(rows[: len(log.rows)]))


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
        assert log.bed == BED.model_copy(update={"tuning": None})
        np.testing.assert_array_equal(bits(log.rows), bits(rows[: len(log.rows)]))


def test_rows_can_not_be_changed_by_accident(tmp_path, whole):
    path = tmp_path / "run.mcap"
    path.write_bytes(whole)
    log = read_log(path)
    assert log.complete
    with pytest.raises(ValueError):
        log.rows[0, 0] = 1.0


def test_a_log_shows_itself_in_a_line_and_in_a_notebook_as_a_table():
    log = granite.simulate(load("free-flyer", {"loop.duration_s": 0.5, "name": "a<b"}))
    assert repr(log) == "<Log of a<b: ticks 100, length 0.5 s, events 1, ended completed>"
    table = log._repr_html_()
    assert "a&lt;b" in table
    assert "elbow, largest error of the last 5 s" in table
    picture = granite.plot(log)
    assert picture == picture._repr_png_()
    assert picture[1:4] == b"PNG"


def test_a_missing_log_is_named(tmp_path):
    assert "can't be read: No such file or directory, expected a log, as granite" in refusal(tmp_path / "none.mcap")
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
    expected = mcap_file.FORMAT
    monkeypatch.setattr(mcap_file, "FORMAT", "99")
    path = write(tmp_path / "newer.mcap", rows_of(1))
    assert f"has format 99, expected format {expected}:" in refusal(path)


def test_a_log_cut_before_its_configuration_is_refused(tmp_path, whole):
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole[: whole.index(b"testbed.json") + 50])
    assert "cut off before its configuration" in refusal(path)


def test_a_log_without_a_tick_is_refused(tmp_path):
    assert "has no complete tick" in refusal(write(tmp_path / "short.mcap", rows_of(0)))


def layout_of(text):
    """Channels that say of their layout what this text says."""
    channels = Channels.of(BED)
    channels.layout = lambda: json.loads(text)
    return channels


def test_a_layout_that_does_not_fit_the_rows_is_refused(tmp_path):
    layout = json.dumps(CHANNELS.layout())
    for i, (right, wrong) in enumerate((("thrusters_r1_opening", "thrusters_q1_opening"), ('"N m"', '"N mm"'))):
        assert right in layout
        channels = layout_of(layout.replace(right, wrong))
        path = write(tmp_path / f"run{i}.mcap", rows_of(1), channels=channels)
        assert "is not laid out as its configuration says" in refusal(path)


@pytest.mark.parametrize("layout", ["[]", '"text"', '{"/sample": 1}', '{"/sample": {"t": [["t"]]}}', "{}"])
def test_a_layout_that_is_none_is_refused_with_the_name_of_the_log(tmp_path, layout):
    assert "layout" in refusal(write(tmp_path / "run.mcap", rows_of(1), channels=layout_of(layout)))


def test_a_configuration_that_is_none_is_refused_with_the_name_of_the_log(tmp_path):
    refusal(write(tmp_path / "run.mcap", rows_of(1), "{}"))


def test_a_log_says_how_its_run_was_made(tmp_path):
    path = tmp_path / "run.mcap"
    bed = load("free-flyer", ["loop.duration_s=0.1", "seed=7"])
    simulate(bed, path, changes=["seed=7"])
    info = read_log(path).info
    assert info["granite"] == importlib.metadata.version("granite-robotics")
    assert (info["bed"], info["seed"], info["mode"]) == ("free-flyer", "7", "virtual")
    assert info["model"] in ("compiled", "interpreted")
    assert json.loads(info["changes"]) == ["seed=7"]
    assert json.loads(info["sources"]) == {}


# A user's own parts.

OWN_PARTS = """
from typing import ClassVar

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.devices.motors import Motors
from granite.config.records import Frame, Status
from granite.controllers.behaviours.waypoints import WaypointBehaviour
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.laws.computed_torque import ComputedTorque
from granite.sim.devices.motors import SimulatedMotors

print("a part that talks while it is imported")


class Simulated:
    def __init__(self):
        self.number = 0

    def open(self):
        pass

    def close(self):
        pass

    def stop(self, t):
        return Frame(t, self.number, Status.OK, np.array([0.0]))

    def read(self, t):
        self.number += 1
        return Frame(t, self.number, Status.OK, np.array([293.0 + t]))

    def write(self, t, setpoint):
        self.number += 1
        return Frame(t, self.number, Status.OK, setpoint)


class Thermometer(Device):
    role: ClassVar = "sensor"
    place: str

    def signals(self, bed):
        return (Coordinate(self.place, "K"),)

    def simulate(self, plant, rng):
        return Simulated()


class Lamp(Device):
    role: ClassVar = "actuator"
    binary: ClassVar = True

    def signals(self, bed):
        return (Coordinate("light", "1"),)

    def bounds(self, bed):
        return ((0.0, 1.0),)

    def simulate(self, plant, rng):
        return Simulated()


class StrongMotors(Motors):
    def simulate(self, plant, rng):
        return SimulatedMotors(self, plant, rng)


class Law(ComputedTorque):
    pass


class Behaviour(WaypointBehaviour):
    pass


class Estimator(KalmanEstimator):
    pass
"""
HOLDS = """
[[behaviour.holds]]
from_s = 0.0
closed = []

[[behaviour.holds]]
from_s = 0.05
closed = ["grip"]
"""
CONTACT = """
[[contacts]]
name = "grip"
kind = "revolute"
first = { position_m = [2.0, 1.0] }
second = { module = "vehicle", point = "tip" }
"""
EXTRA = """
[devices.thermometer]
kind = "own.py:Thermometer"
place = "tank"

[devices.lamp]
kind = "own.py:Lamp"
"""
#: by name, what is changed in the preset
OWN = {
    "devices": [("[controller]\n", f"{EXTRA}\n[controller]\n"), ("age_s = {", "age_s = { thermometer = 0.2,")],
    "motors": [("[devices.motors]\n", '[devices.motors]\nkind = "own.py:StrongMotors"\n')],
    "law": [("[controller.law.gains]", '[controller.law]\nkind = "own.py:Law"\n\n[controller.law.gains]')],
    "estimator": [("[controller.estimator]", '[controller.estimator]\nkind = "own.py:Estimator"')],
    "behaviour": [
        ("[[behaviour.waypoints]]", '[behaviour]\nkind = "own.py:Behaviour"\n\n[[behaviour.waypoints]]'),
        ("[safety]", f"{HOLDS}{CONTACT}\n[safety]"),
    ],
}


def bed_with_own(folder, part):
    text = (file_of("free-flyer")).read_text()
    for right, wrong in OWN[part]:
        assert right in text
        text = text.replace(right, wrong, 1)
    (folder / "mine.toml").write_text(text)
    (folder / "own.py").write_text(OWN_PARTS)
    return load(str(folder / "mine.toml"), ["loop.duration_s=0.3"])


@pytest.mark.slow
@pytest.mark.parametrize("part", OWN)
def test_a_log_of_a_users_own_part_is_read_and_drawn_without_its_file_and_replayed_with_it(tmp_path, part):
    bed, path = bed_with_own(tmp_path, part), tmp_path / "run.mcap"
    summary = simulate(bed, path)
    assert (summary["ended"], summary["ticks"], summary["log_failure"]) == ("completed", 60, None)
    assert set(summary["applied"]) == {"motors_shoulder_torque", "motors_elbow_torque"}
    assert replay(read_log(path)).first is None

    trap = f"open({str(tmp_path / 'trace')!r}, 'w').close()\nraise RuntimeError('a trap')\n"
    (tmp_path / "own.py").write_text(trap)
    log = read_log(path)
    assert not (tmp_path / "trace").exists()  # reading a log runs no code of a user
    assert log.bed.known.positions == bed.known.positions
    assert changed_sources(log) == (str(tmp_path / "own.py"),)
    assert [topic.message for topic in log.channels.topics] == [t.message for t in Channels.of(bed).topics]
    assert len(log.rows) == 60
    assert log.bed.holds == bed.holds
    plot_log(log, tmp_path / "changed.png")
    with pytest.raises(InputError, match=r"own\.py' changed since"):
        replay(log)
    assert not (tmp_path / "trace").exists()
    with pytest.raises(InputError, match=r"own\.py.*a trap"):
        replay(log, trust=True)

    (tmp_path / "own.py").unlink()
    without = read_log(path)
    np.testing.assert_array_equal(bits(without.rows), bits(log.rows))
    plot_log(without, tmp_path / "without.png")
    with pytest.raises(InputError, match=r"no file '.*own\.py'"):
        replay(without)


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_values_of_a_users_own_devices_are_found_by_name(tmp_path):
    path = tmp_path / "run.mcap"
    simulate(bed_with_own(tmp_path, "devices"), path)
    (tmp_path / "own.py").unlink()
    log = read_log(path)
    t = log.rows[:, log.channels.column("/sample", "t_s")]
    np.testing.assert_array_equal(log.rows[:, log.channels.column("/sample", "thermometer_tank_k")], 293.0 + t)
    np.testing.assert_array_equal(log.rows[:, log.channels.column("/applied", "lamp_number")], np.arange(60) + 1)
    assert not log.rows[:, log.channels.column("/command", "lamp_light")].any()


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_a_log_of_an_arm_whose_only_motors_are_a_users_own_is_drawn_without_their_file(tmp_path):
    (tmp_path / "own.py").write_text(OWN_PARTS)
    content = json.loads(to_json(load("free-flyer", ["loop.duration_s=0.3"])))
    content["modules"][0]["base"] = "fixed"
    del content["devices"]["thrusters"], content["devices"]["vision"], content["safety"]["age_s"]["vision"]
    del content["controller"]["law"]["hold"]
    content["behaviour"]["waypoints"][0]["target"] = {"shoulder_rad": 1.2}
    content["simulation"]["initial"] = {}
    content["devices"]["motors"]["kind"] = f"{tmp_path / 'own.py'}:StrongMotors"
    bed, path = from_json(json.dumps(content)), tmp_path / "run.mcap"
    assert simulate(bed, path)["ended"] == "completed"
    (tmp_path / "own.py").unlink()
    log = read_log(path)
    assert log.bed.controlled == bed.controlled
    assert [c.name for c in log.bed.known.positions] == ["shoulder", "elbow"]
    plot_log(log, tmp_path / "run.png")


def test_a_log_that_is_named_without_its_folder_or_suffix_is_found_for_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a-001.mcap").touch()
    for name in ("a-001.mcap", "a-001"):
        assert refusal(name).endswith("(did you mean 'runs/a-001.mcap'?)")
