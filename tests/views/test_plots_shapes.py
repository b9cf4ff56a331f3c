"""Bodies are seen in the shapes they have, turned as they are, with their tips, failed thrusters and wanted poses."""

import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle, Polygon

from granite.config.loader import from_json, load, to_json
from granite.config.start import initial_motion
from granite.console.table_scene import TableScene
from granite.logs.log import Log
from granite.views.plots.contact_marks import spots
from granite.views.plots.events import _recorded
from granite.views.plots.scene import Scene
from granite.views.plots.style import HULL_LAST, INK, STOP, TIP, WARNING
from granite.views.scene_messages.live_scene import LiveScene
from tests.support.drawn_pages import drawn, log_of, run, texts, with_rows
from tests.support.jointed_beds import bar_between_arms, bed

SQUARE = [[0.2, -0.1], [0.2, 0.1], [-0.2, 0.1], [-0.2, -0.1]]


def puck(**body):
    """One planar body that floats and carries nothing."""
    root = {"name": "base", "mass_kg": 2.0, "inertia_kg_m2": 0.01, **body}
    return bed("puck", [{"name": "puck", "dimension": "planar", "base": "floating", "bodies": [root]}])


def turned(angle: float, x: float = 1.0) -> np.ndarray:
    q = np.zeros((20, 3))
    q[:, 0], q[:, 2] = np.linspace(0, x, 20), np.linspace(0, angle, 20)
    return q


def shapes(figure, colour: str) -> list[np.ndarray]:
    """Outlines in the view that are filled with a colour."""
    patches = figure.axes[0].patches
    return [p.get_xy()[:-1] for p in patches if isinstance(p, Polygon) and p.get_facecolor() == to_rgba(colour)]


def dashed(figure) -> list[Polygon | Circle]:
    """The shapes of the reference at the end."""
    return [p for p in figure.axes[0].patches if not p.get_fill() and p.get_linestyle() == (0, (3, 2))]


@pytest.fixture(scope="module")
def flown() -> Log:
    return run(load("free-flyer", ["loop.duration_s=1"]))


@pytest.mark.parametrize("body", [{}, {"outline_m": SQUARE}], ids=["a disc", "a box"])
def test_a_body_without_an_arm_has_a_mark_that_points_along_its_x_axis(body):
    marks = shapes(drawn(log_of(puck(**body), turned(2.0))), INK)
    left, tip, right = marks[-1]  # of the last pose
    edge = 0.2 if body else 0.1
    assert tip - (1.0, 0.0) == pytest.approx(edge * np.array([math.cos(2.0), math.sin(2.0)]))
    tail = (left + right) / 2
    assert (tip - tail) / np.linalg.norm(tip - tail) == pytest.approx([math.cos(2.0), math.sin(2.0)])
    assert np.linalg.norm(left - right) > 0.01


def test_a_wheel_is_no_arm_that_shows_the_heading():
    wheel = {"name": "rotor", "mass_kg": 1.0, "inertia_kg_m2": 0.01}
    base = {"name": "base", "mass_kg": 2.0, "inertia_kg_m2": 0.01}
    joint = {"name": "wheel", "parent": "base", "child": "rotor", "origin_m": [0.02, 0.0]}
    module = {"name": "m", "dimension": "planar", "base": "floating", "bodies": [base, wheel], "joints": [joint]}
    with_wheel = bed("wheel", [module])
    assert Scene(with_wheel, with_wheel.modules).silhouettes[0].heading
    flyer = load("free-flyer")
    assert not Scene(flyer, flyer.modules).silhouettes[0].heading


def test_a_body_with_an_outline_is_drawn_with_it():
    figure = drawn(log_of(puck(outline_m=SQUARE), turned(math.pi / 2)))
    (box,) = shapes(figure, HULL_LAST)
    assert box == pytest.approx(np.array([[1.1, 0.2], [0.9, 0.2], [0.9, -0.2], [1.1, -0.2]]))
    assert not [p for p in figure.axes[0].patches if isinstance(p, Circle)]


def test_links_and_what_stands_on_the_ground_are_drawn_with_their_outlines():
    content = json.loads(to_json(bar_between_arms()))
    for module in content["modules"][:2]:
        for body in module["bodies"]:
            body["outline_m"] = SQUARE
    q = np.tile([math.pi / 2, math.pi / 2, 0.5, 0.5, 0.0], (3, 1))
    figure = drawn(log_of(from_json(json.dumps(content)), q))
    upright = np.array([[0.1, 0.2], [-0.1, 0.2], [-0.1, -0.2], [0.1, -0.2]])
    assert any(shape.shape == (4, 2) and np.allclose(shape, upright) for shape in shapes(figure, HULL_LAST))
    stands = [p.get_xy()[:-1] for p in figure.axes[0].patches if p.get_hatch()]
    assert stands[0] == pytest.approx(np.array(SQUARE))


def test_bases_that_a_contact_makes_one_reach_to_it():
    floating = load("spatial-dual-arm/floating")
    q, _ = initial_motion(floating)
    figure = drawn(log_of(floating, np.tile(q, (3, 1)), closed=1.0))
    hulls = shapes(figure, HULL_LAST)
    for start in ([-1.7, -0.5], [1.7, 0.5]):
        struts = [s for s in hulls if len(s) == 4 and np.allclose(s[[0, 3]].mean(axis=0), start)]
        (strut,) = struts
        assert strut[1:3].mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-6)  # where the deck is


def test_a_failed_thruster_is_crossed_in_the_view_and_hatched_in_its_lane(flown):
    failed = load("free-flyer", ["loop.duration_s=1", "devices.thrusters.units.r3.failed=true"])
    figure = drawn(dataclasses.replace(flown, bed=failed))
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    x, y, heading, *_ = flown.rows[-1, flown.channels.columns("/truth", "q")]
    ahead, left = np.array([[np.cos(heading), np.sin(heading)], [-np.sin(heading), np.cos(heading)]])
    nozzle = (x, y) - 0.13 * ahead + 0.13 * left  # r3 pushes back from the left of the back, so its jet goes left
    assert crosses[-1].get_xydata()[0] == pytest.approx(nozzle + 0.6 * 0.14 * 0.24 * left, abs=1e-3)
    assert {line.get_color() for line in crosses} == {STOP}
    assert "failed thruster" in texts(figure)
    lanes = next(axes for axes in figure.axes if axes.get_ylabel() == "valves")
    assert [label.get_text() for label in lanes.get_yticklabels()][1:4] == ["r2", "r3 failed", "r4"]
    (hatched,) = [p for p in lanes.patches if p.get_hatch()]
    assert hatched.get_extents().transformed(lanes.transData.inverted()).y0 == pytest.approx(2.0, abs=0.5)
    healthy = drawn(flown)
    assert not [line for line in healthy.axes[0].lines if line.get_marker() == "x"]
    assert "failed thruster" not in texts(healthy)


def test_the_path_of_a_tip_is_drawn_beside_that_of_the_base(flown):
    figure = drawn(flown)
    (path,) = [line for line in figure.axes[0].lines if line.get_label() == "path of tip"]
    x, y, heading, shoulder, elbow = flown.rows[-1, flown.channels.columns("/truth", "q")]
    angles = np.cumsum([heading, shoulder, elbow])
    tip = [x, y] + np.array([0.24, 0.3, 0.3]) @ np.column_stack((np.cos(angles), np.sin(angles)))
    assert path.get_xydata()[-1] == pytest.approx(tip)
    assert len(path.get_xydata()) == len(flown.rows)
    assert path.get_color() == TIP
    two = load("two-arm-free-flyer")
    assert len(Scene(two, two.modules).silhouettes[0].tips) == 2


@pytest.mark.slow
def test_the_last_pose_of_the_reference_is_dashed(flown):
    rows = flown.rows.copy()
    rows[:, flown.channels.columns("/reference", "q")] = [2.0, 1.5, 0.0, math.pi / 2, 0.0]
    disc, upper, fore = dashed(drawn(with_rows(flown, rows)))
    assert disc.center == pytest.approx([2.0, 1.5])
    for link, (low, high) in ((upper, (1.5, 1.8)), (fore, (1.8, 2.1))):
        (x0, y0), (x1, y1) = link.get_xy().min(axis=0), link.get_xy().max(axis=0)
        assert (x0 + x1) / 2 == pytest.approx(2.24)
        assert (y0 + y1) / 2 == pytest.approx((low + high) / 2)
    assert "reference at the end" in texts(drawn(flown))
    assert not dashed(drawn(log_of(puck(), turned(1.0))))


def test_what_did_not_go_far_still_says_when_it_started():
    q = turned(1.0, x=0.001)
    figure = drawn(log_of(puck(), q))
    assert {"0 s", "0.2 s"} <= set(texts(figure))


@pytest.mark.slow
def test_times_are_written_where_they_cover_nothing():
    figure = drawn(run(load("free-flyer", ["loop.duration_s=4"])))
    figure.draw_without_rendering()
    view = figure.axes[0]
    (label,) = [text for text in view.texts if text.get_text() == "4 s"]
    box = label.get_window_extent().padded(-2.0)
    for patch in view.patches:
        if patch.get_zorder() > 1 and patch.get_window_extent().width > 0:
            corners = patch.get_path().interpolated(8).vertices
            inside = view.transData.transform(patch.get_patch_transform().transform(corners))
            assert not any(box.contains(*corner) for corner in inside)
            assert not patch.contains_point(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))


def test_a_contact_with_a_surface_is_drawn_at_the_nearest_point_of_it() -> None:
    points = np.array([[1.0, 1.0], [3.0, 4.0], [2.0, 1.0]])  # first side, second side, and a unit along the surface
    scene = SimpleNamespace(contacts={0: (0, 1), 1: (0, 1)}, surfaces={0: 2})
    points_drawn = spots(scene, points)  # type: ignore[arg-type]
    np.testing.assert_array_equal(points_drawn[0].position, [3.0, 1.0])
    np.testing.assert_array_equal(points_drawn[1].position, [3.0, 4.0])
    assert [points_drawn[i].surface for i in (0, 1)] == [True, False]


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
