"""Fifth-order polynomials between two motions."""

from __future__ import annotations

import numpy as np
import pytest

from granite.controllers.trajectories.quintic import Quintic


def test_both_ends_and_the_derivatives_in_between_are_right() -> None:
    rng = np.random.default_rng(1)
    start, end = (tuple(rng.standard_normal((3, 2))) for _ in range(2))
    path = Quintic(1.0, 2.5, start, end)  # type: ignore[arg-type]
    assert np.abs(np.array(path.at(1.0)) - start).max() < 1e-12
    assert np.abs(np.array(path.at(3.5)) - end).max() < 1e-12
    h = 1e-5
    for t in (1.3, 2.0, 3.1):
        (x0, v0, _), (x1, v1, a1), (x2, v2, _) = (path.at(t + d) for d in (-h, 0.0, h))
        assert (x2 - x0) / (2 * h) == pytest.approx(v1, abs=1e-7)
        assert (v2 - v0) / (2 * h) == pytest.approx(a1, abs=1e-7)
        assert (x2 - 2 * x1 + x0) / h**2 == pytest.approx(a1, abs=1e-3)


def test_a_change_of_speed_has_no_overshoot() -> None:
    path = Quintic.speed_change(0.0, 4.0, np.zeros(1), np.zeros(1), np.array([0.12]))
    rates = [float(path.at(t)[1][0]) for t in np.linspace(-1, 6, 200)]
    assert min(rates) >= -1e-15
    assert max(rates) <= 0.12 + 1e-15
    assert path.at(4.0)[0] == pytest.approx([0.24])
    assert path.at(6.0)[0] == pytest.approx([0.48])
