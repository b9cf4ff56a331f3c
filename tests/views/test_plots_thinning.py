"""A long run is drawn from some of its rows: no extreme is lost, and means are those of all ticks."""

import dataclasses

import numpy as np
import pytest

import granite
from granite.config.loader import load
from granite.views.plots import thinning
from granite.views.plots.run import PlottedRun

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
