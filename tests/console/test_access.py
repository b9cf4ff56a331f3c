"""The console lets in who has the token, and refuses other pages, names and forms, each by a check of its own."""

import hashlib
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from granite.console.access import Tokens
from tests.support.console_server import ServedConsole, serving

PAGE = Path(__file__).parents[2] / "console" / "page"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedConsole]:
    with serving(tmp_path_factory.mktemp("runs")) as server:
        yield server


def test_the_page_needs_no_session_and_everything_else_does(served: ServedConsole):
    status, headers, content = served.request("/")
    assert (status, b"Granite" in content) == (200, True)
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert served.request("/page/main.js")[0] == 200
    for path in ("/api/runs", "/api/logs", "/api/log?path=x", "/socket"):
        assert served.request(path)[0] == 403
    assert served.get("/api/logs", served.cookie()) == []


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 10000])
def test_a_wrong_token_opens_no_session(served: ServedConsole, token: str):
    assert served.post("/api/session", {"token": token})[0] == 403


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"token": 1e400}', b'{"other": 1}', b"[" * 5000])
def test_a_session_asked_for_wrongly_is_refused(served: ServedConsole, body: bytes):
    assert served.post("/api/session", body)[0] == 403


def test_requests_of_other_pages_are_refused(served: ServedConsole):
    token, cookie = {"token": served.console.tokens.operating}, served.cookie()
    assert served.post("/api/session", token, origin="http://evil.example")[0] == 403
    assert served.post("/api/session", token, origin="null")[0] == 403
    assert served.request("/api/session", "POST", token, content_type="application/json")[0] == 403  # no origin at all
    form = b"token=" + served.console.tokens.operating.encode()
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data"):
        assert served.post("/api/session", form, content_type=kind)[0] == 403
    assert served.request("/api/logs", cookie=cookie, origin="http://evil.example")[0] == 403
    # A name of a stranger that was bound to this machine's address.
    for host in (f"evil.example:{served.port}", "127.0.0.1", "127.0.0.1:1", ""):
        assert served.request("/api/logs", host=host, cookie=cookie)[0] == 403


def test_a_guessed_or_damaged_cookie_is_refused(served: ServedConsole):
    for cookie in ("granite_console=x", "granite_console=", "other=1", 'granite_console="', "a" * 5000):
        assert served.request("/api/logs", cookie=cookie)[0] == 403


def test_no_file_outside_of_the_page_is_served(served: ServedConsole):
    cookie = served.cookie()
    for path in ("/page/../server.py", "/page/%2e%2e/server.py", "/page/..%2fserver.py", "/page//etc/passwd", "/../x"):
        assert served.request(path, cookie=cookie)[0] in (403, 404)
    for log in ("/etc/passwd", "../../etc/passwd", str(PAGE / "index.html"), "", "x.mcap"):
        status, _, content = served.request(f"/api/log?path={log}", cookie=cookie)
        assert (status, b"expected one of the list" in content) == (400, True)


def test_a_body_that_is_too_long_is_refused_unread(served: ServedConsole):
    assert served.post("/api/session", b" " * 70000)[0] == 403
    assert served.post("/api/session", {"token": ""}, content_length="x")[0] in (400, 403)


def test_a_request_that_is_no_http_has_its_answer_however_long_it_is(served: ServedConsole):
    """A close with unread bytes would be a reset."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as client:
        client.sendall(b"POST /api/session HTTP/1.1\r\ncontent-length: x\r\n\r\n" + b" " * 4_000_000)
        client.shutdown(socket.SHUT_WR)
        assert b"".join(iter(lambda: client.recv(4096), b"")).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "headers", [{}, {"cookie": "granite_console=guessed"}, {"host": "evil.example"}, {"origin": "http://evil.example"}]
)
def test_a_socket_without_session_or_of_another_page_is_refused(served: ServedConsole, headers: dict[str, str]):
    own = {"cookie": served.cookie()} if headers.get("host") or headers.get("origin") else {}
    given = {**own, **headers}
    origin = given.pop("origin", f"http://{served.host}")
    with pytest.raises(InvalidStatus):
        connect(f"ws://{served.host}/socket?run=1", origin=origin, additional_headers=given)  # type: ignore[arg-type]


def test_a_run_that_does_not_exist_has_no_socket(served: ServedConsole):
    for run in ("0", "-1", "x", "1", "9" * 30):
        with pytest.raises(InvalidStatus), served.page(run, served.cookie()):  # type: ignore[arg-type]
            pass


def test_a_session_that_may_only_look_can_send_nothing(served: ServedConsole):
    cookie = served.cookie(served.console.tokens.looking)
    assert served.get("/api/runs", cookie) == []
    assert served.post("/api/logs", {}, cookie=cookie)[0] == 403


def test_only_the_newest_sessions_are_kept():
    tokens = Tokens()
    first = tokens.open_session(tokens.operating)
    others = [tokens.open_session(tokens.looking) for _ in range(64)]
    assert tokens.may_operate(first) is None
    assert {tokens.may_operate(cookie) for cookie in others} == {False}


def test_the_file_of_the_tokens_is_for_its_owner_alone(tmp_path: Path):
    tokens, path = Tokens(), tmp_path / "tokens"
    path.write_text("before")
    path.chmod(0o644)
    tokens.write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == f"operate {tokens.operating}\nlook {tokens.looking}\n"


def test_the_page_is_ours_and_the_plots_are_as_they_were_published():
    """No request to another host, no script in the page; uPlot 1.6.32 as it is on npm."""
    for path in PAGE.iterdir():
        if path.is_file():
            text = path.read_text()
            assert not [
                word for word in ("http://", "https://") if word in text.replace("http://www.w3.org/2000/svg", "")
            ]
    page = (PAGE / "index.html").read_text()
    assert page.count("<script") == page.count('<script type="module" src="page/main.js"></script>') == 1
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (PAGE / "vendor").iterdir()}
    listed = dict(line.split()[::-1] for line in (PAGE / "vendor" / "SHA256SUMS").read_text().splitlines())
    assert digests.pop("SHA256SUMS")
    assert digests == listed
