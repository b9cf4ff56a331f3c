"""An operator by topics and services of ROS 2."""

import json
import math
import os
import subprocess
import sys
import time
from itertools import zip_longest

import pytest

import granite
from granite.drivers.ros2.node import Node
from granite.rt.operator.keys import loop_keys
from granite.rt.replay import replay
from granite.rt.ros2 import operator_topics
from granite.rt.ros2.operator_topics import OperatorTopics
from granite.rt.ros2.options import Ros2
from tests.support import ros2_peer
from tests.support.operator_clients import Session
from tests.support.ros2_peer import (
    DiagnosticArray,
    Duration,
    Header,
    JointState,
    JointTrajectory,
    JointTrajectoryPoint,
    Joy,
    Path,
    Peer,
    PoseStamped,
    String,
    Time,
    pose_goal,
    service,
    until,
)

ON_DEMAND = "behaviour={kind='on_demand'}"
HEADER = Header(Time(0, 0), "world")
#: as ROS 2 prints it
POSE_HASH = "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8"


class Noting:
    """An operator's connection without a run: keeps what it is asked for."""

    asked: list[tuple]

    def __init__(self, address, name, folder) -> None:
        assert (address, name) == ("tcp://127.0.0.1:1", "ros2")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def ask(self, do, **more):
        self.asked.append((do, more))
        listed = [{"name": name, "unit": "m"} for name in ("base_x", "base_y", "base_heading", "elbow")]
        return {
            "ok": do != "start",
            "text": "done" if do != "start" else "refused: not in this mode",
            "coordinates": listed,
        }

    def go(self, target):
        self.asked.append(("go", target))
        return {"ok": True, "text": "done", "duration_s": 12.0}

    def follow(self, columns):
        self.asked.append(("follow", columns))
        return {"ok": True, "text": "done", "duration_s": 12.0}

    def jog(self, **rates):
        self.asked.append(("jog", rates))
        return {"ok": True, "text": "done"}


@pytest.fixture
def asked(monkeypatch, domain, tmp_path):
    """Topics in a process, what was asked of the channel, and the answers."""
    Noting.asked, said = [], []
    monkeypatch.setattr(operator_topics, "Operator", Noting)
    bed, node = granite.load("free-flyer", [ON_DEMAND]), Node()
    topics = OperatorTopics(node, bed, Ros2("tcp://127.0.0.1:1", str(tmp_path)), lambda *told: said.append(told))
    topics.begin()
    yield Peer(domain), Noting.asked, said
    topics.close()


def test_a_service_asks_and_tells_the_client_what_the_loop_said(asked):
    peer, commands, _ = asked
    start, stop = service(peer, "/granite/start"), service(peer, "/granite/stop")
    answer = start()
    assert (answer.success, answer.message) == (False, "refused: not in this mode")
    assert stop().success
    assert commands == [("start", {}), ("stop", {})]


def test_a_pose_and_joint_angles_become_goals_in_the_coordinates_of_the_testbed(asked):
    peer, commands, said = asked
    goal = peer.writer("rt/granite/goal/vehicle/pose", PoseStamped)
    goal.write(pose_goal(2.0, 1.5, (0.0, 0.0, math.sin(0.35), math.cos(0.35))))
    until(lambda: commands, "the goal")
    (_, target), keys = commands[0], {"base_x_m": 2.0, "base_y_m": 1.5, "base_heading_rad": 0.7}
    assert target == pytest.approx(keys)
    assert until(lambda: said, "an answer")[0] == ("info", "goal vehicle", "done in 12 s")
    joints = peer.writer("rt/granite/goal/joint_states", JointState)
    joints.write(JointState(HEADER, ["elbow", "shoulder"], [0.3, -0.2], [], []))
    until(lambda: len(commands) > 1, "the goal")
    assert commands[1] == ("go", {"elbow_rad": 0.3, "shoulder_rad": -0.2})


def path(*poses):
    """Of poses each 2 s."""
    return Path(HEADER, [PoseStamped(Header(Time(100 + 2 * i, 0), ""), pose.pose) for i, pose in enumerate(poses)])


def turned(x, heading):
    return pose_goal(x, 1.0, (0.0, 0.0, math.sin(heading / 2), math.cos(heading / 2)))


def trajectory(names, *rows, velocities=()):
    points = [
        JointTrajectoryPoint(list(row), list(rates), [], [], Duration(1 + i, 500_000_000))
        for i, (row, rates) in enumerate(zip_longest(rows, velocities, fillvalue=()))
    ]
    return JointTrajectory(HEADER, names, points)


def test_paths_and_trajectories_become_columns_that_are_followed(asked):
    peer, commands, said = asked
    base = peer.writer("rt/granite/goal/vehicle/path", Path)
    base.write(path(turned(1.0, 3.0), turned(1.2, 3.1), turned(1.4, -3.1)))  # on over half a turn
    until(lambda: said, "an answer")
    [(do, columns)] = commands
    assert do == "follow"
    assert columns.pop("base_heading_rad") == pytest.approx([3.0, 3.1, math.tau - 3.1])
    assert columns == {"t_s": [0.0, 2.0, 4.0], "base_x_m": [1.0, 1.2, 1.4], "base_y_m": [1.0] * 3}
    assert said == [("info", "path vehicle", "done in 12 s")]
    joints = peer.writer("rt/granite/goal/joint_trajectory", JointTrajectory)
    rows, rates = [(0.1, 0.2), (0.3, 0.4), (0.3, 0.4)], [(0.0, 0.0), (0.1, 0.1), (0.0, 0.0)]
    joints.write(trajectory(["elbow", "shoulder"], *rows))
    until(lambda: len(said) > 1, "an answer")
    expected = {"t_s": [1.5, 2.5, 3.5], "elbow_rad": [0.1, 0.3, 0.3], "shoulder_rad": [0.2, 0.4, 0.4]}
    assert commands[-1] == ("follow", expected)
    joints.write(trajectory(["elbow", "shoulder"], *rows, velocities=rates))
    until(lambda: len(said) > 2, "an answer")
    assert commands[-1] == ("follow", {**expected, "elbow_rad_s": [0.0, 0.1, 0.0], "shoulder_rad_s": [0.0, 0.1, 0.0]})


@pytest.mark.parametrize(
    ("goal", "sentence"),
    [
        (pose_goal(1, 1, (0, 0, 0, 1), "camera"), "frame_id = \"camera\": expected 'world'"),
        (pose_goal(1, 1, (0.7071, 0, 0, 0.7071)), "expected a quaternion of length 1, about z alone"),
        (pose_goal(1, 1, (0, 0, 0, 0)), "expected a quaternion of length 1"),
        (pose_goal(1, 1, (0, 0, math.nan, 1)), "expected a quaternion of length 1"),
        (JointState(HEADER, ["knee"], [0.1], [], []), "no such joint"),
        (JointState(HEADER, ["elbow"], [], [], []), "expected as many as names, 1"),
        (path(turned(1, 0), pose_goal(1, 1, (0.7, 0, 0, 0.7))), "expected a quaternion of length 1, about z alone"),
        (trajectory(["knee"], [0.1]), "no such joint"),
        (trajectory(["elbow"], [], [0.1]), "0 positions in point 1, expected as many as joint_names, 1"),
        (trajectory(["elbow"], [0.1], [0.1], velocities=[[0.0], [0.0, 1.0]]), "2 velocities in point 2"),
        (String("fly"), "expected one of arm, start, hold, stop"),
    ],
)
def test_what_is_no_goal_is_refused_in_one_sentence(goal, sentence, asked):
    peer, commands, said = asked
    topics = {PoseStamped: "goal/vehicle/pose", JointState: "goal/joint_states", String: "command"}
    topic = {**topics, Path: "goal/vehicle/path", JointTrajectory: "goal/joint_trajectory"}[type(goal)]
    peer.writer(f"rt/granite/{topic}", type(goal)).write(goal)
    level, _, text = until(lambda: said, "a refusal")[0]
    assert level == "warning"
    assert text.startswith("refused: ")
    assert sentence in text
    assert commands == []


def test_a_gamepad_jogs_only_while_its_dead_man_is_held(asked):
    peer, commands, _ = asked
    pad = peer.writer("rt/joy", Joy)
    axes, held, free, hold = [0.0, 1.0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0] * 5, [0, 1, 0, 0, 1]
    pad.write(Joy(HEADER, axes, free))
    time.sleep(0.05)
    assert commands == []
    pad.write(Joy(HEADER, axes, held))
    until(lambda: len(commands) == 2, "a jog")
    assert commands[1] == ("jog", {"base_y": pytest.approx(0.04)})
    pad.write(Joy(HEADER, axes, free))
    until(lambda: len(commands) == 3, "rest")
    assert commands[2] == ("jog", {"base_x": 0.0})
    pad.write(Joy(HEADER, axes, hold))
    until(lambda: len(commands) == 4, "a hold")
    assert commands[3] == ("hold", {})


def test_an_operator_of_ros_has_a_key_of_its_own(tmp_path):
    loop_keys(tmp_path)
    assert not (tmp_path / "ros2.secret").exists()
    loop_keys(tmp_path, "ros2")
    assert (tmp_path / "operators" / "ros2.public").exists()


@pytest.mark.slow
def test_a_goal_by_a_topic_moves_the_robot_is_refused_out_of_reach_and_replays(domain, tmp_path):
    with Session(tmp_path, "--ros2", "--set", ON_DEMAND) as session:
        peer = Peer(domain, configured=True)
        arm, start, stop = (service(peer, f"/granite/{name}") for name in ("arm", "start", "stop"))
        answers = peer.reader("rt/diagnostics", DiagnosticArray)
        goal = peer.writer("rt/granite/goal/vehicle/pose", PoseStamped)
        until(lambda: arm().success, "armed")
        until(lambda: start().success, "started")
        session.until("running")

        def answered(x):
            goal.write(pose_goal(x, 1.0, (0.0, 0.0, 0.0, 1.0)))
            said = until(
                lambda: [s for a in answers.take(64) for s in a.status if s.name == "goal vehicle"], "an answer"
            )
            return said[0].message

        beyond = answered(40.0)
        assert beyond.startswith("refused: the range of base_x in safety.table_m would be left by")
        assert answered(1.2).startswith("done in ")
        time.sleep(4.0)
        assert stop().success
        log = session.finish()
    assert log.summary["text"] == "the operator stopped the run: operator 'ros2'"
    x = log["/truth"].base_x_m
    assert abs(x[-1] - x[0]) > 0.01
    said = [event["text"] for event in log.events if event["name"] == "operator_request"]
    assert any("operator 'ros2' asked for go" in text for text in said)
    replayed = replay(log)
    assert (replayed.first, replayed.ticks) == (None, log.summary["ticks"])


@pytest.mark.slow
def test_a_node_of_rclpy_finds_reads_and_operates_a_run(domain, tmp_path, monkeypatch):
    """RCLPY_PYTHON: a Python with rclpy, such as one with `ros-jazzy-rclpy` and `ros-jazzy-rmw-fastrtps-cpp`."""
    python = os.environ.get("RCLPY_PYTHON", sys.executable)
    outside = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if subprocess.run([python, "-c", "import rclpy"], env=outside, capture_output=True, check=False).returncode:
        pytest.skip("RCLPY_PYTHON names no Python with rclpy")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")  # Fast DDS announces itself by multicast alone
    outside |= {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    program = os.path.join(os.path.dirname(ros2_peer.__file__), "rclpy_peer.py")
    with Session(tmp_path, "--ros2", "--set", ON_DEMAND) as session:
        words = [python, program, "1.2", "4"]
        peer = subprocess.run(words, env=outside, capture_output=True, text=True, timeout=200, check=False)
        assert peer.returncode == 0, peer.stderr
        log = session.finish()
    report = json.loads(peer.stdout)
    assert ["granite", "/"] in report["nodes"]
    assert report["topics"]["/tf"] == ["tf2_msgs/msg/TFMessage"]
    assert report["writer"] == ["granite", "geometry_msgs/msg/PoseStamped", POSE_HASH]
    assert report["said"][0].startswith("refused: the range of base_x in safety.table_m would be left by")
    assert report["said"][1].startswith("done in ")
    assert report["joints"] == ["shoulder", "elbow"]
    assert log.summary["text"] == "the operator stopped the run: operator 'ros2'"
    written = log["/state"].base_x_m.tolist()
    assert len(report["poses"]) > 700  # of 800
    assert {x for _, x in report["poses"]} <= set(written)
    assert report["poses"][-1][1] - report["poses"][0][1] > 0.01
