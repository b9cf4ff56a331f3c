"""A node of ROS 2 over DDS: topics, services, and what other nodes need to discover them.

ROS 2 names a topic `/a/b` of type `pkg/msg/Name` in DDS `rt/a/b` of type `pkg::msg::dds_::Name_`, a service
`rq/a/bRequest` and `rr/a/bReply`. The hash of a type is in the USER_DATA of each endpoint (REP 2016); the topic
`ros_discovery_info` says which endpoints the node has (rmw_dds_common). A service has the layout of `rmw_cyclonedds`:
the client and the number of the request before the content; that of Fast DDS differs.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import Any

from granite.config.errors import InputError
from granite.config.optional_packages import required
from granite.drivers.ros2.domain import domain_number, reaches_other_machines
from granite.drivers.ros2.message_types import MessageTypes

NAME = "granite"
_DISCOVERY = "ros_discovery_info", "rmw_dds_common/msg/ParticipantEntitiesInfo"
#: messages of a topic that wait for a reader, requests, and messages of a sensor
_DEPTH, _REQUESTS, _FRAMES = 256, 16, 64
#: a machine has at most so many participants in a domain where they find each other without multicast; those that come
#: later are looked for as often and as long as this says
_PARTICIPANTS = 32
_PARTICIPATING = (
    f"<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>{_PARTICIPANTS}</MaxAutoParticipantIndex>"
)
_THIS_NETWORK = f"<CycloneDDS><Domain><Discovery>{_PARTICIPATING}</Discovery></Domain></CycloneDDS>"
_THIS_MACHINE = (
    "<CycloneDDS><Domain><General><AllowMulticast>false</AllowMulticast></General><Discovery>"
    f"{_PARTICIPATING}<SPDPInterval>1s</SPDPInterval><InitialLocatorPruneDelay>inf</InitialLocatorPruneDelay>"
    '<Peers><Peer address="localhost"/></Peers></Discovery></Domain></CycloneDDS>'
)


class Node:
    """One node.

    Raises
    ------
    InputError
        Where a package is missing, or DDS can't be had.
    """

    def __init__(self, name: str = NAME) -> None:
        self._name, self.types = name, MessageTypes()
        extra = "ros2"
        self._dds = {
            name: required(f"cyclonedds.{name}", extra) for name in ("core", "domain", "pub", "qos", "sub", "topic")
        }
        layer = required("cyclonedds._clayer", extra)
        self._write, self._take = layer.ddspy_write, layer.ddspy_take
        domain, dds = domain_number(), self._dds["domain"]
        try:
            # The configuration of a domain lives as long as this.
            self._domain = dds.Domain(domain, _configuration())
            self._participant = dds.DomainParticipant(domain, qos=self._qos(b"enclave=/;"))
        except self._dds["core"].DDSException as error:
            expected = "a network interface, and a right CYCLONEDDS_URI"
            raise InputError(f"ROS 2: DDS can't be had ({error})", expected=expected) from None
        self._writers: list[Any] = []
        self._readers: list[Any] = []
        self._announcement: Any = None

    def publisher(self, topic: str, kind: str) -> Publisher:
        """A topic that this node writes."""
        return Publisher(self._writer(f"rt{topic}", self.types.struct(kind), self._of(kind)), self._write)

    def subscription(self, topic: str, kind: str, *, is_sensor: bool = False) -> Any:
        """A topic that it reads: a reader of Cyclone, which keeps the newest messages.

        Of a sensor, whose lost messages nobody sends again, also where others send them once.
        """
        return self._reader(f"rt{topic}", self.types.struct(kind), self._of(kind), is_sensor)

    def take(self, reader: Any, states: int, most: int) -> list[bytes]:
        """Messages that wait, as they came."""
        waiting = self._take(reader._ref, states, most)
        return [raw for raw, about in waiting if about.valid_data] if isinstance(waiting, list) else []

    def drop(self, reader: Any) -> None:
        """Read a topic no more."""
        if reader in self._readers:
            self._readers.remove(reader)
            reader.__del__()

    def service(self, name: str, kind: str) -> Service:
        """A service that it has."""
        request, response = (f"{kind}_{part}" for part in ("Request", "Response"))
        own = b"serviceid=" + ".".join(f"{byte:x}" for byte in secrets.token_bytes(16)).encode() + b";"
        answers = self.types.with_header(response)
        reader = self._reader(f"rq{name}Request", self.types.with_header(request), own + self._of(request))
        return Service(reader, self._writer(f"rr{name}Reply", answers, own + self._of(response)), answers)

    def announce(self) -> None:
        """Tell all others what this node has; after the last endpoint."""
        topic, kind = _DISCOVERY
        gid, of_node, of_participant = (
            self.types.struct(f"rmw_dds_common/msg/{name}") for name in ("Gid", "NodeEntitiesInfo", kind.split("/")[-1])
        )

        def identifier(entity: Any) -> Any:
            return gid(data=list(entity.guid.bytes))

        node = of_node(
            node_namespace="/",
            node_name=self._name,
            reader_gid_seq=list(map(identifier, self._readers)),
            writer_gid_seq=list(map(identifier, self._writers)),
        )
        told = of_participant(gid=identifier(self._participant), node_entities_info_seq=[node])
        if self._announcement is None:
            self._announcement = self._endpoint("pub", "DataWriter", topic, self.types.struct(kind), b"", lasting=True)
        self._announcement.write(told)

    def _of(self, kind: str) -> bytes:
        return f"typehash={self.types.hash(kind)};".encode()

    def _writer(self, topic: str, struct: Any, user_data: bytes) -> Any:
        self._writers.append(self._endpoint("pub", "DataWriter", topic, struct, user_data))
        return self._writers[-1]

    def _reader(self, topic: str, struct: Any, user_data: bytes, is_sensor: bool = False) -> Any:
        depth = _FRAMES if is_sensor else _REQUESTS
        reader = self._endpoint("sub", "DataReader", topic, struct, user_data, depth=depth, reliable=not is_sensor)
        self._readers.append(reader)
        return reader

    def _endpoint(
        self,
        module: str,
        what: str,
        topic: str,
        struct: Any,
        user_data: bytes,
        *,
        depth: int = _DEPTH,
        lasting: bool = False,
        reliable: bool = True,
    ) -> Any:
        policy, participant = self._dds["core"].Policy, self._participant
        more = [
            # A reader that does not read never keeps a writer: what it can't take at once is lost to it.
            policy.Reliability.Reliable(0) if reliable else policy.Reliability.BestEffort,
            policy.History.KeepLast(1 if lasting else depth),
            policy.Durability.TransientLocal if lasting else policy.Durability.Volatile,
            policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
        ]
        named = self._dds["topic"].Topic(participant, topic, struct, qos=self._dds["qos"].Qos(*more))
        return getattr(self._dds[module], what)(participant, named, qos=self._qos(user_data, *more))

    def _qos(self, user_data: bytes, *more: Any) -> Any:
        return self._dds["qos"].Qos(self._dds["core"].Policy.Userdata(user_data), *more)


class Publisher:
    """A topic that is written as bytes."""

    def __init__(self, writer: Any, write: Callable[[Any, bytes], int]) -> None:
        self._writer, self._write = writer, write

    def is_wanted(self) -> bool:
        """Whether somebody reads it."""
        return bool(self._writer.get_publication_matched_status().current_count)

    def write(self, message: bytes) -> bool:
        """Send a message in CDR; whether it went to all who read it reliably."""
        return self._write(self._writer._ref, message.ljust(-(-len(message) // 4) * 4, b"\0")) >= 0


class Service:
    """A service: its requests, and the way of the answers."""

    def __init__(self, requests: Any, answers: Any, kind: Any) -> None:
        self.requests, self._answers, self._kind = requests, answers, kind

    def answer(self, request: Any, **content: Any) -> None:
        """Answer a request."""
        self._answers.write(self._kind(client=request.client, number=request.number, **content))


def _configuration() -> str:
    """Of the domain, as `rmw_cyclonedds` has it; what CYCLONEDDS_URI says comes after it."""
    usual = _THIS_NETWORK if reaches_other_machines() else _THIS_MACHINE
    return ",".join(filter(None, (usual, os.environ.get("CYCLONEDDS_URI"))))
