"""Motion-capture systems of a few lines on the loopback, written without the code of the drivers' parsers."""

from __future__ import annotations

import math
import select
import socket
import struct
import threading
from collections.abc import Sequence
from typing import ClassVar

#: x, y [m], heading [rad] by name; None is not tracked
Poses = dict[str, tuple[float, float, float] | None]


class MocapServer:
    """Sends frames when told; a thread answers to a client over TCP."""

    #: its kind of driver, the key that names the body, and further options
    kind: ClassVar[str]
    key: ClassVar[str]
    options: dict[str, object]

    def __init__(self) -> None:
        self.names = ["other", "base"]
        self.streams, self.is_strange, self.is_mute = False, False, False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.client: socket.socket | None = None
        self._end, self._ended = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def frame(self, number: int, exposed: float, poses: Poses) -> bytes:
        raise NotImplementedError

    def send(self, packet: bytes) -> None:
        assert self.client is not None
        self.client.sendall(packet)

    def greet(self) -> None:
        raise NotImplementedError

    def hear(self, received: bytes) -> None:
        """Of the client."""

    def unplug(self) -> None:
        if self.client is not None:
            self.client.close()

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        self._end.send(b".")
        self._thread.join(5)
        for each in (self._listening, self.client, self._end, self._ended):
            if each is not None:
                each.close()

    def _serve(self) -> None:
        number = 0
        while True:
            sockets = [s for s in (self._listening, self.client, self._ended) if s is not None and s.fileno() >= 0]
            ready = select.select(sockets, [], [], 0.01)[0]
            if self._ended in ready:
                return
            try:
                if self._listening in ready:
                    self.client, _ = self._listening.accept()
                    self.greet()
                elif self.client is not None and self.client in ready:
                    self.hear(self.client.recv(4096))
                elif self.streams and self.client is not None:
                    number += 1
                    self.send(self.frame(number, 0.01 * number, dict.fromkeys(self.names, (1.0, 2.0, 0.5))))
            except OSError:
                self.client = None


class QtmServer(MocapServer):
    """QTM: commands as text, settings as XML, frames over TCP or UDP."""

    kind, key = "qualisys", "body"

    def __init__(self, version: str = "1.25", transport: str = "udp") -> None:
        self._version, self._udp_port = version, 0
        self.heard: list[str] = []
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        super().__init__()
        self.options = {"command_port": self.port, "transport": transport}

    def packet(self, kind: int, content: bytes) -> bytes:
        return struct.pack("<II", 8 + len(content), kind) + content

    def greet(self) -> None:
        self.send(b"nonsense" if self.is_strange else self.packet(1, b"QTM RT Interface connected\0"))

    def hear(self, received: bytes) -> None:
        while received:
            (size,) = struct.unpack_from("<I", received)
            text, received = received[8 : size - 1].decode(), received[size:]
            self.heard.append(text)
            word = text.lower().split()
            if word[0] == "version":
                known = word[1] <= self._version
                self.send(self.packet(int(known), f"Version {'set to' if known else 'NOT supported'}\0".encode()))
            elif word[0] == "getparameters":
                bodies = "".join(f"<Body><Name>{name}</Name></Body>" for name in self.names)
                xml = f"<QTM_Parameters><The_6D><Bodies>{len(self.names)}</Bodies>{bodies}</The_6D></QTM_Parameters>"
                self.send(self.packet(6, b"\x0b") + self.packet(2, xml.encode() + b"\0"))  # an event comes first
            elif word[0] == "streamframes":
                self._udp_port = int(word[2].partition(":")[2]) if word[2].startswith("udp:") else 0
                self.streams = not self.is_mute

    def send(self, packet: bytes) -> None:
        if self._udp_port:
            self._datagrams.sendto(packet, ("127.0.0.1", self._udp_port))
        else:
            super().send(packet)

    def unplug(self) -> None:
        self._udp_port = 9
        super().unplug()

    def close(self) -> None:
        super().close()
        self._datagrams.close()

    def frame(self, number: int, exposed: float, poses: Poses) -> bytes:
        bodies = b""
        for pose in poses.values():
            x, y, heading = pose or (math.nan,) * 3
            c, s = (math.cos(heading), math.sin(heading)) if pose else (math.nan, math.nan)
            bodies += struct.pack("<12f", 1e3 * x, 1e3 * y, 30.0, c, s, 0, -s, c, 0, 0, 0, 1)
        markers = struct.pack("<IIIHH3f", 28, 1, 1, 0, 0, 1.0, 2.0, 3.0)
        six_dof = struct.pack("<IIIHH", 16 + len(bodies), 5, len(poses), 0, 0) + bodies
        return self.packet(3, struct.pack("<QII", round(exposed * 1e6), number, 2) + markers + six_dof)


class VrpnServer(MocapServer):
    """A VRPN server over TCP: cookie, names, poses."""

    kind, key = "vrpn", "tracker"

    def __init__(self) -> None:
        super().__init__()
        self.options = {"port": self.port}

    def message(self, sender: int, kind: int, content: bytes, exposed: float = 0.0) -> bytes:
        us = round(exposed * 1e6)
        header = struct.pack(">I2IiiI", 24 + len(content), us // 1_000_000, us % 1_000_000, sender, kind, 0)
        return header + content + bytes(-len(content) % 8)

    def greet(self) -> None:
        self.send(b"no vrpn server at all...." if self.is_strange else b"vrpn: ver. 07.34  0".ljust(24, b"\0"))
        texts = [(-2, 3, "vrpn_Base pong_message"), (-2, 4, "vrpn_Tracker Pos_Quat")]
        for kind, number, text in texts + [(-1, i, name) for i, name in enumerate(self.names)]:
            self.send(self.message(number, kind, struct.pack(">I", len(text) + 1) + text.encode() + b"\0"))
        self.streams = True

    def frame(self, number: int, exposed: float, poses: Poses) -> bytes:
        packet = self.message(0, 3, b"", exposed)
        for i, pose in enumerate(poses.values()):
            if pose is not None:
                x, y, heading = pose
                content = struct.pack(">ii7d", 0, 0, x, y, 0.03, 0, 0, math.sin(heading / 2), math.cos(heading / 2))
                packet += self.message(i, 4, content, exposed)
        return packet


class ViconSender(MocapServer):
    """Vicon Tracker: blocks of objects over UDP."""

    kind, key = "vicon", "object"

    def __init__(self) -> None:
        super().__init__()
        self.client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        self._to = "127.0.0.1", port
        self.options = {"interface": "127.0.0.1", "port": port, "rate_hz": 200.0}
        self.streams = True

    def send(self, packet: bytes) -> None:
        assert self.client is not None
        self.client.sendto(packet, self._to)

    def frame(self, number: int, exposed: float, poses: Poses) -> bytes:
        items = [struct.pack("<BH", 7, 3) + b"abc"]  # of a kind that is not known
        for name, pose in poses.items():
            x, y, heading = pose or (0.0, 0.0, 0.0)
            height = 30.0 if pose else 0.0
            numbers = struct.pack("<6d", 1e3 * x, 1e3 * y, height, 0.0, 0.0, heading)
            items.append(struct.pack("<BH", 0, 72) + name.encode().ljust(24, b"\0") + numbers)
        return (struct.pack("<IB", round(exposed * 200.0), len(items)) + b"".join(items)).ljust(256, b"\0")


SERVERS: Sequence[type[MocapServer]] = (QtmServer, VrpnServer, ViconSender)
