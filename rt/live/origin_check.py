"""The door of the live view: programs of this machine pass, web pages only of known origins.

A browser lets every page that it shows connect to servers of the same machine, and names the origin of the page. The
server of the SDK does not look at it. So the server has an address of the loopback network that no page can guess, and
this relay has the port that clients know.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import socket
import threading
from urllib.parse import urlsplit

#: pages of viewers; others by GRANITE_LIVE_ORIGINS, with commas between them
_KNOWN = ("https://app.foxglove.dev", "https://studio.foxglove.dev", "file://")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_ORIGIN = re.compile(rb"\r\norigin[ \t]*:[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)", re.IGNORECASE)
_UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:[ \t]*websocket[ \t]*\r\n", re.IGNORECASE)
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
#: time of a client to ask [s], and longest head of its request [bytes]
_ASK_S, _LONGEST_HEAD = 2.0, 2**14
_BLOCK = 2**16


def hidden_host() -> str:
    """An address of this machine that nobody can guess: 2^23 of them, each with its own ports."""
    return f"127.{128 + secrets.randbelow(127)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"


def may_pass(head: bytes) -> bool:
    """Whether the head of a request opens a WebSocket, for a program or for a page of a known origin."""
    known = (*_KNOWN, *filter(None, os.environ.get("GRANITE_LIVE_ORIGINS", "").split(",")))
    origins = [origin.decode("latin-1") for origin in _ORIGIN.findall(head)]
    return bool(_UPGRADE.search(head)) and all(origin in known or _is_here(origin) for origin in origins)


def _is_here(origin: str) -> bool:
    """Whether it is the origin of a page that this machine serves."""
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.hostname in _THIS_MACHINE
    except ValueError:
        return False


class OriginCheck:
    """Relays what may pass from a listening socket to the server."""

    def __init__(self, listening: socket.socket, server: tuple[str, int]) -> None:
        self._listening, self._server = listening, server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="live view", daemon=True)
        self._thread.start()

    def close(self, limit_s: float) -> None:
        """Disconnect all clients."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(limit_s)

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            asyncio.set_event_loop(self._loop)
            serving = asyncio.start_server(self._greet, sock=self._listening, limit=_LONGEST_HEAD)
            self._loop.run_until_complete(serving)
            self._loop.run_forever()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._listening.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_ASK_S):
                head = await reader.readuntil(b"\r\n\r\n")
            if may_pass(head):
                await self._relay(head, reader, writer)
            else:
                writer.write(_REFUSED)
                await writer.drain()
        writer.close()

    async def _relay(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(*self._server)
        to_server.write(head)
        both = asyncio.create_task(_copy(reader, to_server)), asyncio.create_task(_copy(from_server, writer))
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            to_server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while block := await reader.read(_BLOCK):
            writer.write(block)
            await writer.drain()  # a client that does not read holds up the server, which drops its oldest messages
