"""A run on ROS 2, seen by a node of somebody else over DDS."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rosbags.highlevel import AnyReader

import granite
from granite.config.errors import InputError
from granite.drivers.ros2.domain import domain_number
from granite.drivers.ros2.node import Node
from granite.rt.ros2.live_topics import LiveTopics
from granite.rt.ros2.options import Ros2, ros2_sentence
from granite.rt.run import Run
from granite.views.ros2.bag import export_bag
from tests.support import ros2_peer
from tests.support.ros2_peer import (
    DiagnosticArray,
    JointState,
    ParticipantEntitiesInfo,
    Peer,
    PoseStamped,
    raw_messages,
    until,
)
from tests.support.unhurried import LIMITS

#: as `ros2 topic info --verbose` of ROS 2 prints them
HASHES = {
    "rt/granite/estimate/vehicle/pose": "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8",
    "rt/granite/estimate/joint_states": "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
    "rt/tf": "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "rt/clock": "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
}


def test_others_find_topics_with_type_hash_and_node_and_read_the_bytes_of_the_bag(domain, tmp_path):
    bed = granite.load("free-flyer", {"loop.duration_s": 0.1})
    granite.simulate(bed, log=tmp_path / "run.mcap")
    log = granite.read_log(tmp_path / "run.mcap")
    live = LiveTopics(log.bed, log.channels, Ros2())
    peer = Peer(domain)
    kinds = {
        "estimate/vehicle/pose": PoseStamped,
        "truth/vehicle/pose": PoseStamped,
        "estimate/joint_states": JointState,
    }
    readers = {f"/granite/{name}": peer.reader(f"rt/granite/{name}", kind) for name, kind in kinds.items()}
    events = peer.reader("rt/diagnostics", DiagnosticArray)
    nodes = peer.reader("ros_discovery_info", ParticipantEntitiesInfo, lasting=True)
    for reader in (*readers.values(), events):
        until(lambda: reader.get_subscription_matched_status().current_count, "a writer")  # noqa: B023
    (told,) = until(nodes.take, "the node")
    (node,) = told.node_entities_info_seq
    assert (node.node_namespace, node.node_name) == ("/", "granite")
    endpoints = until(lambda: topics if "rt/clock" in (topics := peer.endpoints()) else None, "endpoints")
    assert endpoints["rt/granite/estimate/vehicle/pose"][0] == "geometry_msgs::msg::dds_::PoseStamped_"
    assert {topic: endpoints[topic][1] for topic in HASHES} == {t: f"typehash={h};" for t, h in HASHES.items()}
    assert len(node.writer_gid_seq) == len([topic for topic in endpoints if topic.startswith("rt/")])
    live.begin(0)
    live.show(log.rows)
    live.event(0.05, "warning", "tracking_error", "late")
    sent = live.close()
    assert sent["messages"] >= 3 * len(log.rows)
    assert sent["not_taken"] == 0
    export_bag(log, tmp_path / "bag")
    with AnyReader([tmp_path / "bag"]) as bag:
        wanted = {topic: [] for topic in readers}
        for connection, _, raw in bag.messages():
            if connection.topic in wanted:
                wanted[connection.topic].append(raw)
    for topic, reader in readers.items():
        came = [raw for _ in range(20) for raw in raw_messages(reader)]
        assert came == wanted[topic]
        assert len(came) > 15
    (event,) = events.take(4)
    assert (event.status[0].level, event.status[0].name, event.status[0].message) == (1, "tracking_error", "late")


def test_a_domain_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "233")
    with pytest.raises(InputError, match='ROS_DOMAIN_ID = "233": expected a number from 0 to 232'):
        domain_number()


def test_the_variables_of_ros_say_whether_other_machines_take_part(monkeypatch):
    for name in ("ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_DOMAIN_ID"):
        monkeypatch.delenv(name, raising=False)
    everybody = "ROS 2: domain 0; every program of this network in it can read and operate it, without a key"
    assert ros2_sentence(True) == everybody
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    assert ros2_sentence(False) == "ROS 2: domain 0; every program of this machine in it can read it"
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    with pytest.raises(InputError, match="ROS_AUTOMATIC_DISCOVERY_RANGE"):
        ros2_sentence(False)
    monkeypatch.setenv("ROS_LOCALHOST_ONLY", "1")
    assert "this machine" in ros2_sentence(True)


def test_without_the_package_its_name_is_said_and_no_log_is_left(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cyclonedds.core", None)
    bed = granite.load("free-flyer", {"loop.duration_s": 0.1, **LIMITS})
    with pytest.raises(InputError, match=r"cyclonedds is not installed, expected it: pip install .*\[ros2\]"):
        Run(bed).record(tmp_path / "run.mcap", realtime=True, ros2=True)
    assert list(tmp_path.iterdir()) == []


def test_a_run_in_virtual_time_has_no_topics(tmp_path):
    bed = granite.load("free-flyer", {"loop.duration_s": 0.1})
    with pytest.raises(InputError, match="a run in virtual time can't be watched"):
        Run(bed).record(tmp_path / "run.mcap", ros2=True)


def reading(domain: int, seconds: float) -> subprocess.Popen:
    topic = "rt/granite/estimate/vehicle/pose"
    words = [sys.executable, ros2_peer.__file__, str(domain), topic, str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ)


@pytest.mark.slow
def test_another_process_gets_every_tick(domain, tmp_path):
    reader = reading(domain, 6.0)
    try:
        time.sleep(3.0)
        bed = granite.load("free-flyer", {"loop.duration_s": 4.0, **LIMITS})
        summary = Run(bed).record(tmp_path / "run.mcap", realtime=True, ros2=True)
        late = [ms for _, ms in json.loads(reader.communicate(timeout=60)[0])]
    finally:
        reader.kill()
    assert summary["ended"] == "completed"
    assert len(late) > 0.95 * summary["ticks"]  # the first ones may go out before the reader is known
    assert summary["ros2"]["not_taken"] == 0
    print(f"{len(late)} of {summary['ticks']}; median {sorted(late)[len(late) // 2]:.2f} ms; {summary['ros2']}")


@pytest.mark.slow
def test_a_reader_that_stands_still_keeps_neither_loop_nor_log(domain, tmp_path):
    reader = reading(domain, 60.0)
    try:
        time.sleep(3.0)
        bed = granite.load("free-flyer", {"loop.duration_s": 12.0, "recording.ring_rows": 1024, **LIMITS})
        stop = subprocess.Popen(["sh", "-c", f"sleep 3; kill -{signal.SIGSTOP.value} {reader.pid}"])
        summary = Run(bed).record(tmp_path / "run.mcap", realtime=True, ros2=True)
        stop.wait()
    finally:
        reader.kill()
    assert (summary["ended"], summary["rows_lost"]) == ("completed", 0)
    print(summary["ros2"])


@pytest.mark.slow
def test_another_vendor_reads_the_same_bytes(domain, tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")  # Fast DDS announces itself by multicast alone
    if not Path("/usr/include/fastdds").is_dir():
        pytest.skip("Fast DDS is not installed (Debian: libfastrtps-dev)")
    program, source = tmp_path / "reader", Path(ros2_peer.__file__).with_name("fast_dds_reader.cpp")
    subprocess.run(["g++", "-std=c++17", source, "-o", program, "-lfastrtps", "-lfastcdr"], check=True)
    node = Node()
    kind = "geometry_msgs/msg/PoseStamped"
    publisher, types = node.publisher("/granite/estimate/vehicle/pose", kind), node.types.store.types
    node.announce()
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](7, 11), "world")
    point, turn = types["geometry_msgs/msg/Point"], types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.6, 0.8)
    poses = [types["geometry_msgs/msg/Pose"](point(float(i), 0.5, 0.0), turn) for i in range(50)]
    messages = [node.types.serialized(types[kind](header, pose), kind) for pose in poses]
    words = [program, str(domain), "rt/granite/estimate/vehicle/pose", "geometry_msgs::msg::dds_::PoseStamped_", "50"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
            until(publisher.is_wanted, "a reader")
            time.sleep(0.5)  # the reader knows the writer, too
            for message in messages:
                assert publisher.write(message)
            assert [bytes.fromhex(line.strip()) for line in reader.stdout] == messages
        finally:
            reader.kill()
