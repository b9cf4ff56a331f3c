"""Frames of a floating root count at the time they were measured, whatever their delay, order, model or bias."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from granite.config.measurement import Bias, Measurement
from granite.config.records import Array, Frame, Status
from granite.controllers.estimation.root_filter import Root, RootFilters, RootSensor

PERIOD = 0.005
NOISE = (5e-4, 5e-4, 1e-3)
PROCESS = (2e-3, 2e-3, 1e-2)
Q, U = ca.SX.sym("q", 3), ca.SX.sym("u", 3)
POSE = Measurement(Q, NOISE, angles=(2,))
GYRO = Measurement(U[2], (5e-4,), biases=(Bias(0, 0.02, 1e-5),))
#: position of a point 0.4 m ahead of the origin
POINT = Measurement(Q[:2] + 0.4 * ca.vertcat(ca.cos(Q[2]), ca.sin(Q[2])), (1e-4, 1e-4))


def acceleration(t: float) -> Array:
    """Held over each period, so that the filter's own integration is exact."""
    return np.array([0.02 * math.sin(t), -0.03 * math.cos(2 * t), 0.05 * math.sin(0.5 * t)])


class Body:
    """A filter that is fed by hand, and the truth."""

    def __init__(self, *models: Measurement, n_values: int | None = None, seed: int = 1, heading: float = 0.0) -> None:
        sensors = tuple(RootSensor(f"s{i}", i, m, n_values or len(m.noise)) for i, m in enumerate(models))
        self.filters = RootFilters([Root("base", 0, sensors, PROCESS, heading=heading, patience_s=0.25)], Q, U, PERIOD)
        self.numbers = [0] * len(models)
        self.x, self.deviation, self.correction = np.zeros(6), np.zeros(6), np.zeros(3)
        self.q, self.u = np.array([1.0, 2.0, 0.3]), np.array([0.02, -0.01, 0.03])
        self.past: list[tuple[Array, Array]] = []
        self.rng = np.random.default_rng(seed)
        self.k = -1

    @property
    def t(self) -> float:
        return self.k * PERIOD

    def step(self, a: Array | None = None, kick: Array | None = None) -> None:
        """A period of the truth, and the prediction of it."""
        self.k += 1
        if self.past:
            a = acceleration(self.t - PERIOD) if a is None else a
            true = a if kick is None else a + kick / PERIOD
            self.q, self.u = self.q + PERIOD * (self.u + PERIOD / 2 * true), self.u + PERIOD * true
            if self.filters.memory.started[0]:
                self.x[:3] += PERIOD * (self.x[3:] + PERIOD / 2 * a)
                self.x[3:] += PERIOD * a
                self.filters.push(self.t, np.concatenate((a, np.zeros(3))), self.x)
        self.past.append((self.q.copy(), self.u.copy()))

    def show(self, sensor: int, exposed: float, values: Array) -> None:
        self.numbers[sensor] += 1
        frame = Frame(exposed, self.numbers[sensor], int(Status.OK), np.array(values, dtype=float))
        self.filters.take(self.t, sensor, frame, self.x)

    def finish(self, gate: float = math.inf) -> None:
        self.filters.finish(gate, self.x, self.deviation, self.correction)


def run(latency: int, ticks: int = 1213, late_gyro: int = 0, model: Measurement = POSE) -> Body:
    """Poses of every third tick, `latency` ticks late; a gyro with a bias of 0.01 rad/s at every tick."""
    body = Body(model, GYRO)
    noise = np.random.default_rng(5).standard_normal((ticks, 4))
    for k in range(ticks):
        # Both rested until the first pose had come, at tick 12.
        body.step(None if k > 12 else np.zeros(3))
        if 12 < k - late_gyro <= 1200:
            rate = body.past[k - late_gyro][1][2] + 0.01 + 5e-4 * noise[k - late_gyro, 3]
            body.show(1, (k - late_gyro) * PERIOD, np.array([rate]))
        seen = k - latency
        if 0 <= seen <= 1200 and seen % 3 == 0:
            body.show(0, seen * PERIOD, body.past[seen][0] + np.array(NOISE) * noise[seen, :3])
        body.finish()
    return body


def test_late_frames_of_several_sensors_give_the_estimate_that_prompt_ones_would_have_given() -> None:
    prompt = run(0)
    for late in (run(12), run(0, late_gyro=5), run(12, late_gyro=3)):
        np.testing.assert_allclose(late.x, prompt.x, rtol=0, atol=1e-11)
        np.testing.assert_allclose(late.deviation, prompt.deviation, rtol=1e-9)
    assert abs(prompt.filters.biases()[0] - 0.01) < 1e-3
    assert abs(prompt.x[5] - prompt.u[2]) < 1e-3


def test_taking_a_late_pose_as_a_present_one_is_caught() -> None:
    body = Body(POSE)
    body.q, body.u = np.zeros(3), np.array([0.2, 0.0, 0.0])
    for k in range(400):
        body.step(np.zeros(3))
        if k >= 10 and k % 3 == 1:
            body.show(0, body.t, body.past[k - 10][0])
        body.finish()
    assert abs(body.x[0] - body.q[0]) > 5e-3


def test_the_deviation_is_that_of_the_errors_with_a_gyro_and_with_two_poses() -> None:
    """Normalised squared errors of pose, rate and bias over noise, delay and unmodelled acceleration."""
    blurred = Measurement(Q, (2e-3, 2e-3, 4e-3), angles=(2,))
    ratios = []
    for seed in range(16):
        body = Body(POSE, GYRO, blurred, seed=seed)
        rng, bias = body.rng, 0.02 * body.rng.standard_normal()
        body.u = 0.05 * rng.standard_normal(3)  # as little is known of it at the start
        for k in range(240):
            body.step(np.zeros(3), np.array(PROCESS) * rng.standard_normal(3) * math.sqrt(PERIOD))
            body.show(1, body.t, np.array([body.u[2] + bias + 5e-4 * rng.standard_normal()]))
            for sensor, late, every, noise in ((0, 7, 3, NOISE), (2, 2, 5, blurred.noise)):
                if k >= late and k % every == 0:
                    body.show(
                        sensor,
                        (k - late) * PERIOD,
                        body.past[k - late][0] + np.array(noise) * rng.standard_normal(3),
                    )
            body.finish()
        errors = np.append((body.x - np.concatenate((body.q, body.u))) / body.deviation, 0.0)
        kernels, memory = body.filters.kernels[0], body.filters.memory
        spread = math.sqrt(memory.P[0, int(memory.stored[0]) - 1, kernels.diagonal[6]])
        errors[6] = (body.filters.biases()[0] - bias) / spread
        ratios.append(errors)
    assert np.mean(np.square(ratios)) == pytest.approx(1.0, abs=0.35)


def pushed(seed: int, with_accelerometer: bool) -> tuple[Array, Array]:
    """Errors of pose, rate and biases by their deviations, and errors of the rate, under an unknown acceleration."""
    A = ca.SX.sym("A", 3)
    c, s = ca.cos(Q[2]), ca.sin(Q[2])
    model = ca.vertcat(c * A[0] + s * A[1], -s * A[0] + c * A[1])
    biases = (Bias(0, 0.02), Bias(1, 0.02))
    body = Body(
        POSE, *[Measurement(model, (3e-3, 3e-3), biases=biases, acceleration=A)] * with_accelerometer, seed=seed
    )
    root = body.filters.kernels[0].root._replace(accelerations=(0, 1) if with_accelerometer else ())
    body.filters = RootFilters([root], Q, U, PERIOD)
    rng, T = body.rng, root.correlation_s
    bias, unknown = 0.02 * rng.standard_normal(2), np.array(PROCESS[:2]) / math.sqrt(2 * T) * rng.standard_normal(2)
    body.u = np.append(0.05 * rng.standard_normal(2), 0.05 * rng.standard_normal())
    for k in range(400):
        left = math.exp(-PERIOD / T)
        spread = np.array(PROCESS[:2]) / math.sqrt(2 * T) * math.sqrt(1 - left**2)
        unknown = left * unknown + spread * rng.standard_normal(2)
        turning = PROCESS[2] * rng.standard_normal() * math.sqrt(PERIOD)
        body.step(np.zeros(3), np.append(PERIOD * unknown, turning))
        if with_accelerometer:
            c, s = math.cos(body.q[2]), math.sin(body.q[2])
            felt = np.array([c * unknown[0] + s * unknown[1], -s * unknown[0] + c * unknown[1]])
            body.show(1, body.t, felt + bias + 3e-3 * rng.standard_normal(2))
        if k >= 7 and k % 3 == 0:
            body.show(0, (k - 7) * PERIOD, body.past[k - 7][0] + np.array(NOISE) * rng.standard_normal(3))
        body.finish(gate=4.0 if k > 60 else math.inf)
    errors = body.x - np.concatenate((body.q, body.u))
    kernels, memory = body.filters.kernels[0], body.filters.memory
    P = memory.P[0, int(memory.stored[0]) - 1, kernels.diagonal]
    scaled = errors / body.deviation
    if with_accelerometer:
        scaled = np.append(scaled, (body.filters.biases() - bias) / np.sqrt(P[kernels.first_bias :]))
    return scaled, errors[3:5]


@pytest.mark.slow
def test_an_accelerometer_shows_an_acceleration_that_is_not_known_and_poses_its_bias() -> None:
    fused, plain = ([pushed(seed, is_fused) for seed in range(16)] for is_fused in (True, False))
    assert np.mean(np.square([scaled for scaled, _ in fused])) == pytest.approx(1.0, abs=0.35)
    rates = [np.sqrt(np.mean(np.square([rate for _, rate in runs]))) for runs in (fused, plain)]
    assert rates[0] < 0.6 * rates[1]


def test_a_large_innovation_of_an_accelerometer_is_a_push_and_is_used() -> None:
    A = ca.SX.sym("A", 3)
    body = Body(POSE, Measurement(A[:2], (3e-3, 3e-3), acceleration=A))
    root = body.filters.kernels[0].root._replace(accelerations=(0, 1), period_s=PERIOD)
    body.filters, innovations = RootFilters([root], Q, U, PERIOD), []
    for k in range(30):
        push = np.array([1.0, 0.0, 0.0]) if k > 20 else np.zeros(3)
        body.step(np.zeros(3), PERIOD * push)
        body.show(1, body.t, push[:2])
        if k <= 20:
            body.show(0, body.t, body.q)
        body.finish(gate=4.0)
        innovations.append(body.filters.innovation(1)[0])
    assert innovations[21] > 4.0
    # 9 periods of 1 m/s2, of which the poses have shown nothing: also the rate of the first one is found.
    assert abs(innovations[22]) < 1.0
    assert body.x[3] == pytest.approx(body.u[0], abs=0.05 * PERIOD)


def test_a_point_beside_the_origin_gives_the_heading_too() -> None:
    body = Body(POSE, POINT)
    for k in range(600):
        body.step()
        if k == 0:
            body.show(0, body.t, body.q + np.array([1e-3, -1e-3, 2e-2]))
        else:
            heading = body.q[2]
            tip = body.q[:2] + 0.4 * np.array([math.cos(heading), math.sin(heading)])
            body.show(1, body.t, tip)
        body.finish()
    # A point can't tell a shift from a turn at rest, but the motion of the body does.
    tip = body.x[:2] + 0.4 * np.array([math.cos(body.x[2]), math.sin(body.x[2])])
    true = body.q[:2] + 0.4 * np.array([math.cos(body.q[2]), math.sin(body.q[2])])
    np.testing.assert_allclose(tip, true, atol=1e-4)


def test_what_is_old_wraps_or_lies_beyond_the_gate() -> None:
    body = Body(POSE)
    body.step()
    body.show(0, 0.0, np.array([0.0, 0.0, 3.14]))
    body.finish()
    for _ in range(3):
        body.step(np.zeros(3))
        body.show(0, body.t, np.array([0.0, 0.0, -3.14]))
        body.finish(gate=10.0)
    assert abs(body.x[2] - math.pi) < 0.01
    before = body.x.copy()
    body.show(0, 0.001, np.ones(3))  # older than the last one
    body.finish()
    np.testing.assert_array_equal(body.x, before)
    body.step(np.zeros(3))
    body.show(0, body.t, np.array([1.0, 0.0, 3.14]))
    body.finish(gate=10.0)
    assert body.filters.innovation(0)[0] > 100
    assert abs(body.x[0]) < 0.01


def test_a_long_run_forgets_only_what_is_older_than_its_memory() -> None:
    body = Body(POSE)
    for k in range(1300):
        body.step()
        if k >= 20 and k % 3 == 0:
            body.show(0, (k - 20) * PERIOD, body.past[k - 20][0])
        body.finish()
    np.testing.assert_allclose(body.x, np.concatenate((body.q, body.u)), atol=1e-5)


def test_a_pose_with_its_own_deviation_is_weighed_by_it() -> None:
    def corrected(values: Array) -> tuple[float, float]:
        body = Body(POSE, n_values=len(values))
        for pose in (np.concatenate((np.zeros(3), values[3:])), values):
            body.step(np.zeros(3))
            body.show(0, body.t, pose)
            body.finish()
        return body.x[0], body.deviation[0]

    sharp, blurred = (corrected(np.concatenate((np.full(3, 1e-3), f * np.array(NOISE)))) for f in (1.0, 10.0))
    plain = corrected(np.full(3, 1e-3))
    assert sharp == pytest.approx(plain, rel=1e-12)
    assert blurred[1] > 3 * sharp[1]


def test_the_uncertainty_of_time_is_noise_in_proportion_to_the_rate() -> None:
    def deviation(speed: float, time_deviation: float) -> float:
        body = Body(POSE._replace(time_deviation_s=time_deviation))
        body.q, body.u = np.zeros(3), np.array([speed, 0.0, 0.0])
        for _ in range(200):
            body.step(np.zeros(3))
            body.show(0, body.t, body.q)
            body.finish()
        return float(body.deviation[0])

    assert deviation(1.0, 5e-3) > 2 * deviation(1.0, 0.0)
    assert deviation(0.0, 5e-3) == pytest.approx(deviation(0.0, 0.0), rel=1e-3)


def settled_late(wrong: range, speed: float = 0.0, ticks: int = 120) -> Body:
    """A pose at every tick, 0.3 m off in some of them, with a gate before anything has settled."""
    body = Body(POSE)
    body.q, body.u = np.zeros(3), np.array([0.0, 0.0, speed])
    for k in range(ticks):
        body.step(np.zeros(3))
        body.show(0, body.t, body.q + np.array([0.3 if k in wrong else 0.0, 0.0, 0.0]))
        body.filters.finish(8.0, body.x, body.deviation, body.correction, has_settled=False)
        if k in wrong and wrong.start > 0:
            assert abs(body.x[0]) < 1e-3
    return body


@pytest.mark.parametrize(("wrong", "speed"), [(range(40, 70), 0.0), (range(10), 0.0), (range(0), 3.0)])
def test_before_it_has_settled_swaps_are_left_out_and_a_wrong_start_is_left_behind(wrong: range, speed: float) -> None:
    body = settled_late(wrong, speed)
    np.testing.assert_allclose(body.x, np.concatenate((body.q, body.u)), atol=1e-3 + 5e-3 * speed)


def test_a_push_before_it_has_settled_is_followed_within_its_patience() -> None:
    """0.6 m/s in a tick, after so many good poses that those that are refused would be fewer for half a second."""
    body = Body(POSE)
    body.u = np.zeros(3)
    late = []
    for k in range(300):
        body.step(np.zeros(3), kick=np.array([0.6, 0.0, 0.0]) if k == 150 else None)
        body.show(0, body.t, body.q)
        body.filters.finish(8.0, body.x, body.deviation, body.correction, has_settled=False)
        late.append(body.t - float(body.filters.memory.exposed[0]))
    assert max(late) < 0.25 + 3 * PERIOD
    np.testing.assert_allclose(body.x, np.concatenate((body.q, body.u)), atol=5e-3)


@pytest.mark.parametrize(
    ("about", "true", "begins"),
    [
        (math.pi, -3.13, -3.13 + math.tau),
        (-3.1, 3.12, 3.12 - math.tau),
        (3.0, -0.5, -0.5),
        (0.0, 0.4, 0.4),
        (7.0, 0.8, 0.8 + math.tau),
    ],
)
def test_the_first_heading_is_within_the_turn_of_the_one_that_is_expected(
    about: float, true: float, begins: float
) -> None:
    """Unless it is another heading altogether: then it is as measured. Frames after it count no turn."""
    body = Body(POSE, heading=about)
    body.q, body.u = np.array([0.0, 0.0, true]), np.zeros(3)
    for k in range(20):
        body.step(np.zeros(3))
        body.show(0, body.t, body.q + np.array([0.0, 0.0, math.tau * (k % 3)]))
        body.finish()
        assert body.x[2] == pytest.approx(begins, abs=1e-9)
