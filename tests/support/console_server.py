"""A console that serves in a thread, and clients of it that are not browsers."""

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from websockets.sync.client import connect

from granite.console.server import Console, listening_socket, server_config

#: status, headers and content
Answer = tuple[int, dict[str, str], bytes]


class ServedConsole:
    """The console on a port of this machine."""

    def __init__(self, console: Console, port: int) -> None:
        self.console, self.port = console, port
        self.host = f"127.0.0.1:{port}"

    def request(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answer:
        """Status, headers and content; `headers` with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, content, {"host": self.host, **given})
        answer = connection.getresponse()
        parts = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return parts

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        usual = {"origin": f"http://{self.host}", "content_type": "application/json"}
        return self.request(path, "POST", body, **{**usual, **headers})

    def cookie(self, token: str | None = None) -> str:
        """Of a new session."""
        status, headers, _ = self.post("/api/session", {"token": token or self.console.tokens.operating})
        assert status == 200
        match = re.match(r"(granite_console=[^;]+); HttpOnly; Path=/; SameSite=strict", headers["set-cookie"])
        assert match
        return match[1]

    def get(self, path: str, cookie: str) -> Any:
        status, _, content = self.request(path, cookie=cookie)
        assert status == 200, content
        return json.loads(content)

    def page(self, pid: int, cookie: str, **more: str) -> Any:
        """The socket of a page that watches a run."""
        headers = {"cookie": cookie, **more}
        return connect(
            f"ws://{self.host}/socket?run={pid}", origin=f"http://{self.host}", additional_headers=headers, legacy=True
        )  # type: ignore[arg-type]


@contextmanager
def serving(folder: Path, *more: Path) -> Iterator[ServedConsole]:
    """A console of the logs in a folder."""
    console = Console(folder, more)
    listening = listening_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = console.app([f"127.0.0.1:{port}", f"localhost:{port}"])
    server = uvicorn.Server(server_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < until
        time.sleep(0.01)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_RUNTIME_DIR", str(folder))  # other runs of this machine are not seen
        try:
            yield ServedConsole(console, port)
        finally:
            server.should_exit = True
            thread.join(10)
