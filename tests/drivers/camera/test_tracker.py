"""The tracker on rendered frames: accuracy, stated uncertainty, occlusion, ghosts, crossings."""

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.drivers.camera.tracker import NO_MEMORY, Tracker
from granite.drivers.camera.view import PlaneView
from tests.support.moving_bodies import (
    EIGHT,
    FIELD_M,
    FOUR,
    NOISY,
    OTHER,
    PAIR,
    VIEW,
    crossings,
    frames,
    hidden_for_a_while,
    pattern,
    reflections,
    seen_of,
    straight,
    track,
)


@pytest.mark.parametrize("shape", [FOUR, EIGHT], ids=["4", "8"])
@pytest.mark.parametrize("rate", [(0.0, 0.0, 0.0), (0.4, -0.2, 0.8)], ids=["static", "moving"])
def test_a_pose_is_better_than_a_thousandth_of_the_field_and_states_its_error(shape, rate):
    seen, errors, sigmas = track([(shape, straight((1.2, 1.6, 0.3), rate))], 60)
    assert len(errors[shape.body]) == 60
    assert [step.searched for step in seen] == [True] + 59 * [False]
    assert np.abs(errors[shape.body][:, :2]).max() < FIELD_M / 1000 / 10
    assert sigmas[shape.body].std() == pytest.approx(1.0, abs=0.25)


def test_several_bodies_are_seen_at_once():
    bodies = [
        (FOUR, straight((0.8, 0.8, 0.0), (0.3, 0.1, 0.5))),
        (OTHER, straight((2.4, 0.9, 1.0), (-0.2, 0.2, -0.4))),
        (PAIR, straight((1.6, 2.0, 2.0), (0.1, -0.1, 1.0))),
    ]
    seen, errors, _ = track(bodies, 40)
    assert [seen_of(seen, shape.body) for shape, _ in bodies] == [40, 40, 40]
    assert max(np.abs(e[:, :2]).max() for e in errors.values()) < FIELD_M / 1000


def test_a_body_is_followed_with_two_targets_hidden_and_found_again_after_all_were():
    seen, errors, _ = track([(FOUR, straight((1.0, 1.0, 0.0), (0.3, 0.2, 0.5)))], 90, hidden=hidden_for_a_while)
    times = [step.t for step in seen if step.sightings]
    missing = [step.t for step in seen if not step.sightings]
    assert min(missing) >= 0.6 - 1e-9
    assert max(missing) < 0.9 + 11 / 60  # only every tenth frame is searched after a few in vain
    assert len(times) >= 90 - 29
    assert np.abs(errors["four"][:, :2]).max() < FIELD_M / 1000
    covered = [step for step in seen if 0.25 < step.t < 0.5]
    assert all(step.sightings[0].targets == (1, 3) for step in covered)


def test_reflections_are_refused():
    seen, errors, _ = track([(FOUR, straight((1.0, 1.0, 0.0), (0.3, 0.0, 0.0)))], 90, extra=reflections)
    assert seen_of(seen, "four") == 90
    assert np.abs(errors["four"][:, :2]).max() < FIELD_M / 1000
    assert all(step.refused for step in seen if step.searched)


def test_targets_of_two_bodies_that_touch_in_the_image_are_not_used():
    # The first targets lie 9 pixels beside each other: each has light of the other in its aperture.
    first = np.array([1.2, 1.2, 0.0])
    second = np.array([*(first[:2] + FOUR.positions[0] - OTHER.positions[0] + (0.026, 0.0)), 0.0])
    seen, errors, _ = track([(FOUR, straight(first)), (OTHER, straight(second))], 6)
    assert [seen_of(seen, body) for body in ("four", "other")] == [6, 6]
    assert all(sighting.targets == (1, 2, 3) for step in seen[1:] for sighting in step.sightings)
    assert max(np.abs(e[:, :2]).max() for e in errors.values()) < 1e-4


def test_bodies_that_cross_keep_their_names():
    assert crossings(2, seed=1) < FIELD_M / 1000


@pytest.mark.slow
@pytest.mark.parametrize("number", [200, pytest.param(1000, marks=pytest.mark.study)])
def test_no_identity_is_swapped_in_many_crossings(number: int):
    assert crossings(number, seed=2) < FIELD_M / 1000


def test_the_same_frames_give_the_same_poses():
    runs = [track([(FOUR, straight((1.0, 1.0, 0.0), (0.3, 0.0, 0.2)))], 10, seed=4)[1]["four"] for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    assert not np.array_equal(
        runs[0], track([(FOUR, straight((1.0, 1.0, 0.0), (0.3, 0.0, 0.2)))], 10, seed=5)[1]["four"]
    )


def test_a_frame_of_another_size_is_refused():
    with pytest.raises(InputError, match="a frame of 640x480 pixels, expected 1280x1024, as calibrated"):
        Tracker(VIEW, [FOUR]).see(NO_MEMORY, np.zeros((480, 640), np.uint8), 0.0)


def test_targets_too_small_for_the_image_are_refused():
    tiny = pattern("tiny", FOUR.positions.tolist(), [0.003] * 4)
    with pytest.raises(InputError, match=r"tiny: a target of 1 pixels radius, expected 1.5 pixels or more"):
        Tracker(VIEW, [tiny])


def test_an_error_of_the_calibration_widens_the_stated_deviation():
    off = PlaneView(VIEW.lens, VIEW.homography, VIEW.size, residual=0.1)
    ((t, frame),) = frames([(FOUR, straight((1.0, 1.0, 0.0)))], 1, NOISY)
    sharp, wide = (Tracker(view, [FOUR]).see(NO_MEMORY, frame, t)[1].sightings[0] for view in (VIEW, off))
    assert wide.deviation[0] > 2 * sharp.deviation[0]
