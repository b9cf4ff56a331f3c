"""A client of the live view in a process of its own: reads some topics until the run ends, and counts the scenes."""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

TOPICS = ("/tf", "/scene", "/scene/marks", "/truth", "/log")


def scenes_until_the_end(port: int) -> int:
    """Connect as soon as the server is there, and read."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(OSError), connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"]) as link:
            return _scenes(link)
        time.sleep(0.05)
    return 0


def _scenes(link: ClientConnection) -> int:
    received: dict[str, int] = {}
    link.recv()
    while not set(TOPICS) <= set(received):
        received |= {channel["topic"]: channel["id"] for channel in json.loads(link.recv())["channels"]}
    wanted = [{"id": i, "channelId": received[topic]} for i, topic in enumerate(TOPICS)]
    link.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
    scenes = 0
    try:
        while True:
            message = link.recv()
            scenes += isinstance(message, bytes) and message[1:5] == bytes(4)
    except ConnectionClosed:
        return scenes


if __name__ == "__main__":
    print(scenes_until_the_end(int(sys.argv[1])))
