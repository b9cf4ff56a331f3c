"""Pages that watch and operate a run: frames, commands, control, and what becomes of a page that is gone."""

import json
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import granite as api
from granite.rt.process.run_register import registered_runs
from tests.support.console_pages import Running, waiting_run
from tests.support.console_server import ServedConsole, serving

SIGNALS = ["truth.base_x_m", "operation.mode"]


class Page:
    """What a browser's page does, without a browser."""

    def __init__(self, served: ServedConsole, pid: int, cookie: str) -> None:
        self.link = served.page(pid, cookie)
        self.heard: dict[str, dict[str, Any]] = {}
        self.events: list[str] = []
        self.frames: list[tuple[dict[str, Any], np.ndarray]] = []
        self.number = 0

    def send(self, kind: str, **more: Any) -> None:
        self.link.send(json.dumps({"kind": kind, **more}))

    def hear(self, kind: str, limit_s: float = 20.0) -> dict[str, Any]:
        """The next message of that kind."""
        until = time.monotonic() + limit_s
        while True:
            message = self.link.recv(timeout=max(0.0, until - time.monotonic()))
            if isinstance(message, bytes):
                self._frame(message)
                if kind == "frame":
                    return self.frames[-1][0]
                continue
            said: dict[str, Any] = json.loads(message, parse_constant=pytest.fail)
            self.heard[said["kind"]] = said
            self.events += [event["name"] for event in said.get("events", ())]
            if said["kind"] == kind:
                return said

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        self.number += 1
        self.send("ask", number=self.number, do=do, **more)
        while (answer := self.hear("answer"))["number"] != self.number:
            pass
        return answer

    def wait_for(self, **wanted: Any) -> dict[str, Any]:
        """Until the status is as wanted."""
        while not wanted.items() <= (status := self.hear("status")).items():
            pass
        return status

    def _frame(self, message: bytes) -> None:
        (length,) = struct.unpack_from("<I", message)
        head = json.loads(message[4 : 4 + length])
        start, n = 4 + length + head["points"], head["rows"]
        t = np.frombuffer(message, "<f8", n, start)
        signals = np.frombuffer(message, "<f4", n * head["signals"], start + 8 * n)
        self.frames.append((head, np.vstack((t, signals.reshape(head["signals"], n)))))
        if head["kind"] == "frame":
            self.send("drawn")


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ServedConsole, Running, int]]:
    """A console and a run that waits for an operator."""
    monkeypatch.setenv("GRANITE_KEYS", str(tmp_path / "keys"))
    with serving(tmp_path) as served, waiting_run(tmp_path / "run.mcap") as (running, pid):
        yield served, running, pid


@pytest.mark.slow
def test_a_page_sees_operates_and_loses_a_run(console: tuple[ServedConsole, Running, int]):
    served, running, pid = console
    cookie = served.cookie()
    first = Page(served, pid, cookie)
    hello = first.hear("hello")
    assert hello["may_operate"]
    assert "urgent" in served.console._operations[pid]._connections
    assert "start" not in hello["possible"]["disarmed"]
    run = first.hear("run")
    assert run["bed"] == "free-flyer"
    assert run["shapes"]["modules"][0]["jets"][0]["thruster"] == 0
    first.send("signals", names=SIGNALS)
    # Frames have the points of the robot and all rows, none twice.
    for _ in range(8):
        first.hear("frame")
    t = np.concatenate([rows[0] for head, rows in first.frames if head["signals"] == 2 and head["kind"] == "frame"])
    assert len(t) > 8
    assert (np.diff(t) > 0).all()
    head = first.frames[-1][0]
    assert head["robot"]
    assert head["points"] % 8 == 0
    assert head["points"] > 8 * len(run["shapes"]["ghost"])
    # Nobody is in control: only stops are heard.
    assert first.hear("status")["control"] == "free"
    assert first.ask("arm")["text"] == "refused: another page is in control, expected take control first"
    first.send("control", what="take")
    first.wait_for(control="mine")
    assert first.ask("start")["text"].startswith("refused: the run is disarmed")
    for do in ("arm", "start"):  # the estimate needs a moment
        until = time.monotonic() + 20
        while not first.ask(do)["ok"]:
            assert time.monotonic() < until
            first.send("alive")
            time.sleep(0.2)
    # A gain arrives in the loop, within its bounds.
    [gain] = [each for each in first.heard["gains"]["gains"] if each["name"] == "elbow_stiffness"]
    refused = first.ask("set_gain", gain="elbow_stiffness", value=1e6)
    assert (refused["ok"], f"expected {gain['lower']:g} to {gain['upper']:g}" in refused["text"]) == (False, True)
    assert first.ask("set_gain", gain="elbow_stiffness", value=1.25 * gain["value"])["ok"]
    assert first.ask("set_gain", gain="elbow_stiffness", value=gain["value"])["ok"]
    # A second page sees it, may stop it, and takes control over.
    second = Page(served, pid, cookie)
    second.wait_for(control="other", mode="running")
    assert 0 < second.frames[0][0]["rows"] < 100  # not those of the last minute
    assert not second.ask("float")["ok"]
    second.send("control", what="take")
    first.send("alive")
    assert first.wait_for(asked_by=second_number(second))["control"] == "mine"
    first.send("control", what="pass_on")
    second.wait_for(control="mine")
    first.wait_for(control="other")
    # The page in control is closed: the run holds by itself.
    second.link.close()
    first.wait_for(mode="holding")  # when, is measured by a benchmark
    assert "operator" in first.heard["status"]["cause"]
    # Nonsense is refused, and the page lives on.
    for text in ("", "[]", "{", '{"kind": "no"}', '{"kind": "ask"}', '{"kind": "control", "what": 1e999}', "9" * 3000):
        first.link.send(text)
        assert first.hear("refused")["text"].startswith("refused")
    look = Page(served, pid, served.cookie(served.console.tokens.looking))
    assert look.wait_for(control="look")
    assert look.ask("emergency_stop")["text"] == "refused: this page may only look"
    assert first.ask("emergency_stop")["ok"]
    running.join(30)
    assert running.summary["ended"] == "emergency_stop"
    log = api.read_log(running.log)
    assert api.replay(log).first is None
    assert any("operator" in event["text"] and event["name"] == "holding" for event in log.events)
    assert registered_runs() == []


def second_number(page: Page) -> int:
    return int(page.heard["hello"]["page"])


@pytest.mark.slow
def test_a_stop_waits_neither_for_readers_of_files_nor_for_pages_that_never_read(
    console: tuple[ServedConsole, Running, int], monkeypatch: pytest.MonkeyPatch
):
    served, running, pid = console
    cookie, over = served.cookie(), threading.Event()
    # All threads of the server wait for a disk, and pages take what they are sent from no buffer.
    monkeypatch.setattr("granite.console.log_shelf.LogShelf.listed", lambda self: over.wait(60) and [])
    page = Page(served, pid, cookie)
    page.hear("run")
    stalled = [served.page(pid, cookie) for _ in range(3)]
    floods = [
        threading.Thread(target=served.request, args=("/api/logs",), kwargs={"cookie": cookie}) for _ in range(40)
    ]
    try:
        for flood in floods:
            flood.start()
        time.sleep(2.0)
        for _ in range(20):
            page.hear("frame")
        assert page.ask("emergency_stop")["ok"]
    finally:
        over.set()
        for client in stalled:
            client.socket.close()
        for flood in floods:
            flood.join(30)
    running.join(30)
    assert running.summary["ended"] == "emergency_stop"
