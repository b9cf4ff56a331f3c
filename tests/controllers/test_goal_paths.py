"""Paths to goals continue a motion, end where they should, and are refused by the limits that a slower check finds."""

import numpy as np
import pytest

from granite.config.loader import load
from granite.controllers.behaviours.goal_paths import GoalPaths
from granite.controllers.behaviours.motion_limits import motion_limits
from granite.controllers.behaviours.move_check import MoveCheck
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.sampled import compiled

N = 5


@pytest.fixture(scope="module")
def model():
    return ControlModel(load("free-flyer", ["behaviour={kind='on_demand'}"]))


@pytest.fixture(scope="module")
def paths(model):
    return GoalPaths(model)


def sampled(rows, per_row=41):
    """q, u, a along the moving rows of a path."""
    run = compiled(N).run
    samples = [
        run((row[2 : 2 + 3 * N], row[2 + 3 * N :], np.array([tau, row[1]])))
        for row in rows[:-1]
        for tau in np.linspace(0.0, 1.0, per_row)
    ]
    return [(one[:N], one[N : 2 * N], one[2 * N :]) for one in samples]


def motion(seed):
    rng = np.random.default_rng(seed)
    q = rng.uniform([0.8, 0.8, -1.0, -1.0, -1.0], [2.5, 2.0, 1.0, 1.0, 1.0])
    return np.concatenate([q, rng.normal(0.0, 0.03, N), rng.normal(0.0, 0.005, N)])


@pytest.mark.parametrize("kind", ["to_pose", "jog"])
def test_a_path_joins_its_rows_with_their_acceleration_and_comes_to_rest(paths, kind):
    begins = motion(1)
    target = begins[:N] + 0.2
    rows = paths.to_pose(3.0, begins, target, 25.0) if kind == "to_pose" else paths.jog(3.0, begins, np.full(N, 0.02))
    np.testing.assert_array_equal(rows[0, 2 : 2 + 3 * N], begins)
    np.testing.assert_allclose(rows[1:, 0], rows[:-1, 0] + rows[:-1, 1], rtol=1e-15)
    np.testing.assert_array_equal(rows[1:, 2 : 2 + 3 * N], rows[:-1, 2 + 3 * N :])
    np.testing.assert_array_equal(rows[-1, 2 + 4 * N :], 0.0)
    np.testing.assert_array_equal(rows[-1, 2 : 2 + 3 * N], rows[-1, 2 + 3 * N :])
    if kind == "to_pose":
        np.testing.assert_array_equal(rows[-1, 2 : 2 + N], target)
        assert rows[-1, 0] == pytest.approx(28.0)
        coasting = np.array([a for _, _, a in sampled(rows[[1, -1]])])
        np.testing.assert_allclose(coasting, 0.0, atol=1e-12)  # without thrust between the two changes of speed


@pytest.mark.parametrize("seed", range(4))
def test_the_worst_limit_is_that_of_the_check_before_a_run(model, paths, seed):
    rows = paths.to_pose(0.0, motion(seed), motion(seed)[:N] + np.array([0.3, -0.2, 0.4, 0.3, -0.3]), 9.0)
    needs = {need.name: need.ratio for need in MoveCheck(model).needs(sampled(rows))}
    worst = paths.worst(rows)
    name = motion_limits(model.bed)[worst.limit].name.removeprefix("usable ")
    most = max(needs, key=lambda one: needs[one])
    assert name == most
    # Nine tenths of every limit are usable, and the instants of the two checks differ.
    assert worst.part == pytest.approx(needs[most] / 0.9, rel=0.03)


def test_who_is_beyond_a_limit_may_come_back_but_not_go_further(model, paths):
    edge = model.bed.safety.table_m[0]
    outside = np.concatenate([[edge - 0.05, 1.0, 0.0, 0.4, 0.9], np.zeros(2 * N)])
    back, further = (outside[:N] + np.array([x, 0.0, 0.0, 0.0, 0.0]) for x in (0.3, -0.05))
    assert paths.is_possible(paths.worst(paths.to_pose(0.0, outside, back, 30.0)))
    assert not paths.is_possible(paths.worst(paths.to_pose(0.0, outside, further, 30.0)))


def test_a_duration_that_is_searched_is_feasible_also_in_mid_motion(paths):
    for seed in range(20):
        begins = motion(seed)
        duration, is_found = paths.duration(begins, motion(seed + 100)[:N])
        rows = paths.to_pose(0.0, begins, motion(seed + 100)[:N], duration)
        assert is_found == paths.is_possible(paths.worst(rows))
        assert is_found


def test_a_motion_that_is_no_number_is_not_possible(paths):
    rows = paths.to_pose(0.0, motion(0), np.full(N, np.nan), 10.0)
    assert not paths.is_possible(paths.worst(rows))


@pytest.mark.usefixtures("interpreted")
def test_a_path_that_could_not_be_braked_before_a_zone_is_refused():
    post = "safety.keep_out=[{name='post', disc={position_m=[3.0, 0.8], radius_m=0.05}}]"
    bed = load("free-flyer", ["behaviour={kind='on_demand'}", post])
    paths, limits = GoalPaths(ControlModel(bed)), motion_limits(bed)
    pose, towards = np.array([1.5, 0.8, 0.0, 0.4, 0.9]), np.array([0.1, 0.0, 0.0, 0.0, 0.0])
    refused = []
    for x in np.arange(0.0, 1.2, 0.02):
        before = np.concatenate([pose + x * np.eye(N)[0], towards, np.zeros(N)])
        after = np.concatenate([before[:N] + 0.1 * towards, towards, np.zeros(N)])
        use = paths.worst(paths.between(0.0, before, after, 0.1)[None].repeat(2, 0))
        if not paths.is_possible(use):
            refused.append(limits[use.limit].name)
    # The base needs 0.22 m to brake from 0.1 m/s: that is refused first, and later the distance itself.
    assert "braked from there" in refused[0]
    assert sum("braked" in name for name in refused) >= 8
    assert "braked" not in refused[-1]


@pytest.mark.usefixtures("interpreted")
def test_a_path_through_two_zones_is_refused_by_the_one_that_it_enters_most():
    """Also where the first row that is refused is another one, and where the excess there is within the tolerance."""
    disc = "{{name='{}', disc={{position_m=[{}, 1.4], radius_m={}}}}}"
    beside = 1.4 - 0.25 - 0.02 - 0.8  # what the base at y = 0.8 has as radius, and goals keep
    for near_radius in (beside + 0.02, beside + 1e-7):
        zones = ", ".join((disc.format("near", 1.2, near_radius), disc.format("far", 2.4, beside + 0.1)))
        bed = load("free-flyer", ["behaviour={kind='on_demand'}", f"safety.keep_out=[{zones}]"])
        paths, limits = GoalPaths(ControlModel(bed)), motion_limits(bed)
        poses = np.array([[x, 0.8, 0.0, -1.2, -0.5] for x in (0.8, 1.6, 1.7, 2.8)])
        rows = paths.resting(0.0, poses[0]).repeat(4, 0)
        rows[:, 2 : 2 + N], rows[:-1, 2 + 3 * N : 2 + 4 * N], rows[-1, 2 + 3 * N : 2 + 4 * N] = (
            poses,
            poses[1:],
            poses[-1],
        )
        rows[:, 0], rows[:, 1] = np.arange(4) * 60.0, 60.0
        use = paths.worst(rows)
        assert limits[use.limit].name == "the distance base to far"
        assert use.part == pytest.approx(1.1, abs=2e-3)
        assert [limits[paths.worst_row(row).limit].name for row in rows[[0, 2]]] == [
            "the distance base to near", "the distance base to far",
        ]  # fmt: skip
        assert paths.is_possible(paths.worst_row(rows[0])) == (near_radius < beside + 1e-6)
