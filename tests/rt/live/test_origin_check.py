"""Web pages of other origins do not see a run, although a browser lets them connect to this machine."""

import threading
from pathlib import Path

import pytest

import granite as api
from granite.rt.live.origin_check import may_pass
from tests.support.foxglove_client import Connection, client, talking, websockets
from tests.support.unhurried import LIMITS

HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8765\r\nUpgrade: websocket\r\n%s\r\n"


@pytest.mark.parametrize(
    ("lines", "passes"),
    [
        (b"", True),  # no browser
        (b"Origin: https://app.foxglove.dev\r\n", True),
        (b"origin:http://localhost:8080\r\n", True),
        (b"Origin: http://[::1]:8080\r\n", True),
        (b"Origin: file://\r\n", True),
        (b"Origin: https://lab.example\r\n", True),  # by the environment
        (b"Origin: https://evil.example\r\n", False),
        (b"Origin: null\r\n", False),  # of a frame without an origin, on any page
        (b"Origin: \r\n", False),
        (b"Origin: http://localhost.evil.example\r\n", False),
        (b"Origin: http://localhost@evil.example\r\n", False),
        (b"Origin: https://app.foxglove.dev.evil.example\r\n", False),
        (b"Origin: http://[evil\r\n", False),
        (b"ORIGIN : https://evil.example \r\n", False),
        (b"Origin: https://app.foxglove.dev\r\nOrigin: https://evil.example\r\n", False),
    ],
)
def test_an_origin_is_known_or_refused(lines: bytes, passes: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRANITE_LIVE_ORIGINS", "https://lab.example,https://other.example")
    assert may_pass(HEAD % lines) == passes


def test_a_request_that_opens_no_websocket_is_refused():
    assert not may_pass(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8765\r\n\r\n")


def test_a_page_of_another_origin_is_refused_while_others_look(tmp_path: Path):
    refused: list[int] = []
    looked = threading.Event()

    def talk(connection: Connection) -> None:
        url = f"ws://127.0.0.1:{connection.link.remote_address[1]}"
        options = {"subprotocols": ["foxglove.sdk.v1"]}
        for origin in ("https://evil.example", "null"):
            with pytest.raises(websockets.InvalidStatus) as refusal:
                client.connect(url, origin=origin, **options).close()
            refused.append(refusal.value.response.status_code)
        with client.connect(url, origin="https://app.foxglove.dev", **options) as page:
            assert Connection(page, ("/truth",)).channels
            looked.set()

    bed = api.load("free-flyer", {"loop.duration_s": 0.5, **LIMITS})
    with talking(bed, tmp_path / "run.mcap", talk, waits_at_s=0.1) as (_, summary):
        assert summary["ended"] == "completed"
    assert refused == [403, 403]
    assert looked.is_set()
