import dataclasses
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle, Polygon

from granite.config.loader import from_json, load, to_json
from granite.logs.log import Log
from granite.views.plots.scene import Scene
from granite.views.plots.style import HULL_FIRST, HULL_LAST, PLUME, STOP
from tests.support.drawn_pages import assert_nothing_is_cut, drawn, run, texts, with_rows


def fixed_arm():
    """The arm of the free-flyer, on the ground: no base to track, no vision, no thrusters."""
    content = json.loads(to_json(load("free-flyer", ["loop.duration_s=0.3"])))
    content["modules"][0]["base"] = "fixed"
    del content["devices"]["thrusters"], content["devices"]["vision"], content["safety"]["age_s"]["vision"]
    content["behaviour"]["waypoints"][0]["target"] = {"shoulder_rad": 1.2}
    content["safety"]["table_m"] = None
    del content["controller"]["law"]["hold"]["gains"]["base_heading"]
    content["simulation"]["initial"] = {}
    content["title"] = "An arm for $5 or $6_{each}"
    return from_json(json.dumps(content))


@pytest.fixture(scope="module")
def flown() -> Log:
    return run(load("free-flyer", ["loop.duration_s=1"]))


@pytest.fixture(scope="module")
def two_arms() -> Log:
    return run(load("two-arm-free-flyer", ["loop.duration_s=0.3"]))


def test_the_page_says_what_was_run(flown):
    seen = texts(drawn(flown))
    assert flown.bed.title in seen
    errors = {"position\nerror [mm]", "heading\nerror [mrad]", "joint\nerror [mrad]"}
    assert errors | {"x [m]", "joint\ntorque [N m]", "valves", "time [s]"} <= set(seen)
    facts = next(text for text in seen if "seed" in text)
    for fact in ("free-flyer", "seed 1", "1 s", "error = truth − reference"):
        assert fact in facts


def test_time_that_is_not_real_is_not_shown(flown):
    virtual, real = (drawn(dataclasses.replace(flown, info={"mode": mode})) for mode in ("virtual", "realtime"))
    assert any(text.startswith("tick of 5 ms, taking") for fact in texts(real) for text in fact.split("  ·  "))
    assert not any("tick of" in text for text in texts(virtual))
    assert "steps\n[us]" in texts(real)
    assert "steps\n[us]" not in texts(virtual)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ((), None),
        (
            ("devices.thrusters.units.r1.failed=true", "seed=3"),
            "changed: devices.thrusters.units.r1.failed=true, seed=3",
        ),
        pytest.param(
            [f"simulation.initial.joint{i}_rad=0.{i}" for i in range(9)], "and 7 more", marks=pytest.mark.slow
        ),
        pytest.param([f"title={'x' * 200}"], "changed: title=xxx", marks=pytest.mark.slow),
        pytest.param(
            [f"modules.vehicle.bodies.upper_arm.outline_m={'x' * 99}"] * 20, "and 19 more", marks=pytest.mark.slow
        ),
    ],
)
def test_what_was_changed_on_the_command_line_stands_in_the_title(changes, shown, flown):
    info = {"changes": json.dumps(changes)} if changes else {}
    figure = drawn(dataclasses.replace(flown, info=info))
    facts = next(text for text in texts(figure) if "seed 1" in text)
    assert shown is None or shown in facts
    assert ("changed" in facts) == bool(changes)
    assert_nothing_is_cut(figure)


@pytest.mark.usefixtures("interpreted")
def test_a_fixed_arm_is_drawn_without_the_panels_it_has_nothing_for():
    figure = drawn(run(fixed_arm()))
    assert "An arm for $5 or $6_{each}" in texts(figure)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["y [m]", "joint\nerror [mrad]", "joint\ntorque [N m]"]


@pytest.mark.slow
def test_nothing_is_written_beyond_the_page(two_arms):
    assert_nothing_is_cut(drawn(two_arms))


def test_arms_and_jets_are_seen_where_trigonometry_puts_them(flown):
    q = np.array([0.7, -0.2, 0.5, -0.8, 1.9])
    base, (heading, shoulder, elbow) = q[:2], q[2:]
    scene = Scene(flown.bed, flown.bed.modules)
    (silhouette,) = scene.silhouettes
    points = scene.body_points.at(q[None])[0, :, :2]

    def along(angle, length):
        return length * np.array([np.cos(angle), np.sin(angle)])

    at_shoulder = base + along(heading, 0.24)
    at_elbow = at_shoulder + along(heading + shoulder, 0.30)
    tip = at_elbow + along(heading + shoulder + elbow, 0.30)
    assert points[silhouette.links] == pytest.approx(np.array([[at_shoulder, at_elbow], [at_elbow, tip]]))
    nozzle, down = points[np.array(silhouette.jets[0])]  # r1 pushes along -x, so its jet goes along x
    assert nozzle == pytest.approx(base + along(heading + np.pi / 4, 0.13 * np.sqrt(2)))
    assert down - nozzle == pytest.approx(along(heading, 1.0))
    assert silhouette.base is not None
    assert silhouette.base.radius == pytest.approx(0.24)


def test_the_base_is_drawn_where_it_was_first_and_last(flown):
    rows = flown.rows.copy()
    way = rows[:, flown.channels.columns("/truth", "q")]
    way[:, 0] += np.linspace(0, 1, len(rows))
    hulls = drawn(with_rows(flown, rows)).findobj(lambda a: isinstance(a, Circle) and a.radius > 0.2)
    for colour, q in ((HULL_FIRST, way[0]), (HULL_LAST, way[-1])):
        (hull,) = [h for h in hulls if h.get_facecolor() == to_rgba(colour)]
        assert hull.center == pytest.approx(q[:2])


def test_a_plume_goes_out_of_the_thruster_that_fired_and_of_no_other(flown):
    rows = flown.rows.copy()
    rows[:, flown.channels.columns("/applied", "thrusters.values")] = 0.0
    rows[100:, flown.channels.column("/applied", "thrusters_r4_opening")] = 1.0
    figure = drawn(with_rows(flown, rows))
    plumes = figure.findobj(lambda a: isinstance(a, Polygon) and a.get_facecolor()[:3] == to_rgba(PLUME)[:3])
    outlines = np.array([plume.get_xy()[:3] for plume in plumes])
    long = outlines[np.ptp(outlines, axis=1).max(axis=1) > 1e-6]
    assert len(long)
    x, y, heading, *_ = flown.rows[-1, flown.channels.columns("/truth", "q")]
    ahead, left = np.array([[np.cos(heading), np.sin(heading)], [-np.sin(heading), np.cos(heading)]])
    for tip, *mouth in long:  # r4 pushes along x from the left of the back
        assert tip == pytest.approx((x, y) - 0.13 * ahead + 0.13 * left, abs=0.01)
        out = np.mean(mouth, axis=0) - tip
        assert out / np.linalg.norm(out) == pytest.approx(-ahead, abs=0.03)


def test_the_page_of_an_incomplete_or_recovered_log_says_so(flown):
    assert "the log is truncated: the run continued" in texts(drawn(replace(flown, complete=False)))
    recovered = replace(flown, info={**flown.info, "recovered": "a record that is cut off"})
    assert "recovered: a record that is cut off" in texts(drawn(recovered))


def test_a_cut_log_without_truth_shows_the_estimate(flown):
    rows = flown.rows[:100].copy()
    rows[:, flown.channels.columns("/truth", "q")] = np.nan
    seen = texts(drawn(with_rows(flown, rows, complete=False, summary=None)))
    assert "path (estimate)" in seen
    assert "the log is truncated: the run continued" in seen


@pytest.mark.parametrize("row", [0, 150], ids=["before the sensors reported", "in flight"])
def test_a_single_tick_is_drawn(row, flown):
    assert drawn(with_rows(flown, flown.rows[row : row + 1]))


def test_numbers_gone_wild_do_not_spoil_the_page(flown):
    rows = flown.rows.copy()
    wild = np.arange(rows.shape[1]) != flown.channels.columns("/timing", "scheduled")
    rows[50:80, wild], rows[80:100, wild], rows[100:, wild] = np.inf, -1e300, np.nan
    for axes in drawn(with_rows(flown, rows)).axes:
        assert np.ptp(axes.get_ylim()) < (1e5 if "us" in axes.get_ylabel() else 100), axes.get_ylabel()
    rows[:, wild] = np.nan
    assert "the motion of the robot is not known" in texts(drawn(with_rows(flown, rows)))


def test_the_stop_of_the_guard_is_named_and_lined_through():
    at_once = "safety.responses.tracking_error=stop_at_once"
    log = run(load("free-flyer", ["loop.duration_s=2", "safety.tracking_error_m=0.001", at_once]))
    assert log.summary is not None
    assert log.summary["ended"] == "tracking_error"
    figure, at = drawn(log), log.summary["ended_at_s"]
    (named,) = (text for text in texts(figure) if text.startswith("tracking error at"))
    what, about = named.split("\n")
    assert what == f"tracking error at {at:.4g} s"
    assert f"tracking_error: {about}" == f"{log.summary['ended']}: {log.summary['text'].rpartition(': ')[2]}"
    assert "limit 0.001 m" in about
    assert f"{at:.4g} s\ntracking error" in texts(figure)
    assert_nothing_is_cut(figure)
    for axes in figure.axes[1:]:
        lines = axes.findobj(lambda a: isinstance(a, LineCollection) and (a.get_color() == to_rgba(STOP)).all())
        assert [segment[0][0] for line in lines for segment in line.get_segments()] == [at]


def test_events_are_named_once_however_often_they_happen(flown):
    often = [{"t_s": 0.3 + 0.02 * i, "level": "warning", "name": "torque_clamped"} for i in range(30)]
    once = {"t_s": 0.31, "level": "warning", "name": "overrun"}
    seen = texts(drawn(with_rows(flown, flown.rows, events=(*often, once))))
    assert seen.count("torque clamped at 0.3 s (30 times)") == 1
    assert seen.count("overrun at 0.31 s") == 1
