"""Attacks on a console by who has a session that may only look, a stolen one, or a page of another machine: refused."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from granite.console.access import Tokens
from granite.console.jobs import Jobs
from granite.console.live_page import LivePage
from tests.support.console_server import ServedConsole, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[ServedConsole]:
    with serving(folder) as made:
        yield made


@pytest.fixture(scope="module")
def session(folder: Path) -> str:
    (folder / "session").mkdir()
    (folder / "session" / "session.json").write_text("{}")
    return str(folder / "session")


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused starts no process."""
    monkeypatch.setattr(Jobs, "start", lambda *arguments, **more: pytest.fail("a job was started"))


POSTS = [
    ("/api/jobs/start", {"kind": "run", "bed": "free-flyer", "mode": "simulate"}),
    ("/api/jobs/stop", {"number": 1}),
    ("/api/check", {"bed": "free-flyer"}),
    ("/api/log/notes", {"path": "x", "text": "y"}),
]


@pytest.mark.parametrize(("path", "body"), POSTS)
def test_who_may_only_look_changes_nothing(served: ServedConsole, path: str, body: dict[str, Any]):
    status, _, content = served.post(path, body, cookie=served.cookie(served.console.tokens.looking))
    assert (status, content) == (403, b"refused: this session may only look\n")


@pytest.mark.parametrize(("path", "body"), POSTS)
def test_nobody_without_a_session_changes_anything(served: ServedConsole, path: str, body: dict[str, Any]):
    assert served.post(path, body)[0] == 403


@pytest.mark.parametrize(
    "path", ["/api/tuning", "/api/tuning/session?path=x", "/api/sessions", "/api/jobs", "/page/../api/jobs"]
)
def test_a_path_that_begins_like_a_public_one_is_not_public(served: ServedConsole, path: str):
    assert served.request(path)[0] in (403, 404)
    assert served.request(path)[0] != 200


def test_the_token_of_another_console_opens_no_session(served: ServedConsole):
    assert served.post("/api/session", {"token": Tokens().operating})[0] == 403


def test_a_stolen_token_is_of_no_use_to_a_page_of_another_origin(served: ServedConsole):
    token = {"token": served.console.tokens.operating}
    for origin in ("http://127.0.0.1:1", f"https://{served.host}", "file://", "http://localhost"):
        assert served.post("/api/session", token, origin=origin)[0] == 403


def test_a_cookie_ends_with_its_console(served: ServedConsole, tmp_path: Path):
    cookie = served.cookie()
    with serving(tmp_path) as other:
        assert other.request("/api/logs", cookie=cookie)[0] == 403


JOBS = {
    "a command line": {"kind": "sh", "path": "x"},
    "no kind": {"path": "x"},
    "an option as a testbed": {"kind": "run", "bed": "--help", "mode": "simulate"},
    "a testbed elsewhere": {"kind": "run", "bed": "/etc/passwd.toml", "mode": "simulate"},
    "a testbed above": {"kind": "run", "bed": "../x.toml", "mode": "simulate"},
    "a testbed above a preset": {"kind": "run", "bed": "free-flyer/../x", "mode": "simulate"},
    "an unknown mode": {"kind": "run", "bed": "free-flyer", "mode": "run"},
    "a change without a value": {"kind": "run", "bed": "free-flyer", "mode": "simulate", "changes": ["--out"]},
    "changes that are no list": {"kind": "run", "bed": "free-flyer", "mode": "simulate", "changes": "seed=1"},
    "a number as a change": {"kind": "run", "bed": "free-flyer", "mode": "simulate", "changes": [1]},
    "a thousand changes": {"kind": "run", "bed": "free-flyer", "mode": "simulate", "changes": ["a=1"] * 1000},
    "a duration with words": {"kind": "run", "bed": "free-flyer", "mode": "simulate", "duration": "1 --out x"},
    "a seed below zero": {"kind": "run", "bed": "free-flyer", "mode": "simulate", "seed": "-1"},
    "a control character": {"kind": "run", "bed": "free\u0000flyer", "mode": "simulate"},
    "a plot of a file elsewhere": {"kind": "plot", "path": "/etc/passwd"},
    "a film of a file above": {"kind": "movie", "path": "../a.mcap"},
    "an unknown format": {"kind": "export", "path": "/etc/passwd", "format": "sh"},
    "a replay of a file elsewhere": {"kind": "replay", "path": "/tmp/x.mcap"},
    "a promotion out of the folder": {"kind": "promote", "path": "/etc", "trial": 0, "name": "x.toml"},
    "a Monte Carlo result elsewhere": {"kind": "again", "name": "../x.montecarlo.json", "run": 0},
    "too many trials": {"kind": "tune", "bed": "free-flyer", "trials": 10**9},
    "a table elsewhere": {"kind": "tune", "bed": "free-flyer", "tuning": "/etc/x.toml"},
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_never_a_command_line_nor_a_file_elsewhere(served: ServedConsole, name: str):
    status, _, content = served.post("/api/jobs/start", JOBS[name], cookie=served.cookie())
    assert status == 400
    assert "expected" in json.loads(content)["text"]


@pytest.mark.parametrize("name", ["../x.toml", "/etc/x.toml", "x.py", "-x.toml ", ".toml", "a/b.toml", "a\nb.toml"])
def test_a_promoted_testbed_has_a_plain_name(served: ServedConsole, session: str, name: str):
    body = {"kind": "promote", "path": session, "trial": 0, "name": name}
    assert served.post("/api/jobs/start", body, cookie=served.cookie())[0] == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b'"x"', b"[" * 5000, b"\xff\xfe"])
def test_a_damaged_request_gets_one_sentence(served: ServedConsole, body: bytes):
    for path, _ in POSTS:
        status, _, content = served.post(path, body, cookie=served.cookie())
        assert (status, "text" in json.loads(content)) == (400, True)


@pytest.mark.parametrize("number", ["0", "-1", "x", "1e400", "", "99999999"])
def test_the_result_of_no_job_is_no_file(served: ServedConsole, number: str):
    assert served.request(f"/api/jobs/result?number={number}", cookie=served.cookie())[0] == 400


def test_numbers_without_end_ask_for_no_memory(served: ServedConsole):
    cookie = served.cookie()
    for query in ("t0=0&t1=1e300&step=1e-300", "t0=-1e300&t1=0&step=0", "t0=0&t1=nan&step=1"):
        assert served.request(f"/api/log/scenes?path=x&{query}", cookie=cookie)[0] == 400


def test_a_flood_of_sessions_ends_the_oldest_alone(served: ServedConsole):
    cookies = [served.cookie(served.console.tokens.looking) for _ in range(70)]
    assert served.request("/api/logs", cookie=cookies[0])[0] == 403
    assert served.request("/api/logs", cookie=cookies[-1])[0] == 200


def test_clients_that_say_nothing_keep_nobody_waiting(served: ServedConsole):
    silent = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(100)]
    for one in silent[:50]:
        one.send(b"GET / HTTP/1.1\r\nHost: ")  # never ends
    began = time.monotonic()
    assert served.request("/")[0] == 200
    assert time.monotonic() - began < 10
    for one in silent:
        one.close()


def test_a_socket_without_a_run_is_refused_for_every_session(served: ServedConsole):
    with pytest.raises(InvalidStatus):
        connect(
            f"ws://{served.host}/socket?run=1",
            origin=f"http://{served.host}",
            additional_headers={"cookie": served.cookie()},
        )  # type: ignore[arg-type]


@pytest.fixture
def hasty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedConsole]:
    """A console that waits half a second for clients that read nothing."""
    monkeypatch.setattr("granite.console.server.UNREAD_MS", 500)
    with serving(folder) as made:
        yield made


def test_a_page_that_never_reads_makes_room_for_another(hasty: ServedConsole, monkeypatch: pytest.MonkeyPatch):
    """In place of frames of a run: as many bytes as the page takes."""

    class Run:
        pid = 1

    class Feed:
        run = Run()

    async def feed(self: Any, pid: int) -> Any:
        self._pages.setdefault(1, {})
        return Feed()

    async def serve(self: LivePage, pages: Any) -> None:
        while True:
            await self._socket.send_bytes(bytes(2**16))

    monkeypatch.setattr("granite.console.server.Console._feed", feed)
    monkeypatch.setattr(LivePage, "serve", serve)
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.connect(("127.0.0.1", hasty.port))
    head = (
        f"GET /socket?run=1 HTTP/1.1\r\nHost: {hasty.host}\r\nOrigin: http://{hasty.host}\r\nCookie: {hasty.cookie()}"
    )
    head += "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"
    link.sendall(f"{head}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
    pages = hasty.console._pages
    for count in (1, 0):
        until = time.monotonic() + 20
        while len(pages.get(1, {})) != count:
            assert time.monotonic() < until
            time.sleep(0.02)
    link.close()


@pytest.mark.parametrize("message", ["9" * 5000, b"\x00" * 10], ids=["giant", "binary"])
def test_a_giant_or_binary_message_ends_its_page_alone(
    served: ServedConsole, monkeypatch: pytest.MonkeyPatch, message: Any
):
    """The limit of the socket and the messages of a page, with a page in place of one of a run."""

    class Run:
        pid = 1

    class Feed:
        run = Run()

    async def feed(self: Any, pid: int) -> Any:
        self._pages.setdefault(1, {})
        return Feed()

    async def serve(self: LivePage, pages: Any) -> None:
        await self._hear()

    monkeypatch.setattr("granite.console.server.Console._feed", feed)
    monkeypatch.setattr(LivePage, "serve", serve)
    with served.page(1, served.cookie()) as page:
        page.send(message)
        with pytest.raises(ConnectionClosed):
            page.recv(timeout=10)
    assert served.request("/")[0] == 200
