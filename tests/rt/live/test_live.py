"""The live view, seen by a client that is not ours: the `websockets` package and the protocol's own bytes."""

import base64
import socket
import struct
import time
from pathlib import Path
from typing import Any

import foxglove
import numpy as np
import pytest

import granite as api
from granite.logs.channels import Channels
from granite.logs.mcap_file import message_type
from granite.rt.live.live_server import LiveServer
from granite.rt.live.live_view import LinkNews
from granite.rt.run import Run
from granite.views.scene_messages.live_scene import LiveScene
from tests.support.command_line import Call, left_in, sentence_of
from tests.support.command_line import granite as granite
from tests.support.foxglove_client import Connection, free_port, messages_in, talking
from tests.support.unhurried import LIMITS

SCENE = ("/scene", "/scene/marks", "/tf", "/truth", "/log")


def watch(connection: Connection) -> None:
    """It only reads."""


def test_rows_come_whole_one_after_the_other(tmp_path: Path):
    bed = api.load("free-flyer", {"loop.duration_s": 0.5, **LIMITS})
    with talking(bed, tmp_path / "run.mcap", watch, ("/rows",)) as (seen, _):
        pass
    log = api.read_log(tmp_path / "run.mcap")
    messages = [message for _, _, message in seen.messages]
    sizes = [int.from_bytes(message[4:8], "little") for message in messages]
    assert [len(message) for message in messages] == [12 + 8 * size for size in sizes]
    rows = np.concatenate([np.frombuffer(message[12:]) for message in messages]).reshape(-1, log.channels.width)
    assert len(rows) > 20
    first = int(rows[0, log.channels.column("/timing", "tick")])
    assert np.array_equal(rows, log.rows[first : first + len(rows)], equal_nan=True)
    assert "/rows" not in messages_in(tmp_path / "run.mcap")


def test_a_client_sees_scene_signals_and_events(tmp_path: Path):
    bed = api.load("free-flyer", {"loop.duration_s": 0.8, **LIMITS})
    with talking(bed, tmp_path / "run.mcap", watch, SCENE) as (seen, summary):
        pass
    assert summary["ended"] == "completed"
    assert seen.protocol == "foxglove.sdk.v1"
    assert seen.info["capabilities"] == ["parameters", "parametersSubscribe"]  # nobody can publish anything
    schemas = {topic: seen.channels[topic]["schemaName"] for topic in SCENE}
    names = (
        "foxglove.SceneUpdate",
        "foxglove.SceneUpdate",
        "foxglove.FrameTransforms",
        message_type(Channels.of(bed).topic("/truth")),
        "foxglove.Log",
    )
    assert schemas == dict(zip(SCENE, names, strict=True))
    assert b"SceneEntity" in base64.b64decode(seen.channels["/scene"]["schema"])
    log = api.read_log(tmp_path / "run.mcap")
    assert {topic.name for topic in log.channels.topics} <= set(seen.channels)
    # Signals are those of the log, to the bit.
    rows = {at: message for topic, at, message in seen.messages if topic == "/truth"}
    assert len(rows) > 20
    start, truth = int(log.info["start_ns"]), log.channels.topic("/truth")
    for t, row in zip(log.t, log.rows, strict=True):
        if (at := start + round(t * 1e9)) in rows:
            assert rows.pop(at)[4:] == row[truth.start : truth.stop].tobytes()
    assert not rows
    # The shapes of the robot, of its reference and the table came once or twice, each in the frame of a body.
    robot = bed.modules[0]
    shapes, marks, frames = ([m for topic, _, m in seen.messages if topic == wanted] for wanted in SCENE[:3])
    assert 1 <= len(shapes) <= 3
    for part in ("table", *(f"{of}{robot.name}/{body.name}" for of in ("", "reference/") for body in robot.bodies)):
        assert part.encode() in shapes[-1]
    assert len(frames) > 5
    for of in ("", "reference/"):
        for body in robot.bodies:
            assert f"{of}{robot.name}/{body.name}".encode() in frames[-1]
    assert f"{robot.name} jets".encode() in marks[-1]
    # The scene is in the log too, which replays.
    counts = messages_in(tmp_path / "run.mcap")
    assert counts["/scene"] >= 1
    assert counts["/tf"] == counts["/scene/marks"] >= len(frames)
    assert api.replay(log).first is None
    # Not more than 30 scenes in each second of the run, whatever the machine does.
    assert len(frames) <= 30 * 0.8 + 2


@pytest.mark.slow
def test_events_arrive_as_lines_of_a_log(tmp_path: Path):
    silent = {"kind": "fault", "at_s": 1.2, "device": "joint_sensors", "what": "silent"}
    bed = api.load("free-flyer", {"loop.duration_s": 2.0, "simulation.events": [silent], **LIMITS})
    with talking(bed, tmp_path / "run.mcap", watch, SCENE) as (seen, summary):
        pass
    assert summary["ended"] == "sensor_stale"
    events = api.read_log(tmp_path / "run.mcap").events
    lines = [message for topic, _, message in seen.messages if topic == "/log"]
    stale = [str(event["text"]).encode() for event in events if event["name"] == "sensor_stale"]
    assert stale
    assert any(text in line for text in stale for line in lines)


@pytest.mark.slow
def test_a_client_that_stalls_costs_no_row(tmp_path: Path):
    bed = api.load("free-flyer", {"loop.duration_s": 1.5, **LIMITS})
    with talking(bed, tmp_path / "run.mcap", lambda connection: time.sleep(3), SCENE) as (_, summary):
        pass
    assert summary["ended"] == "completed"
    assert summary["rows_lost"] == 0
    assert api.read_log(tmp_path / "run.mcap").complete


def doubles(message: bytes) -> set[float]:
    """Every float64 field of a protobuf message, wherever it stands: enough to find a known number in it."""
    numbers = {struct.unpack_from("<d", message, i)[0] for i in range(len(message) - 7)}
    return {number for number in numbers if np.isfinite(number)}


def sent(name: str) -> tuple[api.Log, set[float]]:
    """A short run, and the numbers in the frames that are sent at its end."""
    log = api.simulate(api.load(name, {"loop.duration_s": 0.2}))
    scene = LiveScene(log.bed, log.channels, log.rows[0])
    parts = scene.parts(log.rows[-1])
    frames, marks = scene.now(log.rows[-5:], parts, 1_000_000_007)
    assert len(scene.shapes(parts, 1_000_000_007).encode()) + len(marks.encode()) > 100
    return log, doubles(frames.encode())


def test_the_frame_of_the_base_is_its_pose():
    log, numbers = sent("free-flyer")
    truth = log["/truth"]
    half = truth.base_heading_rad[-1] / 2
    for expected in (truth.base_x_m[-1], truth.base_y_m[-1], np.sin(half), np.cos(half)):
        assert min(abs(number - expected) for number in numbers) < 1e-12


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_the_frame_of_a_body_in_space_has_its_quaternion():
    log, numbers = sent("spatial-dual-arm/open-loop")
    q = log.rows[-1, log.channels.columns("/truth", "q")]
    turns = [q[i] for i, coordinate in enumerate(log.bed.positions) if coordinate.unit == "1"]
    assert len(turns) == 4
    for part in turns:
        assert min(min(abs(number - part), abs(number + part)) for number in numbers) < 1e-9


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", ["mrds-6a", "flexible-arm"])
def test_testbeds_on_stands_have_a_scene(name: str):
    sent(name)


def test_what_can_not_be_watched_is_refused(granite: Call, tmp_path: Path):
    assert "--realtime" in sentence_of(granite("sim", "free-flyer", "--live", "--duration", 0.1, "--json"), code=2)
    assert "1024 to 65535" in sentence_of(granite("sim", "free-flyer", "--realtime", "--live-port", 80))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = rf"live view: port {port} can't be opened .* another run may have it: expected a free one by --live-port"
        with pytest.raises(api.InputError, match=said):
            Run(api.load("free-flyer", {"loop.duration_s": 0.1})).record(tmp_path / "a.mcap", realtime=True, live=port)
    assert left_in(tmp_path) == []


@pytest.mark.slow
def test_a_view_that_fails_ends_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(server: LiveServer, rows: np.ndarray) -> None:
        raise ValueError("no such colour")

    monkeypatch.setattr(LiveServer, "show", fail)  # the recorder's process is a fork, and has it too
    bed = api.load("free-flyer", {"loop.duration_s": 0.3, **LIMITS})
    summary = Run(bed).record(tmp_path / "run.mcap", realtime=True, live=free_port())
    assert summary["rows_lost"] == 0
    log = api.read_log(tmp_path / "run.mcap")
    assert log.complete
    (event,) = [event for event in log.events if event["name"] == "live_view_lost"]
    assert event["text"] == "the live view ended: no such colour"


@pytest.mark.slow
def test_a_server_that_can_not_be_ended_does_not_keep_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As with clients that subscribe and never read."""

    class Stalled:
        port = 1

        def __init__(self, **options: Any) -> None:
            pass

        def stop(self) -> None:
            time.sleep(60)

    monkeypatch.setattr(foxglove, "start_server", Stalled)  # the recorder's process is a fork, and has it too
    began = time.monotonic()
    summary = Run(api.load("free-flyer", {"loop.duration_s": 0.2})).record(
        tmp_path / "run.mcap", realtime=True, live=free_port()
    )
    assert (summary["ended"], summary["log_failure"]) == ("completed", None)
    assert time.monotonic() - began < 30
    assert api.read_log(tmp_path / "run.mcap").complete


def test_what_is_new_is_taken_once():
    news = LinkNews()
    first = {"board a": (1.0, {"received": 200, "clock_drift": float("nan")}), "board b": (1.0, {"received": 7})}
    news.put(first)
    news.put(first)
    news.put({**first, "board b": (2.0, {"received": 9})})
    assert news.take() == [
        {"link": "board a", "t_s": 1.0, "received": 200, "clock_drift": None},
        {"link": "board b", "t_s": 1.0, "received": 7},
        {"link": "board b", "t_s": 2.0, "received": 9},
    ]
    assert news.take() == []
    news.close()


def test_a_reader_that_is_late_loses_lines_and_a_long_line_is_left_out():
    news = LinkNews()
    for t in range(100):
        news.put({"board": (float(t), {"received": t})})
    assert [line["received"] for line in news.take()] == list(range(64))
    news.put({"b" * 3000: (1.0, {})})
    assert news.take() == []
    news.close()
