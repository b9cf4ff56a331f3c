"""Bad messages to an operator channel: without a key, with a wrong key, and malformed ones of an operator.

As a program: `python -m benchmarks.attack ADDRESS KEY_FOLDER SECONDS RATE`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket as sockets
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import zmq

from granite.rt.operator.keys import KeyPair, public_key, read_pair

#: of ten messages, so many are malformed ones of an operator; the others are of clients that may not connect
_MALFORMED = 7
#: connections of garbage a second, each opened anew
_GARBAGE_RATE = 100
_BODIES = (b"\x00" * 300, b'{"do": "set_gain"}', b"{}", b'{"do": "' + b"x" * 900 + b'"}', os.urandom(64))


class Heard(NamedTuple):
    """What came back."""

    sent: dict[str, int]
    answers: dict[str, int]


def attack(address: str, folder: Path, seconds: float, rate: float) -> Heard:
    """Messages of clients without a key, with a wrong key and with a wrong key of the loop, malformed ones of an
    operator, and connections that send garbage."""
    server, right = public_key(folder), read_pair(folder, "operator")
    clients = {
        "no key": _client(address),
        "wrong key": _client(address, server),
        "wrong server": _client(address, zmq.curve_keypair()[0]),
        "malformed": _client(address, server, right),
    }
    order = [name for name in clients if name != "malformed"] + ["malformed"] * _MALFORMED
    heard = Heard(dict.fromkeys((*clients, "garbage"), 0), dict.fromkeys(clients, 0))
    began, n = time.monotonic(), 0
    while (now := time.monotonic() - began) < seconds:
        while n < rate * now:
            name = order[n % len(order)]
            body = b'{"do": "stop"}' if name != "malformed" else _BODIES[n % len(_BODIES)]
            with contextlib.suppress(zmq.Again):
                clients[name].send_multipart([b"", body], zmq.NOBLOCK)
                heard.sent[name] += 1
            n += 1
        while heard.sent["garbage"] < _GARBAGE_RATE * now:
            _throw_garbage(address)
            heard.sent["garbage"] += 1
        for name, socket in clients.items():
            while socket.poll(0):
                assert not json.loads(socket.recv_multipart()[-1])["ok"]
                heard.answers[name] += 1
        time.sleep(0.001)
    for socket in clients.values():
        socket.close(0)
    return heard


def _client(address: str, server: bytes = b"", keys: KeyPair | None = None) -> Any:
    """A client, which may lack its key."""
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.linger = 0
    if server:
        socket.curve_serverkey = server
        socket.curve_publickey, socket.curve_secretkey = keys or zmq.curve_keypair()
    socket.connect(address)
    return socket


def _throw_garbage(address: str) -> None:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with contextlib.suppress(OSError), sockets.create_connection((host, int(port)), timeout=1.0) as connection:
        connection.sendall(os.urandom(256))


if __name__ == "__main__":
    print(attack(sys.argv[1], Path(sys.argv[2]), *map(float, sys.argv[3:])), file=sys.stderr)
