"""A client of the live view that is not ours: the `websockets` package, and the protocol's own words and bytes."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader

import granite as api
from granite.rt.run import Run

websockets = pytest.importorskip("websockets", reason="websockets is missing")
client = pytest.importorskip("websockets.sync.client", reason="websockets is missing")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Connection:
    """A connected client that has subscribed to some topics, and keeps what it is sent."""

    def __init__(self, link: Any, topics: tuple[str, ...]) -> None:
        self.link, self.topics = link, topics
        self.protocol = link.subprotocol
        self.info: dict[str, Any] = json.loads(link.recv())
        self.channels: dict[str, dict[str, Any]] = {}
        self.messages: list[tuple[str, int, bytes]] = []
        self.received: list[dict[str, Any]] = []
        while not set(topics) <= set(self.channels):
            self.receive()
        wanted = [{"id": i, "channelId": self.channels[topic]["id"]} for i, topic in enumerate(topics)]
        self.send("subscribe", subscriptions=wanted)
        # Requests are answered in turn: an answer to this one says that the subscriptions are known, too.
        self.send("getParameters", parameterNames=[], id="subscribed")
        self.parameters("subscribed")

    def send(self, op: str, **more: Any) -> None:
        self.link.send(json.dumps({"op": op, **more}))

    def receive(self) -> None:
        """One message."""
        message = self.link.recv()
        if isinstance(message, bytes):
            opcode, subscription, at_ns = struct.unpack("<BIQ", message[:13])
            assert opcode == 1
            self.messages.append((self.topics[subscription], at_ns, message[13:]))
            return
        said = json.loads(message)
        if said["op"] == "advertise":
            self.channels |= {channel["topic"]: channel for channel in said["channels"]}
        else:
            self.received.append(said)

    def parameters(self, request: str) -> dict[str, Any]:
        """The answer to a request about parameters."""
        while True:
            for said in self.received:
                if said.get("id") == request:
                    return {each["name"]: each.get("value") for each in said["parameters"]}
            self.receive()


class Talking(threading.Thread):
    """Connects as soon as the server is there, and talks to it until the run ends."""

    def __init__(self, port: int, talk: Callable[[Connection], None], topics: tuple[str, ...] = ()) -> None:
        super().__init__(daemon=True)
        self.port, self.talk, self.topics = port, talk, topics
        self.connection: Connection | None = None
        self.over = threading.Event()
        #: `talk` has returned, or nothing more will be said
        self.said_all = threading.Event()
        #: what went wrong before the run ended
        self.failure: Exception | None = None

    def run(self) -> None:
        """Talk, and note the end."""
        try:
            self._connect()
        finally:
            self.said_all.set()

    def _connect(self) -> None:
        options = {"subprotocols": ["foxglove.sdk.v1"], "max_size": None, "close_timeout": 0.1}
        until = time.monotonic() + 60
        while time.monotonic() < until and not self.over.is_set():
            with suppress(OSError), client.connect(f"ws://127.0.0.1:{self.port}", **options) as link:
                try:
                    self.connection = Connection(link, self.topics)
                    self.talk(self.connection)
                    self.said_all.set()
                    while True:
                        self.connection.receive()
                except websockets.ConnectionClosed:  # the server ends with the run
                    return
                except Exception as error:
                    self.failure = error
                    return
            time.sleep(0.02)


def _with(run: Run, client: Talking, waits_at_s: float | None) -> None:
    """Let a run begin when the client has subscribed, and wait at a tick until it has said all."""
    opened, read, waits = run.devices.open, run.devices.read, [waits_at_s]

    def open_with_client() -> None:
        opened()
        until = time.monotonic() + 60
        while client.connection is None and client.is_alive():
            assert time.monotonic() < until, "no client"
            time.sleep(0.01)

    def read_after_client(t: float, delay: float) -> Any:
        if waits[0] is not None and t >= waits[0]:
            waits[0] = None
            assert client.said_all.wait(25)
        return read(t, delay)

    run.devices.open, run.devices.read = open_with_client, read_after_client  # type: ignore[method-assign]


@contextmanager
def talking(
    bed: api.Testbed,
    log: Path,
    talk: Callable[[Connection], None],
    topics: tuple[str, ...] = (),
    waits_at_s: float | None = None,
    **options: Any,
) -> Iterator[tuple[Connection, dict[str, Any]]]:
    """A run in real time with such a client: what it was sent, and the summary of the run.

    It begins when the client has subscribed; at a time of the run it waits until `talk` has returned.
    """
    run, port = Run(bed), free_port()
    thread = Talking(port, talk, topics)
    _with(run, thread, waits_at_s)
    thread.start()
    try:
        summary = run.record(log, realtime=True, live=port, **options)
        if thread.failure is not None:
            raise thread.failure
        assert thread.connection is not None
        yield thread.connection, dict(summary)
    finally:
        thread.over.set()
        thread.join(10)


def messages_in(log: Path) -> dict[str, int]:
    """How many messages of each topic a log has, by a reader that is not ours."""
    with log.open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
        assert summary.statistics is not None
        counts = summary.statistics.channel_message_counts
        return {channel.topic: counts.get(number, 0) for number, channel in summary.channels.items()}
