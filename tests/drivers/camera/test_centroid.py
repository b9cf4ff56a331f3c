"""The centroid of a grey-scale target and its stated uncertainty."""

import numpy as np
import pytest

from granite.drivers.camera.centroid import levels, measure
from granite.drivers.camera.spots import search, spots_at
from granite.drivers.camera.view import Lens, PlaneView
from granite.sim.camera.render import ImageSensor, LightSpot, NoiseBank, RenderedFrame, stamps

PLAIN = PlaneView(Lens(1.0, (0.0, 0.0)), np.eye(3), (64, 48))  # a pixel is a metre
rng = np.random.default_rng(5)


def image(x, y, radius=4.0, peak=180.0, sensor=None, seed=0):
    sensor = sensor or ImageSensor(0.0, 20.0, 0.0, 0.0)
    return np.asarray(
        RenderedFrame(PLAIN, [LightSpot(x, y, radius, peak)], sensor, NoiseBank((64, 48), np.random.default_rng(seed)))
    )


def spots_in(frame, counts_per_electron=0.0):
    return spots_at(frame, np.array([(30.0, 24.0)]), 12, np.array([4.0]), counts_per_electron)[0]


def test_without_noise_the_centroid_is_the_centre():
    for _ in range(40):
        x, y = np.array([30, 24]) + rng.random(2)
        (blob,) = spots_in(image(x, y))
        assert (blob.x, blob.y) == pytest.approx((x, y), abs=0.01)
        assert blob.radius == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("electrons", [None, 10.0])
def test_the_error_has_the_deviation_that_is_stated(electrons):
    sigmas = []
    for k in range(400):
        x, y = np.array([30, 24]) + rng.random(2)
        frame = image(x, y, sensor=ImageSensor(0.0, 20.0, 0.0, 2.0, electrons), seed=k)
        (blob,) = spots_in(frame, 1 / electrons if electrons else 0.0)
        sigmas += [(blob.x - x) / blob.deviation, (blob.y - y) / blob.deviation]
    assert np.std(sigmas) == pytest.approx(1.0, abs=0.08)
    assert abs(np.mean(sigmas)) < 0.12


def test_a_wrong_background_hardly_moves_a_centroid_because_the_aperture_follows_it():
    windows, guess, one = image(30.4, 24.0)[np.newaxis], np.array([(30.0, 24.0)]), np.ones(1)
    centroids = [measure(windows, guess, 4 * one, level * one, one)[0, 0] for level in (10.0, 20.0)]
    assert centroids == pytest.approx([30.4, 30.4], abs=0.01)


def test_a_target_at_the_edge_of_its_window_is_not_measured():
    windows, one = image(30.4, 24.0)[np.newaxis, 15:33, 22:39], np.ones(1)
    assert np.isfinite(measure(windows, np.array([(8.4, 9.0)]), 4 * one, 20 * one, one)).all()
    assert np.isnan(measure(windows[:, 6:], np.array([(8.4, 3.0)]), 4 * one, 20 * one, one)).all()


def test_background_and_noise_are_found_beside_a_target():
    frame = image(30.0, 24.0, sensor=ImageSensor(0.0, 33.0, 0.0, 2.5))
    (background,), (noise,) = levels(np.ascontiguousarray(frame[10:40, 15:45])[np.newaxis])
    assert background == pytest.approx(33.0, abs=0.3)
    assert noise == pytest.approx(2.5, rel=0.15)


def test_a_search_finds_all_spots_of_the_right_size():
    places = [(10.2, 10.7), (40.1, 12.3), (25.6, 35.4)]
    spots = [LightSpot(x, y, 4.0, 180.0) for x, y in places]
    frame = np.asarray(RenderedFrame(PLAIN, spots, ImageSensor(0.0, 20.0, 0.0, 1.0), NoiseBank((64, 48), rng)))
    centres = sorted((blob.x, blob.y) for blob in search(frame, 4.0))
    np.testing.assert_allclose(centres, sorted(places), atol=0.1)


def test_an_empty_frame_has_no_spot():
    empty = np.asarray(RenderedFrame(PLAIN, [], ImageSensor(0.0, 20.0, 10.0, 2.0, 20.0), NoiseBank((64, 48), rng)))
    assert search(empty, 4.0) == []
    assert spots_in(empty) == []


def test_light_of_a_spot_does_not_depend_on_its_place_and_motion():
    volume = np.pi * 4.0**2 * 180.0 / 3  # of a cone
    for velocity in ((0.0, 0.0), (1.0, 0.5), (0.0, -3.0)):
        for _ in range(5):
            x, y = np.array([30, 24]) + rng.random(2)
            ((_, _, light),) = stamps(PLAIN, [LightSpot(x, y, 4.0, 180.0, velocity)], 2.0)
            assert light.sum() == pytest.approx(volume, rel=2e-3)


def test_a_window_of_a_frame_has_the_pixels_of_the_whole_frame():
    bank, spots = NoiseBank((64, 48), rng), [LightSpot(30.0, 20.0, 4.0, 180.0, (3.0, 0.0))]
    frame = RenderedFrame(PLAIN, spots, ImageSensor(1.0, 20.0, 10.0, 2.0, 30.0), bank)
    whole = np.asarray(frame)
    np.testing.assert_array_equal(frame[12:30, 20:45], whole[12:30, 20:45])
    np.testing.assert_array_equal(np.asarray(frame), whole)
    assert not np.array_equal(np.asarray(RenderedFrame(PLAIN, spots, ImageSensor(), bank)), whole)
