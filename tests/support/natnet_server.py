"""A NatNet server of a few lines on the loopback, and its packets, written without the code of the parser."""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Sequence

TICKS_PER_S = 10_000_000
GROUP = "239.255.42.99"
Body = tuple[int, tuple[float, float, float], tuple[float, float, float, float], bool]


def _section(elements: Sequence[bytes], has_size: bool) -> bytes:
    content = b"".join(elements)
    return struct.pack("<I", len(elements)) + (struct.pack("<I", len(content)) if has_size else b"") + content


def _body(body: Body) -> bytes:
    id, position, (w, x, y, z), is_tracked = body
    return struct.pack("<i7ffh", id, *position, x, y, z, w, 1e-4, int(is_tracked))


def frame_packet(
    number: int, bodies: Sequence[Body], exposed_s: float, sent_s: float, version: tuple[int, int] = (4, 1)
) -> bytes:
    """A frame that has something in every section."""
    has_size = version >= (4, 1)
    marker = struct.pack("<3f", 1.0, 2.0, 3.0)
    markers = b"Kit\0" + struct.pack("<I", 2) + 2 * marker
    bone = _body((65537, (9.0, 9.0, 9.0), (1.0, 0.0, 0.0, 0.0), True))
    skeleton = struct.pack("<II", 4, 2) + 2 * bone
    asset = (
        struct.pack("<II", 5, 1) + bone + struct.pack("<I", 1) + struct.pack("<I3ffhf", 1, 1.0, 2.0, 3.0, 0.01, 0, 0.0)
    )
    labelled = struct.pack("<I", 7) + marker + struct.pack("<fhf", 0.014, 2, 1e-4)
    channels = struct.pack("<II", 1, 2) + 2 * struct.pack("<I3f", 3, 1.0, 2.0, 3.0)
    parts = [
        struct.pack("<I", number),
        _section([markers, markers], has_size),
        _section([marker] * 3, has_size),
        _section([_body(body) for body in bodies], has_size),
        _section([skeleton], has_size),
        *([_section([asset], True)] if has_size else []),
        _section([labelled] * 2, has_size),
        _section([channels], has_size),
        _section([channels, channels], has_size),
        struct.pack("<IId", 0, 0, exposed_s),
        struct.pack("<3Q", *(round(s * TICKS_PER_S) for s in (exposed_s, exposed_s, sent_s))),
        struct.pack("<II", 0, 0) if has_size else b"",
        struct.pack("<hI", 0, 0),
    ]
    content = b"".join(parts)
    return struct.pack("<HH", 7, len(content)) + content


class StreamingServer:
    """Answers on its command port; every client that asked gets unicast frames, or the group multicast ones."""

    def __init__(self, version: tuple[int, int] = (4, 1), is_multicast: bool = False, name: str = "Motive") -> None:
        self.version, self.is_multicast, self.name = version, is_multicast, name
        self.kept_alive = 0
        self.bodies: list[Body] = [(3, (1.0, 0.0, -2.0), (1.0, 0.0, 0.0, 0.0), True)]
        self._clients: set[tuple[str, int]] = set()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        self.port = int(self._socket.getsockname()[1])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("", 0))
            self.data_port = int(free.getsockname()[1])
        self.streams = True
        self._end, self._ended = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def description(self) -> bytes:
        content = self.name.encode().ljust(256, b"\0") + bytes([3, 1, 0, 0, *self.version, 0, 0])
        if self.version >= (3, 0):
            content += struct.pack("<QH?", TICKS_PER_S, self.data_port, self.is_multicast) + socket.inet_aton(GROUP)
        return struct.pack("<HH", 1, len(content)) + content

    def send(self, packet: bytes) -> None:
        for client in [(GROUP, self.data_port)] if self.is_multicast else list(self._clients):
            self._socket.sendto(packet, client)

    def close(self) -> None:
        self._end.send(b".")
        self._thread.join(5)
        for each in (self._socket, self._end, self._ended):
            each.close()

    def _serve(self) -> None:
        number = 0
        while True:
            ready = select.select([self._socket, self._ended], [], [], 0.01)[0]
            if self._ended in ready:
                return
            if self._socket in ready:
                asked, client = self._socket.recvfrom(4096)
                self._clients.add(client)
                if asked[0] == 0:
                    self._socket.sendto(self.description(), client)
                self.kept_alive += asked[0] == 10
            if self.streams and (self._clients or self.is_multicast):
                number += 1
                self.send(frame_packet(number, self.bodies, 50.0, 50.0, self.version))
