"""Slope of a map of heights: in symbols, by the heights, and by differences of the surface."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.floor import HeightMap
from granite.mrds.height_map import downhill, slope_rows


def test_the_slope_by_heights_is_that_in_symbols() -> None:
    """Inside of the grid, beyond it, and at its ends."""
    rng = np.random.default_rng(1)
    heights = rng.normal(0.0, 1e-3, (5, 7))
    floor = HeightMap(corner_m=(-0.3, 0.2), spacing_m=0.25, heights_m=tuple(map(tuple, heights.tolist())))
    places = np.vstack((rng.uniform((-0.6, 0.0), (1.5, 1.5), (200, 2)), [[-0.3, 0.2], [1.2, 1.2], [5.0, 0.5]]))
    place = ca.SX.sym("place", 2)
    slope = ca.Function("slope", [place], [downhill(floor, place)])
    symbolic = np.array([slope(p).full().ravel() for p in places])
    rows = slope_rows(floor.corner_m, floor.spacing_m, heights.shape, places)
    inside = (places > [-0.299, 0.201]).all(axis=1) & (places < [1.199, 1.199]).all(axis=1)
    assert inside.sum() > 50
    np.testing.assert_allclose((rows @ heights.ravel())[inside], symbolic[inside], atol=1e-15)
    beyond = (places < [-0.3, 0.2]).all(axis=1) | (places > [1.2, 1.2]).all(axis=1)
    assert beyond.sum() >= 5
    assert np.abs(rows[beyond]).max() == 0.0 == np.abs(symbolic[beyond]).max()
