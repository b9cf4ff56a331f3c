"""Distances between bodies and zones against plain geometry."""

from __future__ import annotations

import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from granite.config.convex import half_planes, is_convex
from granite.config.footprints import Footprint, guarded_pairs
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.mrds.clearance import Clearances, TimedPose
from tests.support.flyer_pair import beside_an_obstacle

SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
TRIANGLE = ((0.0, 0.0), (2.0, 0.0), (0.0, 0.4))
ZONES = [
    {"name": "post", "disc": {"position_m": [1.6, 1.5], "radius_m": 0.15}},
    {"name": "wall", "polygon_m": [list(corner) for corner in TRIANGLE]},
]


def exact(corners: tuple[tuple[float, float], ...], p: np.ndarray) -> float:
    """Signed distance of a point from a convex polygon, edge by edge."""
    a = np.array(corners)
    b = np.roll(a, -1, axis=0)
    part = np.clip(((p - a) * (b - a)).sum(axis=1) / ((b - a) ** 2).sum(axis=1), 0, 1)
    distance = np.linalg.norm(a + part[:, None] * (b - a) - p, axis=1).min()
    x, y = (b - a).T
    is_inside = (x * (p - a)[:, 1] - y * (p - a)[:, 0] >= 0).all()
    return float(-distance if is_inside else distance)


@pytest.mark.parametrize("corners", [SQUARE, TRIANGLE])
def test_half_planes_give_the_distance_from_a_polygon(corners: tuple[tuple[float, float], ...]) -> None:
    rng = np.random.default_rng(1)
    for p in rng.uniform(-1, 3, (300, 2)):
        distance = max(x * p[0] + y * p[1] - offset for x, y, offset in half_planes(corners))
        true = exact(corners, p)
        assert (0.92 * true - 1e-12 <= distance <= true + 1e-12) if true > 0 else distance == pytest.approx(true)


def test_a_star_and_a_dent_are_not_convex() -> None:
    angles = [2 * math.pi * 2 * i / 5 for i in range(5)]
    assert is_convex(SQUARE)
    assert is_convex(SQUARE[::-1])
    assert not is_convex([(math.cos(a), math.sin(a)) for a in angles])
    assert not is_convex([*SQUARE[:2], (0.6, 0.5), *SQUARE[2:]])
    assert not is_convex(SQUARE[:2])


@pytest.mark.parametrize(
    ("corners", "radius", "most"),
    [
        (SQUARE, 0.0, 1),
        (((0.0, 0.0), (0.3, 0.1)), 0.04, 3),
        (((0.0, -0.1), (0.5, -0.1), (0.6, 0.1), (0.0, 0.1)), 0.0, 3),
    ],
)
def test_discs_cover_a_footprint(corners: tuple[tuple[float, float], ...], radius: float, most: int) -> None:
    discs = np.array(Footprint("vehicle", "base", corners, radius).discs)
    assert len(discs) == most
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.full(len(corners), 0.3), 500)
    angles = rng.uniform(0, 2 * math.pi, 500)
    points = weights @ np.array(corners) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    apart = np.linalg.norm(points[:, None] - discs[:, :2], axis=2) - discs[:, 2]
    assert apart.min(axis=1).max() <= 1e-9


def test_the_least_distance_on_a_way_is_that_of_its_nearest_point() -> None:
    bed = load("free-flyer", {"safety.keep_out": ZONES})
    clearances = Clearances(guarded_pairs(bed), bed.known)
    assert clearances.names[:2] == ["base to post", "base to wall"]
    q, end = (ca.SX.sym(name, 5) for name in ("q", "end"))
    at, along = clearances.distances(q), clearances.along(TimedPose(q), TimedPose(end))
    f = ca.Function("f", [q, end], [at, along])
    rng = np.random.default_rng(3)
    for _ in range(60):
        start = np.array([*rng.uniform(0.5, 2.5, 2), *rng.uniform(-1, 1, 3)])
        stop = start + np.array([*rng.normal(0, 0.3, 2), 0.0, 0.0, 0.0])  # without turning, every point goes straight
        way = np.array(f((start[:, None] + np.linspace(0, 1, 201) * (stop - start)[:, None]), stop)[0]).T
        _, least = (np.array(part).ravel() for part in f(start, stop))
        is_disc = np.array(["post" in name for name in clearances.names])
        np.testing.assert_allclose(least[is_disc], way.min(axis=0)[is_disc], atol=2e-3)
        assert (least <= way.min(axis=0) + 1e-9).all()


@pytest.mark.parametrize("bed", [lambda: load("free-flyer", {"safety.keep_out": ZONES}), beside_an_obstacle])
def test_what_distances_lack_is_exact_though_far_pairs_are_left_out(bed: Callable[[], Testbed]) -> None:
    """At two instants, on a way to one pose and on a way by another one to a third, against the distances."""
    testbed = bed()
    clearances = Clearances(guarded_pairs(testbed), testbed.known)
    n, least, ways = len(testbed.known.positions), (0.3, 0.15), ((0, 3), (0, 1, 2))
    q, t = ca.SX.sym("q", n, 8), ca.SX.sym("t", 4, 2)
    table = ca.Function("table", [q], [ca.horzcat(*(clearances.centres(one) for one in ca.horzsplit(q)))])
    lacking = clearances.shortfalls(least, ways, 2)
    exact = []
    for i in range(2):
        poses = [TimedPose(q[:, 4 * i + k], t[k, i]) for k in range(4)]
        lacks = [most - clearances.along(*(poses[k] for k in way)) for most, way in zip(least, ways, strict=True)]
        exact.append(ca.fmax(ca.horzcat(*lacks), 0.0))
    expected = ca.Function("expected", [q, t], [exact[0], ca.fmax(*exact)])
    rng, kept = np.random.default_rng(6), []
    for k in range(300):
        first = np.array(
            [rng.uniform(0.0, 2.5) if c.unit == "m" else rng.uniform(-2, 2) for c in testbed.known.positions]
        )
        if k < 10:  # at rest in front of a corner of the wall
            first[:2] = TRIANGLE[1][0] + 0.25 + least[0] + 0.002 * k, TRIANGLE[1][1]
        poses = first[:, None] + rng.normal(0.0, 0.1 * (k >= 10), (n, 8))
        times = np.cumsum(rng.uniform(0, 2, (4, 2)), axis=0)
        for part, true in zip(lacking(table(poses), times), expected(poses, times), strict=True):
            np.testing.assert_allclose(part, true, rtol=0, atol=1e-12)
            kept.append(np.array(true) == 0.0)
    assert 0.1 < np.mean(kept) < 0.9
    far = np.full((n, 8), 50.0)
    far[:, 4] = np.nan
    assert np.isinf(np.array(lacking(table(far), np.zeros((4, 2)))[1])[:, 0]).all()


def test_the_tube_of_an_obstacle_grows_with_the_time_of_a_way() -> None:
    """The least distance of discs that move straight, while one of them grows, against samples of the way."""
    bed = beside_an_obstacle(growth_m_s=0.1)
    pair = Clearances(guarded_pairs(bed), bed.known)
    begin, end, times = ca.SX.sym("q", 6), ca.SX.sym("end", 6), ca.SX.sym("times", 2)
    way = TimedPose(begin, times[0]), TimedPose(end, times[1])
    f = ca.Function("f", [begin, end, times], [pair.along(*way)])
    rng, kinds = np.random.default_rng(4), []
    radii = sum(disc[2] for body in (pair.pairs[0].first, pair.pairs[0].second) if body for disc in body.discs)
    for _ in range(200):
        first, last = (np.array([*rng.uniform(0, 3, 2), 0.0, *rng.uniform(0, 3, 2), 0.0]) for _ in range(2))
        t = rng.uniform(0, 2) + np.array([0.0, rng.uniform(0, 20)])  # the tube is at times faster than the motion
        s = np.linspace(0, 1, 2001)[:, None]
        q, now = first + s * (last - first), t[0] + s[:, 0] * (t[1] - t[0])
        apart = np.hypot(*(q[:, :2] - q[:, 3:5]).T) - radii - 0.1 * now
        assert float(f(first, last, t)) == pytest.approx(apart.min(), abs=1e-3)
        kinds.append(0 < apart.argmin() < 2000)
    assert {False, True} == set(kinds)
