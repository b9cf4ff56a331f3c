"""The modes of an operated run over time: a lane for each, and no lines of the operator's requests."""

import dataclasses
import json

import pytest
from matplotlib.figure import Figure

from granite.config.reasons import Reason
from granite.config.run_modes import Request, RequestKind
from granite.config.verdict_subjects import subjects
from granite.logs.events import Events
from granite.logs.log import Log
from granite.views.plots.page import build_page
from tests.support.drawn_pages import drawn, panel, texts
from tests.support.scripted_operator import scripted

LOST = Request(RequestKind.REPORT, argument=Reason.OPERATOR_LOST)
ASKED = {
    0.0: RequestKind.ATTACH,
    0.5: RequestKind.START,
    1.5: RequestKind.ARM,
    2.0: RequestKind.START,
    3.0: RequestKind.HOLD,
    5.0: RequestKind.START,
    5.5: LOST,
}


@pytest.fixture(scope="module")
def log() -> Log:
    done, events = scripted(ASKED, "loop.duration_s=2"), []

    def report(t, tick, level, name, text):
        events.append({"t_s": t, "tick": tick, "level": level, "name": name, "text": text})

    bed = done.run.bed
    Events(bed, done.channels, subjects(bed), report, ["ann"]).look(done.rows)
    return Log(bed, {"operators": json.dumps(["ann"])}, done.channels, done.rows, tuple(events), None, True)


@pytest.fixture(scope="module")
def page(log: Log) -> Figure:
    return drawn(log)


@pytest.mark.slow
def test_each_mode_has_a_lane(page):
    modes = panel(page, "mode")
    assert [label.get_text() for label in modes.get_yticklabels()] == ["disarmed", "armed", "running", "holding"]


def test_what_the_operator_asked_for_is_no_line_but_a_fault_is(page):
    said = texts(page)
    assert not [text for text in said if text.startswith(("operator request", "armed at", "running at"))]
    assert [text for text in said if text.startswith("holding at 5.5")]


def test_requests_and_modes_are_lines_where_no_panel_names_the_modes(log):
    said = texts(build_page(log, ["tracking"]))
    assert "armed at 1.5 s" in said
    assert [text for text in said if text.startswith("operator request at 0 s")]


def test_a_run_without_an_operator_has_no_such_panel(log):
    alone = dataclasses.replace(log, info={})
    assert "mode" not in [axes.get_ylabel() for axes in drawn(alone).axes]
