"""A node of somebody else: types written by hand as the IDL of ROS 2 has them, by the plain interface of Cyclone.

As a program it reads the raw messages of a topic and prints when they were sent, and how late they came.
"""

import json
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from cyclonedds._clayer import ddspy_take
from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, bounded_str, float32, float64, int32, int64, sequence, uint8, uint32, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

#: of a process of ROS 2 that takes part in its subnet, as rmw_cyclonedds configures it
_OF_ROS = (
    "<CycloneDDS><Domain><Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex></Discovery></Domain></CycloneDDS>"
)
#: instance, view and sample states: any
_ANY = 1 | 2 | 4 | 8 | 16 | 32 | 64


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time
    frame_id: str


@dataclass
class Point(IdlStruct, typename="geometry_msgs::msg::dds_::Point_"):
    x: float64
    y: float64
    z: float64


@dataclass
class Quaternion(IdlStruct, typename="geometry_msgs::msg::dds_::Quaternion_"):
    x: float64
    y: float64
    z: float64
    w: float64


@dataclass
class Pose(IdlStruct, typename="geometry_msgs::msg::dds_::Pose_"):
    position: Point
    orientation: Quaternion


@dataclass
class PoseStamped(IdlStruct, typename="geometry_msgs::msg::dds_::PoseStamped_"):
    header: Header
    pose: Pose


@dataclass
class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
    header: Header
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


@dataclass
class Vector3(IdlStruct, typename="geometry_msgs::msg::dds_::Vector3_"):
    x: float64
    y: float64
    z: float64


@dataclass
class Wrench(IdlStruct, typename="geometry_msgs::msg::dds_::Wrench_"):
    force: Vector3
    torque: Vector3


@dataclass
class WrenchStamped(IdlStruct, typename="geometry_msgs::msg::dds_::WrenchStamped_"):
    header: Header
    wrench: Wrench


@dataclass
class Duration(IdlStruct, typename="builtin_interfaces::msg::dds_::Duration_"):
    sec: int32
    nanosec: uint32


@dataclass
class JointTrajectoryPoint(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectoryPoint_"):
    positions: sequence[float64]
    velocities: sequence[float64]
    accelerations: sequence[float64]
    effort: sequence[float64]
    time_from_start: Duration


@dataclass
class JointTrajectory(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectory_"):
    header: Header
    joint_names: sequence[str]
    points: sequence[JointTrajectoryPoint]


@dataclass
class Path(IdlStruct, typename="nav_msgs::msg::dds_::Path_"):
    header: Header
    poses: sequence[PoseStamped]


@dataclass
class Joy(IdlStruct, typename="sensor_msgs::msg::dds_::Joy_"):
    header: Header
    axes: sequence[float32]
    buttons: sequence[int32]


@dataclass
class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):
    data: str


@dataclass
class KeyValue(IdlStruct, typename="diagnostic_msgs::msg::dds_::KeyValue_"):
    key: str
    value: str


@dataclass
class DiagnosticStatus(IdlStruct, typename="diagnostic_msgs::msg::dds_::DiagnosticStatus_"):
    level: uint8
    name: str
    message: str
    hardware_id: str
    values: sequence[KeyValue]


@dataclass
class DiagnosticArray(IdlStruct, typename="diagnostic_msgs::msg::dds_::DiagnosticArray_"):
    header: Header
    status: sequence[DiagnosticStatus]


@dataclass
class TriggerRequest(IdlStruct, typename="std_srvs::srv::dds_::Trigger_Request_"):
    client: uint64
    number: int64
    structure_needs_at_least_one_member: uint8


@dataclass
class TriggerResponse(IdlStruct, typename="std_srvs::srv::dds_::Trigger_Response_"):
    client: uint64
    number: int64
    success: bool
    message: str


@dataclass
class Gid(IdlStruct, typename="rmw_dds_common::msg::dds_::Gid_"):
    data: array[uint8, 16]


@dataclass
class NodeEntitiesInfo(IdlStruct, typename="rmw_dds_common::msg::dds_::NodeEntitiesInfo_"):
    node_namespace: bounded_str[256]
    node_name: bounded_str[256]
    reader_gid_seq: sequence[Gid]
    writer_gid_seq: sequence[Gid]


@dataclass
class ParticipantEntitiesInfo(IdlStruct, typename="rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"):
    gid: Gid
    node_entities_info_seq: sequence[NodeEntitiesInfo]


class Peer:
    """A participant; `configured` where no node of Granite in this process has configured the domain."""

    def __init__(self, domain: int, configured: bool = False) -> None:
        self._domain = Domain(domain, _OF_ROS) if configured else None
        self.participant = DomainParticipant(domain)
        self._published = BuiltinDataReader(self.participant, BuiltinTopicDcpsPublication)
        self._subscribed = BuiltinDataReader(self.participant, BuiltinTopicDcpsSubscription)
        self._entities: list[object] = []
        self._number = 0

    def reader(self, topic: str, kind: type, *, lasting: bool = False) -> DataReader:
        made = DataReader(self.participant, Topic(self.participant, topic, kind), qos=_qos(lasting))
        self._entities.append(made)
        return made

    def writer(self, topic: str, kind: type, *, is_awaited: bool = True, is_reliable: bool = True) -> DataWriter:
        made = DataWriter(self.participant, Topic(self.participant, topic, kind), qos=_qos(False, is_reliable))
        self._entities.append(made)
        if not is_awaited:
            return made
        until(lambda: made.get_publication_matched_status().current_count, f"a reader of {topic}")
        return made

    def endpoints(self) -> dict[str, tuple[str, str]]:
        """Type and USER_DATA of what others have, by topic; what this peer has is left out."""
        topics = {}
        for reader in (self._published, self._subscribed):
            for sample in reader.read(N=200):
                data = sample.qos[Policy.Userdata]
                if data is not None and data.data:
                    topics[sample.topic_name] = (sample.type_name, bytes(data.data).decode())
        return topics

    def call(self, service: str, request: DataWriter, response: DataReader) -> TriggerResponse:
        """A call of a service."""
        self._number += 1
        request.write(TriggerRequest(17, self._number, 0))

        def answer() -> TriggerResponse | None:
            return next((reply for reply in response.take(8) if reply.number == self._number), None)

        reply = until(answer, f"an answer of {service}")
        assert reply.client == 17
        return reply


def service(peer: Peer, name: str) -> Callable[[], TriggerResponse]:
    """A service to call."""
    response = peer.reader(f"rr{name}Reply", TriggerResponse)
    request = peer.writer(f"rq{name}Request", TriggerRequest)
    until(lambda: response.get_subscription_matched_status().current_count, f"a writer of {name}")
    return lambda: peer.call(name, request, response)


def pose_goal(x: float, y: float, turn: tuple[float, float, float, float], frame: str = "world") -> PoseStamped:
    return PoseStamped(Header(Time(0, 0), frame), Pose(Point(x, y, 0.0), Quaternion(*turn)))


def raw_messages(reader: DataReader) -> list[bytes]:
    """The messages that wait, as they came."""
    samples = ddspy_take(reader._ref, _ANY, 256)
    return [raw for raw, _ in samples if len(raw) > 16] if isinstance(samples, list) else []


def until(look: Callable[[], object], what: str, limit: float = 30.0):
    """Wait for something that is true."""
    deadline = time.monotonic() + limit
    while not (result := look()):
        assert time.monotonic() < deadline, f"{what}: not within {limit} s"
        time.sleep(0.005)
    return result


def _qos(lasting: bool, is_reliable: bool = True) -> Qos:
    return Qos(
        Policy.Reliability.Reliable(10**9) if is_reliable else Policy.Reliability.BestEffort,
        Policy.History.KeepLast(1000),
        Policy.Durability.TransientLocal if lasting else Policy.Durability.Volatile,
        Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
    )


def main(domain: int, topic: str, seconds: float) -> None:
    """Read poses for a time from the first one on, and print the stamp [s] and the delay [ms] of each."""
    peer = Peer(domain, configured=True)
    reader = peer.reader(topic, PoseStamped)
    came, end = [], time.monotonic() + 120.0
    while time.monotonic() < end:
        for raw in raw_messages(reader):
            seconds_of, ns = struct.unpack_from("<iI", raw, 4)
            if not came:
                end = time.monotonic() + seconds
            stamp = seconds_of * 1_000_000_000 + ns
            came.append((1e-9 * stamp, 1e-6 * (time.time_ns() - stamp)))
        time.sleep(0.0003)
    print(json.dumps(came))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
