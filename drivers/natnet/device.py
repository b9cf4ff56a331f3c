"""A rigid body that a motion-capture system of OptiTrack tracks, as a pose sensor.

In a testbed's file:

    [devices.vision]
    driver = { kind = "natnet", server = "192.168.1.10", body = 1 }
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from granite.config.errors import InputError
from granite.config.records import Frame
from granite.config.testbed import Testbed
from granite.drivers.natnet.connection import Connection
from granite.drivers.natnet.packets import frame_of
from granite.drivers.pose_stream.device import PoseOptions, PoseSensor
from granite.drivers.pose_stream.message import PoseMessage

#: between two requests to go on with unicast frames [s]
_KEEP_ALIVE_S = 1.0


class NatNet(PoseSensor):
    """The pose of a rigid body, with the time of the middle of the exposure."""

    class Options(PoseOptions):
        """Server, body and frame."""

        #: name or address of the computer that streams
        server: str
        #: streaming id of the rigid body
        body: Annotated[int, Field(ge=0)]
        #: the axis that the stream has upwards
        up: Literal["y", "z"] = "y"
        #: where the server takes commands
        command_port: Annotated[int, Field(gt=0, lt=65536)] = 1510
        #: the address of this computer by which frames come; 0.0.0.0: the system chooses
        interface: str = "0.0.0.0"

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, str(options.body), name, bed)
        self._natnet = options
        self._connection: Connection | None = None
        self._keep_alive_at = float("-inf")

    def open(self) -> None:
        """Find the server, and the body in its stream."""
        options = self._natnet
        connection = Connection(options.server, options.command_port, options.interface)
        try:
            bodies = connection.first_frame().bodies
            if options.body not in bodies:
                known = ", ".join(map(str, sorted(bodies)))
                expected = f"a streaming id: {known}" if known else "a rigid body: the stream has none"
                raise InputError("no such rigid body in the stream", key="body", value=options.body, expected=expected)
        except BaseException:
            connection.close()
            raise
        self._connection = self._receiver = connection
        self._keep_alive_at = float("-inf")

    @property
    def identity(self) -> str:
        """The server's name and version, and the body."""
        assert self._connection is not None
        server = self._connection.server
        return f"rigid body {self._body} of '{server.name}', NatNet {server.version[0]}.{server.version[1]}"

    def read(self, t: float) -> Frame:
        """The newest pose that has arrived."""
        if self._connection is not None and t >= self._keep_alive_at:
            self._keep_alive_at = t + _KEEP_ALIVE_S
            self._connection.keep_alive()
        return super().read(t)

    def _message(self, received: bytes) -> PoseMessage | None:
        assert self._connection is not None
        server = self._connection.server
        frame = frame_of(received, server.version)
        if frame is None:
            return None
        exposed, sent = frame.exposed / server.ticks_per_s, frame.sent / server.ticks_per_s
        body = frame.bodies.get(self._natnet.body)
        if body is None:
            return PoseMessage("", frame.number, exposed, sent, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), False)
        message = PoseMessage(self._body, frame.number, exposed, sent, body.position, body.quaternion, body.is_tracked)
        return message.turned_upright() if self._natnet.up == "y" else message
