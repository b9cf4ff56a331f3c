"""The centroid of a grey-scale target and its stated uncertainty."""

import numpy as np
import pytest

from granite.drivers.camera.centroid import level, measure
from granite.drivers.camera.lens import Lens
from granite.drivers.camera.spots import search, spots_in
from granite.drivers.camera.view import PlaneView
from granite.sim.camera.render import ImageSensor, LightSpot, NoiseBank, RenderedFrame, stamps

PLAIN = PlaneView(Lens(1.0, (0.0, 0.0)), np.eye(3), (64, 48))  # a pixel is a metre
rng = np.random.default_rng(5)


def image(x, y, radius=4.0, peak=180.0, sensor=None, seed=0):
    sensor = sensor or ImageSensor(0.0, 20.0, 0.0, 0.0)
    return np.asarray(
        RenderedFrame(PLAIN, [LightSpot(x, y, radius, peak)], sensor, NoiseBank((64, 48), np.random.default_rng(seed)))
    )


def test_without_noise_the_centroid_is_the_centre():
    for _ in range(40):
        x, y = 30 + rng.random(2)
        (blob,) = spots_in(image(x, y).astype(float), 4.0)
        assert (blob.x, blob.y) == pytest.approx((x, y), abs=0.01)
        assert blob.radius == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("electrons", [None, 10.0])
def test_the_error_has_the_deviation_that_is_stated(electrons):
    sigmas = []
    for k in range(400):
        x, y = 30 + rng.random(2)
        frame = image(x, y, sensor=ImageSensor(0.0, 20.0, 0.0, 2.0, electrons), seed=k)
        (blob,) = spots_in(frame.astype(float), 4.0, 1 / electrons if electrons else 0.0)
        sigmas += [(blob.x - x) / blob.deviation, (blob.y - y) / blob.deviation]
    assert np.std(sigmas) == pytest.approx(1.0, abs=0.08)
    assert abs(np.mean(sigmas)) < 0.12


def test_a_background_that_is_not_subtracted_pulls_the_centroid_to_the_guess():
    window = image(30.4, 24.0).astype(float)
    with_background, without = measure(window, 30, 24, 4.0, 0.0, 1.0), measure(window, 30, 24, 4.0, 20.0, 1.0)
    assert with_background is not None
    assert without is not None
    assert abs(with_background.x - 30.4) > 0.08
    assert abs(without.x - 30.4) < 0.01


def test_background_and_noise_are_found_beside_a_target():
    frame = image(30.0, 24.0, sensor=ImageSensor(0.0, 33.0, 0.0, 2.5)).astype(float)
    background, noise = level(frame[10:40, 15:45])
    assert background == pytest.approx(33.0, abs=0.3)
    assert noise == pytest.approx(2.5, rel=0.15)


def test_a_search_finds_all_spots_of_the_right_size():
    places = [(10.2, 10.7), (40.1, 12.3), (25.6, 35.4)]
    spots = [LightSpot(x, y, 4.0, 180.0) for x, y in places]
    frame = np.asarray(RenderedFrame(PLAIN, spots, ImageSensor(0.0, 20.0, 0.0, 1.0), NoiseBank((64, 48), rng)))
    found = sorted((blob.x, blob.y) for blob in search(frame, 4.0))
    np.testing.assert_allclose(found, sorted(places), atol=0.1)


def test_an_empty_frame_has_no_spot():
    empty = np.asarray(RenderedFrame(PLAIN, [], ImageSensor(0.0, 20.0, 10.0, 2.0, 20.0), NoiseBank((64, 48), rng)))
    assert search(empty, 4.0) == []
    assert spots_in(empty[:20, :20].astype(float), 4.0) == []


def test_light_of_a_spot_does_not_depend_on_its_place_and_motion():
    volume = np.pi * 4.0**2 * 180.0 / 3  # of a cone
    for velocity in ((0.0, 0.0), (1.0, 0.5), (0.0, -3.0)):
        for _ in range(5):
            x, y = 30 + rng.random(2)
            ((_, _, light),) = stamps(PLAIN, [LightSpot(x, y, 4.0, 180.0, velocity)], 2.0)
            assert light.sum() == pytest.approx(volume, rel=2e-3)


def test_a_window_of_a_frame_has_the_pixels_of_the_whole_frame():
    bank, spots = NoiseBank((64, 48), rng), [LightSpot(30.0, 20.0, 4.0, 180.0, (3.0, 0.0))]
    frame = RenderedFrame(PLAIN, spots, ImageSensor(1.0, 20.0, 10.0, 2.0, 30.0), bank)
    whole = np.asarray(frame)
    np.testing.assert_array_equal(frame[12:30, 20:45], whole[12:30, 20:45])
    np.testing.assert_array_equal(np.asarray(frame), whole)
    assert not np.array_equal(np.asarray(RenderedFrame(PLAIN, spots, ImageSensor(), bank)), whole)
