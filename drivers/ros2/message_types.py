"""Message types of ROS 2 as IDL structures, built from the definitions that `rosbags` has."""

from __future__ import annotations

from typing import Any

from granite.config.optional_packages import required
from granite.drivers.ros2 import px4_messages

_EXTRA = "ros2"
_TRIGGER = "std_srvs/srv/Trigger"
#: what is not in the store; a request without fields has one byte, as ROS 2 writes it
_DEFINITIONS = {
    **px4_messages.DEFINITIONS,
    f"{_TRIGGER}_Request": "uint8 structure_needs_at_least_one_member",
    f"{_TRIGGER}_Response": "bool success\nstring message",
}


class MessageTypes:
    """Types by the names of ROS 2, such as `geometry_msgs/msg/PoseStamped`.

    Raises
    ------
    InputError
        Where a package of the extra is missing.
    """

    def __init__(self) -> None:
        typesys = required("rosbags.typesys", _EXTRA)
        self._idl, self._plain = required("cyclonedds.idl", _EXTRA), required("cyclonedds.idl.types", _EXTRA)
        #: Jazzy: its messages are those of Humble, and its identifiers of endpoints those of all later distributions
        self.store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        for name, definition in _DEFINITIONS.items():
            # Its own names are of messages alone.
            self.store.register(dict(zip([name], typesys.get_types_from_msg(definition, name).values(), strict=True)))
        self._nodes = required("rosbags.interfaces", _EXTRA).Nodetype
        self._structs: dict[str, Any] = {}

    def serialized(self, message: Any, kind: str) -> bytes:
        """The message in CDR, as `rosbags` writes it."""
        return bytes(self.store.serialize_cdr(message, kind))

    def hash(self, kind: str) -> str:
        """RIHS01 of a type: what it is made of, in a hash that ROS 2 compares."""
        type_hash: str = self.store.hash_rihs01(kind)
        return type_hash

    def struct(self, kind: str) -> Any:
        """The type for topics of DDS."""
        if kind not in self._structs:
            fields = {name: self._field(of) for name, of in self.store.fielddefs[kind][1]}
            self._structs[kind] = self._made(kind, fields)
        return self._structs[kind]

    def with_header(self, kind: str) -> Any:
        """The same of a service's request or response: before it is who asks, and the number of the question."""
        fields = {"client": self._plain.uint64, "number": self._plain.int64}
        fields |= {name: self._field(of) for name, of in self.store.fielddefs[kind][1]}
        return self._made(kind, fields)

    def _made(self, kind: str, fields: dict[str, Any]) -> Any:
        *namespace, name = kind.split("/")
        return self._idl.make_idl_struct(name, "::".join([*namespace, "dds_", f"{name}_"]), fields)

    def _field(self, of: Any) -> Any:
        nodes, plain = self._nodes, self._plain
        sort, detail = of
        if sort == nodes.NAME:
            return self.struct(detail)
        if sort == nodes.BASE:
            name, length = detail
            if name == "string":
                return plain.bounded_str[length] if length else str
            if name == "bool":
                return bool
            return getattr(plain, {"byte": "uint8", "char": "uint8"}.get(name, name))
        element, count = self._field(detail[0]), detail[1]
        if sort == nodes.ARRAY:
            return plain.array[element, count]
        return plain.sequence[element, count] if count else plain.sequence[element]
