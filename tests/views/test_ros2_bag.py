"""A log as a rosbag2 folder, read back by `rosbags`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

import granite
from granite.config.errors import InputError
from granite.logs.channels import Channels
from granite.views.ros2.bag import export_bag
from granite.views.ros2.standard_messages import StandardMessages


def messages_of(paths: list[Path]) -> dict[str, list]:
    content: dict[str, list] = {}
    with AnyReader(paths) as reader:
        for connection, ns, raw in reader.messages():
            content.setdefault(connection.topic, []).append((ns, reader.deserialize(raw, connection.msgtype)))
    return content


def recorded(path: Path, bed: str, *changes: str) -> granite.Log:
    granite.simulate(granite.load(bed, [*changes]), log=path)
    return granite.read_log(path)


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> granite.Log:
    folder = tmp_path_factory.mktemp("flight")
    return recorded(folder / "run.mcap", "free-flyer", "loop.duration_s=0.5")


def test_standard_messages_have_the_numbers_of_the_log(flight: granite.Log, tmp_path: Path):
    count = export_bag(flight, tmp_path / "bag")
    content = messages_of([tmp_path / "bag"])
    assert sum(map(len, content.values())) == count
    poses = content["/granite/truth/vehicle/pose"]
    assert [ns for ns, _ in poses] == [round(t * 1e9) for t in flight["/timing"].scheduled_s]
    assert [pose.pose.position.x for _, pose in poses] == flight["/truth"].base_x_m.tolist()
    assert poses[-1][1].header.frame_id == "world"
    heading = 2 * np.arctan2(poses[-1][1].pose.orientation.z, poses[-1][1].pose.orientation.w)
    assert heading == pytest.approx(flight["/truth"].base_heading_rad[-1], abs=1e-15)
    twist = content["/granite/truth/vehicle/twist"][-1][1].twist
    assert (twist.linear.y, twist.angular.z) == (
        flight["/truth"].base_y_m_s[-1],
        flight["/truth"].base_heading_rad_s[-1],
    )
    joints = content["/granite/estimate/joint_states"][-1][1]
    assert list(joints.name) == ["shoulder", "elbow"]
    assert joints.position[1] == flight["/state"].elbow_rad[-1]
    assert joints.effort[1] == flight["/verdict"].motors_elbow_torque_n_m[-1]
    wrench = content["/granite/demand/vehicle/wrench"][-1][1]
    assert (wrench.header.frame_id, wrench.wrench.torque.z) == ("vehicle/base", flight["/demand"].wrench_mz_n_m[-1])
    frames = {frame.child_frame_id: frame.transform for frame in content["/tf"][-1][1].transforms}
    assert list(frames) == ["vehicle/base", "vehicle/upper_arm", "vehicle/forearm"]
    assert frames["vehicle/base"].translation.x == pytest.approx(flight["/truth"].base_x_m[-1], abs=1e-15)
    assert len(content["/clock"]) == flight.ticks
    assert content["/diagnostics"][-1][1].status[0].hardware_id == "free-flyer"


def test_a_base_in_space_has_its_rates_in_world_axes():
    bed = granite.load("spatial-dual-arm/floating")
    channels, kinds = Channels.of(bed), get_typestore(Stores.ROS2_HUMBLE).types
    row, turn, rate = np.zeros(channels.width), Rotation.from_rotvec([0.3, -0.7, 0.4]), np.array([0.2, 0.5, -0.1])
    truth, (x, y, z, w) = channels.topic("/truth"), turn.as_quat()
    for name, value in zip(("qw", "qx", "qy", "qz"), (w, x, y, z), strict=True):
        row[channels.column("/truth", f"left_base_{name}")] = value
    first = truth.start + [value.key for _, value in truth.values].index("left_base_wx_rad_s")
    row[first : first + 3] = rate
    topics = {topic.name: topic for topic in StandardMessages(bed, channels, row, kinds).topics}
    twist = topics["/granite/truth/left/twist"].message(row, 0).twist
    assert [twist.angular.x, twist.angular.y, twist.angular.z] == pytest.approx(turn.apply(rate), abs=1e-15)


def test_a_folder_that_exists_is_kept_and_nothing_is_left_of_a_failure(flight: granite.Log, tmp_path: Path):
    (tmp_path / "bag").mkdir()
    for overwrite, expected in ((False, "expected a new name, or --overwrite"), (True, "no bag")):
        with pytest.raises(InputError, match=expected):
            export_bag(flight, tmp_path / "bag", overwrite)
    with pytest.raises(InputError, match="can't be written"):
        export_bag(flight, tmp_path / "missing" / "bag")
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]
    export_bag(flight, tmp_path / "other")
    assert export_bag(flight, tmp_path / "other", overwrite=True) > 0


def test_a_log_opens_as_it_is_beside_one_of_another_testbed(tmp_path):
    recorded(tmp_path / "a.mcap", "free-flyer", "loop.duration_s=0.1")
    recorded(tmp_path / "b.mcap", "atmos", "loop.duration_s=0.1")
    logs = [granite.read_log(tmp_path / name) for name in ("a.mcap", "b.mcap")]
    with AnyReader([tmp_path / "a.mcap", tmp_path / "b.mcap"]) as reader:
        states = [c for c in reader.connections if c.topic == "/state"]
        assert len({c.msgtype for c in states}) == 2  # two testbeds, two types
        for log, connection in zip(logs, states, strict=True):
            messages = [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages([connection])]
            values = log.channels.topic("/state").values
            last = [getattr(messages[-1], value.key) for _, value in values]
            part = log.channels.topic("/state")
            assert np.array_equal(last, log.rows[-1, part.start : part.stop], equal_nan=True)
            assert len(messages) == log.ticks
        # Events are JSON, which ROS 2 does not know.
        (event, *_) = [raw for c, _, raw in reader.messages([c for c in reader.connections if c.topic == "/events"])]
        assert json.loads(bytes(event))["name"] == logs[0].events[0]["name"]
