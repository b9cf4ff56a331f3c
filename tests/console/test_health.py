"""The health of links, from their counters."""

import pytest

from granite.console import health
from granite.console.health import LinkHealth


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(health.time, "monotonic", lambda: now[0])
    return now


def test_a_link_has_a_rate_and_is_silent_without_frames(clock):
    link = LinkHealth()
    link.note({"link": "board", "t_s": 1.0, "received": 150, "missed": 0, "sent": 200})
    clock[0] += 1.0
    link.note({"link": "board", "t_s": 2.0, "received": 350, "missed": 3, "sent": 400})
    assert link.shown() == {"status": "ok", "age_s": 0.0, "rate": 200, "trouble": {"missed": 3}}
    for t in (3.0, 4.0, 5.0):
        clock[0] += 1.0
        link.note({"link": "board", "t_s": t, "received": 350, "missed": 3, "sent": 400})
    assert link.shown() == {"status": "silent", "age_s": 3.0, "rate": 0, "trouble": {"missed": 3}}


def test_a_link_of_which_nothing_more_is_heard_is_silent(clock):
    link = LinkHealth()
    link.note({"link": "board", "t_s": 1.0, "received": 1})
    clock[0] += 3.0
    assert link.shown()["status"] == "silent"
