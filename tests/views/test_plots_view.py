"""All modules of a testbed are seen where they are, bent as they are, with their contacts."""

import math
from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle, Polygon, Rectangle

from granite.config.loader import load, presets
from granite.config.start import initial_motion
from granite.views.plots.projection import FROM_ABOVE, best_projections
from granite.views.plots.scene import Scene
from granite.views.plots.style import CONTACT, HULL_LAST, INK
from tests.support.drawn_pages import assert_nothing_is_cut, drawn, log_of, run, texts
from tests.support.jointed_beds import bar_between_arms, box_in_space, chain, free_flyer_and_bar, puck_and_wall
from tests.support.quick_cases import quick

#: heading of the arms; the bar lies between their tips
BAR_AT_REST = [math.pi / 2, math.pi / 2, 0.5, 0.5, 0.0]


def bar(ticks: int = 3) -> np.ndarray:
    """The bar of `bar_between_arms` and its arms, at rest; its grips are 0.3 m off."""
    return np.tile(BAR_AT_REST, (ticks, 1))


def marks(figure, fill: str) -> np.ndarray:
    """Where contacts are marked with this filling."""
    view = figure.axes[0]
    return np.vstack(
        [line.get_xydata() for line in view.lines if line.get_markerfacecolor() == fill and line.get_marker() == "o"]
    )


def test_a_flexible_link_is_drawn_through_the_curve_it_is_bent_into():
    bed = load("mrds-1")
    q = np.array([0.3, 0.02, -0.005])
    scene = Scene(bed, bed.modules)
    (beam,) = scene.silhouettes[0].beams
    points = scene.body_points.at(q[None])[0, beam, :2]
    # Euler and Bernoulli's cantilever: both modes have a size of 2 at the tip, with opposite signs.
    deflection = points @ [-math.sin(0.3), math.cos(0.3)]
    assert deflection[-1] == pytest.approx(2 * (0.02 + 0.005), rel=1e-6)
    assert deflection[0] == 0
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() == pytest.approx(1.0, abs=2e-3)
    view = drawn(log_of(bed, q[None])).axes[0]
    seen = [line.get_xydata() for line in view.lines if line.get_color() == HULL_LAST]
    assert seen[0] == pytest.approx(points)


def test_what_carries_nothing_is_drawn_from_corner_to_corner():
    figure = drawn(log_of(bar_between_arms(), bar()))
    shapes = figure.axes[0].findobj(lambda a: isinstance(a, Polygon) and a.get_facecolor() == to_rgba(HULL_LAST))
    assert any(p.get_xy()[:, 0].min() < 0.3 and p.get_xy()[:, 0].max() > 0.7 for p in shapes)


def test_a_fixed_base_stands_on_the_ground_where_it_was_placed_and_is_named():
    figure = drawn(log_of(bar_between_arms(), bar()))
    stands = figure.axes[0].findobj(lambda a: isinstance(a, Rectangle) and a.get_hatch())
    assert sorted(s.get_center().tolist() for s in stands) == pytest.approx(np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert {"left", "right"} <= set(texts(figure))


def test_a_lone_module_is_not_named():
    assert "arm" not in texts(drawn(log_of(load("mrds-1"), np.zeros((3, 3)))))


def test_closed_contacts_are_marked_where_they_are_and_open_ones_on_both_sides():
    figure = drawn(log_of(bar_between_arms(), bar(), closed=[1.0, 0.0]))
    assert marks(figure, CONTACT) == pytest.approx(np.array([[0.3, 0.5]]))
    assert marks(figure, "white") == pytest.approx(np.array([[1.0, 0.5], [0.7, 0.5]]))
    assert {"contact", "open contact", "left grip", "right grip"} <= set(texts(figure))


def test_a_contact_out_of_reach_is_not_closed():
    figure = drawn(log_of(bar_between_arms(), bar(), closed=[3.0, 2.0]))
    assert marks(figure, CONTACT) == pytest.approx(np.array([[0.7, 0.5]]))


@pytest.mark.slow
def test_many_contacts_are_marked_but_not_named():
    bed = chain(9)
    q = np.zeros((2, len(bed.positions)))
    q[:, [i for i, c in enumerate(bed.positions) if c.name.endswith("beam_x")]] = 0.4 * np.arange(9)
    figure = drawn(log_of(bed, q, closed=1.0))
    assert marks(figure, CONTACT)[:, 0] == pytest.approx(0.4 * np.arange(1, 9))
    assert "pin3" not in [text.get_text() for text in figure.axes[0].texts]


def test_a_surface_is_drawn_across_its_normal_and_touched_where_it_is_nearest():
    q = np.tile([0.0, 0.4, 0.0], (20, 1))
    normal, along = np.array([math.cos(math.radians(210)), math.sin(math.radians(210))]), np.array([0.5, -0.8660254])
    q[-1, :2] = touching = (1.0, 0.0) + 0.3 * along + 0.1 * normal
    figure = drawn(log_of(puck_and_wall(), q, closed=np.r_[np.zeros(19), 1.0][:, None]))
    (wall,) = [line for line in figure.axes[0].lines if line.get_label() == "surface"]
    assert (wall.get_xydata() - (1.0, 0.0)) @ normal == pytest.approx(np.zeros(2), abs=1e-6)
    assert marks(figure, CONTACT) == pytest.approx(np.array([touching - 0.1 * normal]), abs=1e-6)
    assert not {"open contact"} & set(texts(figure))


def test_without_a_controller_the_path_is_that_of_what_comes_last():
    q = bar(50)
    q[:, 2] += np.linspace(0, 1, 50)
    figure = drawn(log_of(bar_between_arms(), q))
    (path,) = [line for line in figure.axes[0].lines if line.get_label() == "path (truth)"]
    assert path.get_xdata() == pytest.approx(q[:, 2])
    assert "reference" not in texts(figure)
    assert not any("error =" in text for text in texts(figure))


def test_in_space_the_view_is_from_above_and_from_the_side_with_most_to_see_to_one_scale():
    bed = box_in_space()
    q = np.zeros((20, len(bed.positions)))
    q[:, 0] = np.linspace(0, 1.2, 20)
    q[:, 1:5] = [0.1, 1.5, 0.2, 1.0]
    figure = drawn(log_of(bed, q, closed=1.0))
    above, side = figure.axes[:2]
    assert [(a.get_xlabel(), a.get_ylabel()) for a in (above, side)] == [("x [m]", "y [m]"), ("y [m]", "z [m]")]
    assert [a.get_title(loc="right") for a in (above, side)] == ["from above, along z", "from the side, along x"]
    figure.draw_without_rendering()
    metres = [np.ptp(a.get_xlim()) / a.get_window_extent().width for a in (above, side)]
    assert metres[0] == pytest.approx(metres[1], rel=1e-3)
    handle = np.array([0.1, 1.6, 0.2])
    for axes, place in ((above, handle[:2]), (side, handle[1:])):
        marks = [line.get_xydata()[0] for line in axes.lines if line.get_markerfacecolor() == CONTACT]
        assert marks[-1] == pytest.approx(place)


def test_what_lies_flat_in_space_is_seen_from_one_side_only():
    square = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=float)
    assert best_projections(square) == (FROM_ABOVE,)
    assert [p.name for p in best_projections(square[:, [0, 2, 1]])] == ["from the side, along y"]
    assert [p.name for p in best_projections(square[:, [2, 0, 1]])] == ["from the side, along x"]
    assert len(best_projections(np.vstack((square, [[0.5, 0.5, 0.5]])))) == 2


def test_where_only_the_robot_is_measured_only_the_robot_is_drawn():
    bed = free_flyer_and_bar()
    log = log_of(bed, np.full((4, len(bed.positions)), np.nan))
    log.rows[:, log.channels.column("/state", "ready")] = 1.0
    figure = drawn(log)
    assert "path (estimate)" in texts(figure)
    assert {"position\nerror [mm]", "joint\nerror [mrad]"} <= set(texts(figure))
    hulls = figure.axes[0].findobj(lambda a: isinstance(a, Circle) and a.radius > 0.2 and a.get_fill())
    assert [tuple(hull.center) for hull in hulls] == [(0.0, 0.0)]
    assert not figure.axes[0].findobj(lambda a: isinstance(a, Polygon) and a.get_facecolor() == to_rgba(HULL_LAST))


@pytest.mark.parametrize("make", quick([bar_between_arms, partial(chain, 12), box_in_space], bar_between_arms))
def test_a_page_of_many_modules_has_no_text_beyond_its_edges(make):
    bed = make()
    q = np.zeros((30, len(bed.positions)))
    q[:, 0] = np.linspace(0, 1, 30)
    assert_nothing_is_cut(drawn(log_of(bed, q, closed=1.0)))


#: one of each kind: a vehicle, arms in space, flexible links, contacts
QUICK = ("free-flyer", "spatial-dual-arm/open-loop", "mrds-6a", "leap")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name, _, _ in presets()]
)
def test_every_preset_can_be_drawn_as_it_starts(name):
    bed = load(name)
    q, _ = initial_motion(bed)
    assert_nothing_is_cut(drawn(log_of(bed, np.tile(q, (3, 1)), closed=1.0)))


def test_where_nothing_is_known_nothing_is_drawn():
    bed = bar_between_arms()
    figure = drawn(log_of(bed, np.full((3, 5), np.nan), closed=np.nan, wrench=np.nan, squeeze=np.nan))
    assert "the motion of the robot is not known" in texts(figure)


def test_a_simulated_run_of_joined_flexible_arms_is_drawn():
    log = run(load("mrds-6a", ["loop.duration_s=0.2", "simulation.audit=true"]))
    seen = texts(drawn(log))
    assert {"joint\n[rad]", "deflection\n[mm]", "joint\ntorque [N m]", "contact\n[N]", "audit", "pin"} <= set(seen)
    assert not {text for text in seen if "error [" in text}


def test_outlines_of_the_first_and_last_pose_are_strong():
    q = bar(50)
    q[:, 2] += np.linspace(0, 1, 50)
    view = drawn(log_of(bar_between_arms(), q)).axes[0]
    strong = [p for p in view.patches if isinstance(p, Polygon) and p.get_edgecolor() == to_rgba(INK)]
    assert len(strong) == 2 * 4  # a bar with its heading and two arms, twice
