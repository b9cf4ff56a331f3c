"""Plots of residuals: a panel for each signal, in columns where there are many, and a map of an image."""

import numpy as np
import pytest

from granite.calibration.fit import ResidualMap, Residuals
from granite.calibration.residual_plots import build_figure

rng = np.random.default_rng(1)


@pytest.mark.parametrize(("signals", "rows"), [(1, 1), (6, 6), (7, 4), (14, 5)])
def test_every_signal_has_a_panel_of_the_same_width(signals, rows):
    residuals = [
        Residuals(f"s{i}", "time [s]", np.arange(200.0), rng.standard_normal(200), "N") for i in range(signals)
    ]
    figure = build_figure(tuple(residuals), "a calibration")
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert {axes.get_title(loc="left") for axes in panels} == {f"s{i}" for i in range(signals)}
    assert len({axes.get_xlim() for axes in panels}) == 1
    assert figure.axes[0].get_gridspec().nrows == rows


def test_the_residuals_of_a_camera_are_a_map_of_its_image():
    points = rng.uniform(0, 500, (40, 2))
    figure = build_figure((ResidualMap("pixel", points, 0.02 * rng.standard_normal((40, 2)), (640, 512)),), "camera")
    axes = figure.axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == ((0.0, 640.0), (512.0, 0.0))
    assert "40 points" in figure.get_suptitle()
