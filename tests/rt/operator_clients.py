"""Operators and attackers of a running loop."""

import contextlib
import json
import os
import socket as sockets
import subprocess
import sys
import time

import zmq

import granite
from granite.config.errors import InputError
from granite.rt.operator.client import Operator
from granite.rt.operator.keys import loop_keys, public_key, read_pair


def free_address() -> str:
    """An address on this machine where nobody listens."""
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{free.getsockname()[1]}"


def raw_client(address: str, kind: int = zmq.REQ, server: bytes = b"", keys=None):
    """A client that may lack its key."""
    socket = zmq.Context.instance().socket(kind)
    socket.linger = 0
    if server:
        socket.curve_serverkey = server
        socket.curve_publickey, socket.curve_secretkey = keys or zmq.curve_keypair()
    socket.connect(address)
    return socket


def attack(address: str, folder, seconds: float, rate: float) -> dict[str, int]:
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


RUN = ["sim", "free-flyer", "--realtime", "--operator", "--duration", "30", "--set", "loop.longest_lateness_s=2",
       "--set", "loop.watchdog_s=5"]  # fmt: skip


class Session:
    """`granite sim --operator` in another process, and its operator."""

    def __init__(self, folder, *more: str) -> None:
        self.address, self.log = free_address(), folder / "run.mcap"
        loop_keys(folder / "keys")
        environment = {**os.environ, "GRANITE_KEYS": str(folder / "keys")}
        command = [sys.executable, "-m", "granite.rt.cli", *RUN, "--out", str(self.log), *more]
        command += ["--set", f'operator.address="{self.address}"']
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.operator = Operator(self.address, "operator", folder / "keys")

    def __enter__(self):
        self.until("disarmed")
        return self

    def __exit__(self, *error):
        self.operator.close()
        self.process.kill()
        self.process.communicate()

    def until(self, mode: str, limit: float = 90.0) -> None:
        """Wait for a mode."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            try:
                if self.operator.ask("status")["mode"] == mode:
                    return
            except InputError:
                continue
            time.sleep(0.05)
        raise AssertionError(f"never {mode}")

    def do(self, command: str, mode: str, **more) -> None:
        deadline = time.monotonic() + 30
        while not (answer := self.operator.ask(command, **more))["ok"]:
            assert time.monotonic() < deadline, answer
            time.sleep(0.2)
        self.until(mode)

    def finish(self):
        self.process.communicate(timeout=60)
        return granite.read_log(self.log)
