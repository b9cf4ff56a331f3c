"""Patterns of targets: which can be told apart, and which spots are which targets."""

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.drivers.camera.patterns import check_patterns, match, match_all
from granite.drivers.camera.pose import fit_pose, placed
from tests.support.moving_bodies import FOUR, OTHER, PAIR, pattern

TOLERANCE = 1e-3
rng = np.random.default_rng(3)


def scattered(*poses):
    """Spots of bodies with these poses and five ghosts, shuffled; and which spot is which target."""
    points = [placed(p.positions, np.array(pose)) for p, pose in poses]
    radii = [p.radii for p, _ in poses]
    spots = np.vstack([*points, rng.uniform(0, 3, (5, 2))])
    sizes = np.concatenate([*radii, np.full(5, 0.012)])
    order = rng.permutation(len(spots))
    return spots[order] + 1e-4 * rng.standard_normal((len(spots), 2)), sizes[order], np.argsort(order)


def test_bodies_are_told_apart_among_ghosts():
    for _ in range(30):
        poses = rng.uniform((0, 0, -3), (3, 2, 3), (3, 3))
        spots, radii, place = scattered((FOUR, poses[0]), (OTHER, poses[1]), (PAIR, poses[2]))
        matches = match_all([FOUR, OTHER, PAIR], spots, radii, TOLERANCE)
        assert matches["four"][1] == place[:4].tolist()
        assert matches["other"][1] == place[4:8].tolist()
        assert matches["pair"][1] == place[8:10].tolist()


def test_three_of_four_targets_are_enough_and_two_are_not():
    spots = placed(FOUR.positions, np.array([1.0, 1.0, 0.7]))
    radii = FOUR.radii
    three = match(FOUR, spots[:3], radii[:3], TOLERANCE)
    assert three is not None
    assert three.targets == [0, 1, 2]
    assert match(FOUR, spots[:2], radii[:2], TOLERANCE) is None


def test_a_mirrored_pattern_is_refused():
    spots = FOUR.positions * (1, -1) + 1.0
    assert match(FOUR, spots, FOUR.radii, TOLERANCE) is None


def test_spots_of_another_size_are_no_targets():
    spots = placed(FOUR.positions, np.array([1.0, 1.0, 0.7]))
    assert match(FOUR, spots, 2 * FOUR.radii, TOLERANCE) is None


@pytest.mark.parametrize(
    ("bodies", "sentence"),
    [
        ([pattern("one", [(0.1, 0.0)])], "one: 1 targets, expected two or more"),
        ([pattern("line", [(-0.1, 0.0), (0.05, 0.0), (0.2, 0.0)])], "line: its targets are collinear"),
        ([pattern("square", [(0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)])], "without symmetry"),
        ([pattern("pair", [(0.1, 0.0), (-0.1, 0.0)])], "pair: two targets of about the same size"),
        ([pattern("near", [(0.1, 0.0), (0.12, 0.0), (0.0, 0.2)])], "near: two targets are 0.02 m apart"),
        ([FOUR, pattern("twin", FOUR.positions[::-1].tolist())], "twin: 4 of its targets lie as those of 'four'"),
        (
            [FOUR, pattern("turned", placed(FOUR.positions, np.array([0.1, 0.2, 1.0])).tolist())],
            "expected another pattern",
        ),
    ],
)
def test_patterns_that_can_not_be_told_apart_are_refused(bodies, sentence):
    with pytest.raises(InputError, match=sentence):
        check_patterns(bodies, TOLERANCE)


def test_good_patterns_are_accepted():
    check_patterns([FOUR, OTHER, PAIR], TOLERANCE)


def test_the_covariance_of_a_pose_is_that_of_its_errors():
    deviation = np.array([1e-3, 2e-3, 5e-4, 1e-3])
    pose = np.array([1.0, -0.5, 2.0])
    true = placed(OTHER.positions, pose)
    fits = [
        fit_pose(OTHER.positions, true + deviation[:, np.newaxis] * rng.standard_normal((4, 2)), deviation)
        for _ in range(3000)
    ]
    errors = np.array([fit.pose - pose for fit in fits])
    spread = np.sqrt(np.diagonal(fits[0].covariance))
    np.testing.assert_allclose(
        np.cov(errors.T) / np.outer(spread, spread), fits[0].covariance / np.outer(spread, spread), atol=0.08
    )
