"""Late pictures must count at the time they were exposed."""

import math

import numpy as np
import pytest

from granite.controllers.estimation.pose_filter import PoseFilter

PERIOD = 0.005
NOISE = np.array([5e-4, 5e-4, 1e-3])
PROCESS = np.array([2e-3, 2e-3, 1e-2])


def acceleration(t: float) -> np.ndarray:
    """Held over each period, so that the filter's own integration is exact."""
    return np.array([0.02 * math.sin(t), -0.03 * math.cos(2 * t), 0.05 * math.sin(0.5 * t)])


def after(motion: np.ndarray, a: np.ndarray) -> np.ndarray:
    """A motion one period later, under an acceleration held over it."""
    x, v = motion[:3], motion[3:6]
    return np.concatenate((x + PERIOD * (v + 0.5 * PERIOD * a), v + PERIOD * a, a))


class Estimate:
    """A pose filter with the motion it belongs to."""

    def __init__(self) -> None:
        self.filter = PoseFilter(NOISE, PROCESS, PERIOD, slice(0, 3), 3, 6)
        self.motion = np.zeros(9)

    def predict(self, t: float, a: np.ndarray) -> None:
        if self.filter.started:
            self.motion = after(self.motion, a)
            self.filter.push(t, self.motion)

    def correct(self, t: float, exposed: float, pose: np.ndarray) -> bool:
        now = self.motion[:6], np.zeros(3)
        started = self.filter.started
        corrected = self.filter.correct(exposed, pose, *now) if started else self.filter.start(t, exposed, pose, *now)
        if corrected is not None:
            self.motion = np.concatenate((corrected[0], self.motion[6:]))
            np.testing.assert_allclose(corrected[1], self.deviation(t), rtol=1e-12)
        return corrected is not None

    @property
    def pose(self) -> np.ndarray:
        return self.motion[:3]

    @property
    def velocity(self) -> np.ndarray:
        return self.motion[3:6]

    def deviation(self, t: float) -> list[float]:
        return self.filter.deviation(t)


def run(latency: int, *, pictures_every: int = 3, seed: int = 1, noise: float = 0.0, ticks: int = 2000):
    """Filter and truth, picture k delivered `latency` ticks after its exposure at tick k."""
    rng = np.random.default_rng(seed)
    filter_ = Estimate()
    x, v = np.array([1.0, 2.0, 0.3]), np.array([0.02, -0.01, 0.03])
    truth = []
    for k in range(ticks):
        t = k * PERIOD
        truth.append((x.copy(), v.copy()))
        filter_.predict(t, acceleration(t - PERIOD))
        exposed = k - latency
        if exposed >= 0 and exposed % pictures_every == 0:
            picture = truth[exposed][0] + noise * NOISE * rng.standard_normal(3)
            filter_.correct(t, exposed * PERIOD, picture)
        a = acceleration(t)
        x, v = x + PERIOD * v + 0.5 * PERIOD**2 * a, v + PERIOD * a
    return filter_, truth


def test_a_late_picture_gives_the_estimate_an_immediate_one_would_have_given():
    """Same pictures, one filter gets them at once and one 12 ticks late: the late one is the prompt one, propagated."""
    late, _ = run(12, noise=1.0, ticks=1213)
    prompt = Estimate()
    rng = np.random.default_rng(1)
    x, v = np.array([1.0, 2.0, 0.3]), np.array([0.02, -0.01, 0.03])
    for k in range(1213):
        t = k * PERIOD
        if k > 0:
            # The late filter rested until its first picture came, at tick 12.
            prompt.predict(t, acceleration(t - PERIOD) if k > 12 else np.zeros(3))
        if k % 3 == 0 and k <= 1200:
            prompt.correct(t, t, x + NOISE * rng.standard_normal(3))
        a = acceleration(t)
        x, v = x + PERIOD * v + 0.5 * PERIOD**2 * a, v + PERIOD * a
    np.testing.assert_allclose(late.pose, prompt.pose, rtol=0, atol=1e-12)
    np.testing.assert_allclose(late.velocity, prompt.velocity, rtol=0, atol=1e-12)
    np.testing.assert_allclose(late.deviation(1212 * PERIOD), prompt.deviation(1212 * PERIOD), rtol=1e-9)


def test_without_noise_the_estimate_converges_to_the_truth_in_spite_of_latency():
    filter_, truth = run(10)
    x, v = truth[-1]
    np.testing.assert_allclose(filter_.pose, x, atol=2e-6)
    np.testing.assert_allclose(filter_.velocity, v, atol=2e-6)


def test_taking_a_late_picture_as_a_present_one_is_caught():
    """The mutation this file exists for: latency ignored costs speed times latency."""
    filter_ = Estimate()
    speed = np.array([0.2, 0.0, 0.0])
    for k in range(400):
        t = k * PERIOD
        filter_.predict(t, np.zeros(3))
        if k >= 10 and k % 3 == 1:
            filter_.correct(t, t, speed * (t - 10 * PERIOD))
    assert abs(filter_.pose[0] - 0.2 * 399 * PERIOD) > 5e-3


def test_the_deviation_it_reports_is_the_one_it_has():
    """Monte Carlo over noise and unmodelled acceleration: errors over deviation have unit variance."""
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        filter_ = Estimate()
        x, v = np.zeros(3), np.zeros(3)
        past = []
        for k in range(400):
            t = k * PERIOD
            past.append(x.copy())
            filter_.predict(t, np.zeros(3))
            if k >= 7 and (k - 7) % 3 == 0:
                filter_.correct(t, (k - 7) * PERIOD, past[k - 7] + NOISE * rng.standard_normal(3))
            kick = PROCESS * rng.standard_normal(3) * math.sqrt(PERIOD)
            x, v = x + PERIOD * (v + kick / 2), v + kick
        ratios.append((filter_.pose - past[-1]) / filter_.deviation(399 * PERIOD))
    assert np.mean(np.square(ratios)) == pytest.approx(1.0, abs=0.4)


def test_a_picture_older_than_the_last_one_is_refused():
    filter_, _ = run(3, ticks=100)
    before = filter_.pose.copy()
    assert not filter_.correct(99 * PERIOD, 0.01, np.ones(3))
    np.testing.assert_array_equal(filter_.pose, before)


def test_the_heading_may_wrap_around():
    filter_ = Estimate()
    filter_.correct(0.0, 0.0, np.array([0.0, 0.0, 3.14]))
    filter_.predict(PERIOD, np.zeros(3))
    filter_.correct(PERIOD, PERIOD, np.array([0.0, 0.0, -3.14]))
    assert abs(filter_.pose[2] - 3.14) < 0.01


def test_a_long_run_forgets_only_what_is_older_than_its_memory():
    filter_, truth = run(20, ticks=5000)
    np.testing.assert_allclose(filter_.pose, truth[-1][0], atol=2e-6)


def test_a_pose_with_its_own_deviation_is_weighed_by_it():
    def corrected(values: np.ndarray) -> tuple[float, float]:
        filter_ = Estimate()
        filter_.correct(0.0, 0.0, np.zeros(3))
        filter_.predict(PERIOD, np.zeros(3))
        filter_.correct(PERIOD, PERIOD, values)
        return filter_.pose[0], filter_.deviation(PERIOD)[0]

    plain, sheet = corrected(np.full(3, 1e-3)), corrected(np.concatenate((np.full(3, 1e-3), NOISE)))
    assert sheet == pytest.approx(plain, rel=1e-12)
    sharp, blurred = (corrected(np.concatenate((np.full(3, 1e-3), factor * NOISE))) for factor in (0.1, 10.0))
    assert sharp[0] > 0.97e-3
    assert blurred[0] < 0.05e-3
    assert sharp[1] < 0.2 * blurred[1]
