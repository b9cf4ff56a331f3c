"""Motions of frames relative to each other, against finite differences and against each other."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np
import pytest

from granite.controllers.trajectories.planar_motion import PlanarMotion
from granite.controllers.trajectories.quintic import Quintic


def moving(levels: Iterable[np.ndarray]) -> PlanarMotion:
    return PlanarMotion(*map(ca.DM, levels))


@pytest.mark.parametrize("seed", range(5))
def test_rates_and_accelerations_are_derivatives_of_the_pose(seed: int) -> None:
    rng = np.random.default_rng(seed)
    paths = [Quintic(0.0, 2.0, *rng.normal(size=(2, 3, 3))) for _ in range(2)]
    h = 1e-4
    before, now, after = (moving(paths[0].at(t)).carries(moving(paths[1].at(t))) for t in (1.0 - h, 1.0, 1.0 + h))
    np.testing.assert_allclose(now.u, (after.q - before.q) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(now.a, (after.q - 2 * now.q + before.q) / h**2, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_carried_frame_is_seen_where_it_was_put(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base, relative = (moving(rng.normal(size=(3, 3))) for _ in range(2))
    pose, rate = base.carries(relative).seen_from(base)
    np.testing.assert_allclose(pose, relative.q, atol=1e-12)
    np.testing.assert_allclose(rate, relative.u, atol=1e-12)


def test_the_inverse_of_a_fixed_frame_leads_back() -> None:
    base, port = moving(np.random.default_rng(1).normal(size=(3, 3))), PlanarMotion.fixed(0.3, -0.1, 2.0)
    for there, here in zip(base.carries(port).carries(port.inverse()), base, strict=True):
        np.testing.assert_allclose(there, here, atol=1e-12)
