"""Marks of a page: contacts with a surface, colours of recorded events, and the title within the page."""

from types import SimpleNamespace

import numpy as np

from granite.config.loader import load
from granite.console.table_scene import TableScene
from granite.views.plots.contact_marks import spots
from granite.views.plots.events import _recorded
from granite.views.plots.style import STOP, WARNING
from granite.views.scene_messages.live_scene import LiveScene
from tests.support.drawn_pages import drawn, log_of
from tests.support.jointed_beds import bar_between_arms


def test_a_contact_with_a_surface_is_drawn_at_the_nearest_point_of_it() -> None:
    points = np.array([[1.0, 1.0], [3.0, 4.0], [2.0, 1.0]])  # first side, second side, and a unit along the surface
    scene = SimpleNamespace(contacts={0: (0, 1), 1: (0, 1)}, surfaces={0: 2})
    found = spots(scene, points)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found[0].position, [3.0, 1.0])
    np.testing.assert_array_equal(found[1].position, [3.0, 4.0])
    assert [found[i].surface for i in (0, 1)] == [True, False]


def test_errors_have_the_colour_of_stops_and_other_events_that_of_warnings() -> None:
    events = [{"name": "table_edge", "level": "error", "t_s": 2.0}]
    events += [{"name": "overrun", "level": "warning", "t_s": t} for t in (0.5, 1.0)]
    run = SimpleNamespace(changes=[], events=events)
    assert _recorded(run, False) == {("table edge", STOP): [2.0], ("overrun", WARNING): [0.5, 1.0]}  # type: ignore[arg-type]


def test_the_title_and_the_line_below_it_are_on_the_page() -> None:
    bed = bar_between_arms()
    figure = drawn(log_of(bed, np.zeros((20, len(bed.positions)))))
    title = next(text for text in figure.texts if text.get_text() == bed.title)
    line = next(text for text in figure.texts if text.get_text().startswith(f"{bed.name}  ·  "))
    assert 0.5 < line.get_position()[1] < title.get_position()[1] < 1


def test_zones_are_drawn_in_plots_the_live_scene_and_the_page() -> None:
    zones = [
        {"name": "post", "disc": {"position_m": [2.5, 1.6], "radius_m": 0.15}},
        {"name": "wall", "polygon_m": [[1.5, 0.4], [2.3, 0.4], [2.3, 0.7]], "solid": False},
    ]
    bed = load("free-flyer", {"safety.keep_out": zones})
    log = log_of(bed, np.tile([1.0, 0.8, 0.0, 0.4, 0.9], (20, 1)))
    (axes, *_) = drawn(log).axes
    assert {"post", "wall"} <= {text.get_text() for text in axes.texts}
    live = LiveScene(bed, log.channels, log.rows[0])
    drawn_live = live.shapes(live.parts(log.rows[0]), 0).encode()
    assert b"zone post" in drawn_live
    assert b"zone wall" in drawn_live
    shapes = TableScene(bed, log.channels, log.rows[0]).shapes()["zones"]
    assert [(zone["name"], len(zone["corners"])) for zone in shapes] == [("post", 48), ("wall", 3)]
