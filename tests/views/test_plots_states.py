"""The states of a state machine over time: a lane for each, and no list of events."""

import dataclasses

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from granite.config.loader import load
from granite.config.verdict_subjects import subjects
from granite.logs.events import Events
from granite.logs.log import Log
from granite.views.plots.page import build_page
from tests.support.drawn_pages import drawn, log_of, panel, texts

BED = load("fixed-dual-arm/pick-and-place")
#: a state in each tick; `grip` lasts for a single one, and `close_in` comes twice
VISITED = ["reach"] * 10 + ["close_in"] * 5 + ["grip"] + ["close_in"] * 4


@pytest.fixture(scope="module")
def log() -> Log:
    closed = np.array([[state == "grip"] * len(BED.contacts) for state in VISITED])
    made = log_of(BED, np.zeros((len(VISITED), len(BED.positions))), closed=closed)
    rows, names, events = made.rows.copy(), BED.behaviour.state_names, []
    rows[:, made.channels.column("/reference", "machine_state")] = [names.index(name) for name in VISITED]
    rows[:, made.channels.column("/state", "ready")] = 1.0

    def report(t, tick, level, name, text):
        events.append({"t_s": t, "tick": tick, "level": level, "name": name, "text": text})

    Events(BED, made.channels, subjects(BED), report).look(rows)
    return dataclasses.replace(made, rows=rows, events=tuple(events))


def bars(figure: Figure) -> list[tuple[float, float, int]]:
    """Begin, end and lane of each bar of the panel."""
    paths = [c.get_paths()[0].vertices for c in panel(figure, "state").collections if isinstance(c, PolyCollection)]
    return [(p[:, 0].min(), p[:, 0].max(), round(p[:, 1].mean())) for p in paths if np.ptp(p[:, 0]) > 0]


def test_each_state_has_a_lane_that_is_filled_while_it_lasts(log):
    figure, period = drawn(log), BED.loop.period_s
    assert [label.get_text() for label in panel(figure, "state").get_yticklabels()] == ["reach", "close in", "grip"]
    expected = [(0, 10, 0), (10, 15, 1), (15, 16, 2), (16, 20, 1)]
    np.testing.assert_allclose(bars(figure), [(a * period, b * period, lane) for a, b, lane in expected], atol=1e-12)


def test_states_are_listed_as_events_only_where_no_panel_names_them(log):
    assert "state_reach" in [event["name"] for event in log.events]
    assert not [text for text in texts(drawn(log)) if text.startswith("state ")]
    assert "state reach at 0 s" in texts(build_page(log, ["closed"]))


def test_a_run_without_a_state_machine_has_no_such_panel():
    bed = load("free-flyer")
    figure = drawn(log_of(bed, np.zeros((5, len(bed.positions)))))
    assert "state" not in [axes.get_ylabel() for axes in figure.axes]
