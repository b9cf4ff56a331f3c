"""Bad messages to an operator channel: without a key, with a wrong key, and malformed ones of an operator.

As a program: `python -m benchmarks.attack ADDRESS KEY_FOLDER SECONDS RATE`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import zmq

from granite.rt.operator.keys import KeyPair, public_key, read_pair


def raw_client(address: str, kind: int, server: bytes = b"", keys: KeyPair | None = None) -> Any:
    """A client that may lack its key."""
    socket = zmq.Context.instance().socket(kind)
    socket.linger = 0
    if server:
        socket.curve_serverkey = server
        socket.curve_publickey, socket.curve_secretkey = keys or zmq.curve_keypair()
    socket.connect(address)
    return socket


def attack(address: str, folder: Path, seconds: float, rate: float) -> dict[str, int]:
    """Messages of clients without a key, with a wrong key, and malformed ones of one with a key; what came back."""
    server, right = public_key(folder), read_pair(folder, "operator")
    clients = {
        "no key": raw_client(address, zmq.DEALER),
        "wrong key": raw_client(address, zmq.DEALER, server),
        "wrong server": raw_client(address, zmq.DEALER, zmq.curve_keypair()[0]),
        "malformed": raw_client(address, zmq.DEALER, server, right),
    }
    bodies = [b'{"do": "stop"}', b"\x00" * 300, b'{"do": "set_gain"}', b"{}", os.urandom(64)]
    heard, sent = dict.fromkeys(clients, 0), 0
    for socket in clients.values():
        socket.sndhwm = 1000
    began = time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        while sent < rate * now:
            for name, socket in clients.items():
                body = bodies[1 + sent % (len(bodies) - 1)] if name == "malformed" else bodies[sent % len(bodies)]
                with contextlib.suppress(zmq.Again):
                    socket.send_multipart([b"", body], zmq.NOBLOCK)
                sent += 1
        for name, socket in clients.items():
            while socket.poll(0):
                answer = json.loads(socket.recv_multipart()[-1])
                assert not answer["ok"]
                heard[name] += 1
        time.sleep(0.001)
    for socket in clients.values():
        socket.close(0)
    return heard


if __name__ == "__main__":
    attack(sys.argv[1], Path(sys.argv[2]), *map(float, sys.argv[3:]))
