"""A page has room for all that it shows: it grows, and a low view leaves its room to panels."""

import dataclasses
import json

import matplotlib
import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.start import initial_motion
from granite.logs.log import Log
from granite.views.plots import page, thinning
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import STYLE
from tests.support.drawn_pages import assert_nothing_is_cut, drawn, log_of, overprinted, run, texts
from tests.support.jointed_beds import bar_between_arms
from tests.support.quick_cases import quick

#: many modules and many panels: two seconds each
LARGE = ("sun-planar/ffr-o-rrr", "spatial-dual-arm/floating")


@pytest.fixture(scope="module")
def flown() -> Log:
    return run(load("free-flyer", ["loop.duration_s=1"]))


def parts(log: Log, *names: str):
    with matplotlib.style.context(["default", STYLE]):
        return page.build_page(log, names)


@pytest.mark.parametrize("name", quick(["mrds-1", "free-flyer", *LARGE], "mrds-1"))
def test_every_panel_is_high_enough_to_be_read_and_nothing_is_overprinted(name):
    log = run(load(name, ["loop.duration_s=0.1", "simulation.audit=true"]))
    real = {"mode": "realtime", "changes": json.dumps(["loop.duration_s=0.1", "simulation.audit=true"])}
    figure = drawn(dataclasses.replace(log, info=real))
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    assert width == 13.33
    assert height >= 7.5
    for axes in figure.axes:
        assert axes.get_window_extent().height / figure.dpi > 0.45, axes.get_ylabel()
    assert overprinted(figure) == []
    assert_nothing_is_cut(figure)


def test_a_low_view_stays_near_the_motion_and_has_panels_below():
    bed = load("leap-open-loop")
    start, _ = initial_motion(bed)
    q = np.tile(start, (50, 1))
    q[:, 0] = np.linspace(0, 1.5, 50)
    log = log_of(bed, q, closed=[1.0, 0.0], wrench=1.0)
    figure = drawn(log)
    figure.draw_without_rendering()
    view = figure.axes[0]
    assert np.ptp(view.get_ylim()) < 0.6 * np.ptp(view.get_xlim())
    below = [axes for axes in figure.axes[1:] if axes.get_window_extent().x0 < view.get_window_extent().x1]
    assert below
    assert all(axes.get_window_extent().y1 < view.get_window_extent().y0 for axes in below)
    assert len([text for text in texts(figure) if text == "time [s]"]) == 2


def test_named_parts_are_drawn_alone_and_large(flown):
    figure = parts(flown, "valves", "tracking")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["position\nerror [mm]", "heading\nerror [mrad]", "joint\nerror [mrad]", "valves"]
    figure.draw_without_rendering()
    assert all(axes.get_window_extent().width > 0.8 * figure.bbox.width for axes in figure.axes)
    assert flown.bed.title in texts(figure)
    assert_nothing_is_cut(figure)


def test_the_view_can_be_drawn_alone_or_with_one_panel(flown):
    alone = parts(flown, "view")
    assert [axes.get_ylabel() for axes in alone.axes] == ["y [m]"]
    assert [axes.get_ylabel() for axes in parts(flown, "view", "valves").axes] == ["y [m]", "valves"]
    alone.draw_without_rendering()
    assert alone.axes[0].get_window_extent().width > 0.8 * alone.bbox.width


def test_a_part_that_is_not_there_is_refused_with_those_that_are(flown):
    with pytest.raises(InputError) as raised:
        parts(flown, "tracking", "valve")
    known = "view, tracking, torques, wrench, valves"
    assert (
        str(raised.value) == f"panels = \"valve\": not in this plot, expected one of {known} (did you mean 'valves'?)"
    )
    with pytest.raises(InputError, match='panels = "valves": not in this plot'):
        parts(log_of(bar_between_arms(), np.zeros((5, 5))), "valves")


def test_a_run_with_nothing_to_show_over_time_is_a_view():
    bed = bar_between_arms()
    log = log_of(bed, np.zeros((5, len(bed.positions))), wrench=np.nan)
    assert [axes.get_ylabel() for axes in drawn(log).axes] == ["y [m]"]


SPIKE = 0.777


@pytest.fixture(scope="module")
def log():
    return granite.simulate(load("free-flyer", ["loop.duration_s=20"]))


def test_a_run_of_usual_length_is_drawn_whole(log):
    drawn = thinning.drawn_rows(log)
    np.testing.assert_array_equal(drawn.rows, np.where(np.abs(log.rows) < 1e6, log.rows, np.nan))
    np.testing.assert_array_equal(drawn.weight, 1.0)


def test_a_long_run_keeps_the_extremes_of_every_line_and_the_means_of_all_ticks(log, monkeypatch):
    whole = PlottedRun(log)
    monkeypatch.setattr(thinning, "MOST_ROWS", 1500)
    thin = PlottedRun(log)
    assert len(thin.t) <= 1500 < len(whole.t)
    assert np.all(np.diff(thin.t) > 0)
    assert thin.weight.sum() == len(whole.t)

    def error(run):
        return run.q[:, run.referenced] - run.reference

    for lines in (lambda run: run.q, lambda run: run.torque, error):
        for extreme in (np.nanmin, np.nanmax):
            np.testing.assert_array_equal(extreme(lines(thin), axis=0), extreme(lines(whole), axis=0))
    np.testing.assert_allclose(np.average(thin.opening, axis=0, weights=thin.weight), whole.opening.mean(axis=0))
    for module, (demanded, delivered) in whole.wrenches.items():
        for few, all_of_them in zip(thin.wrenches[module], (demanded, delivered), strict=True):
            known = np.isfinite(few).all(axis=1)
            mean = np.average(few[known], axis=0, weights=thin.weight[known])
            np.testing.assert_allclose(mean, np.nanmean(all_of_them, axis=0), atol=0.02)
    np.testing.assert_array_equal(thin.tick_time, whole.tick_time)


def test_one_tick_among_many_that_jumps_is_drawn(log, monkeypatch):
    monkeypatch.setattr(thinning, "MOST_ROWS", 1500)
    rows = log.rows.copy()
    rows[2345, log.channels.column("/truth", "base_y_m")] = (
        SPIKE + rows[:, log.channels.column("/truth", "base_y_m")].max()
    )
    run = PlottedRun(dataclasses.replace(log, rows=rows))
    assert run.q[:, 1].max() == rows[2345, log.channels.column("/truth", "base_y_m")]
    assert run.t[np.argmax(run.q[:, 1])] == log.t[2345]
