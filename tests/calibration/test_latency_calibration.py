"""`granite calibrate BED latency`: delay of a pose sensor and of the valves, by a body that swings and turns."""

import numpy as np
import pytest

import granite
from granite.calibration.latency import LatencyProcedure
from granite.calibration.moving_heading import SeenHeading, TurnedHeading, noise_and_jitter
from granite.calibration.session import carry_out
from granite.calibration.simulated import SimulatedOperator, repeat
from granite.config.errors import InputError

rng = np.random.default_rng(3)


@pytest.mark.slow
def test_delays_of_sensor_and_valves_are_recovered():
    result = repeat(LatencyProcedure(granite.load("free-flyer")), 2)
    assert [number.key for number in result.fit.numbers] == [
        "devices.vision.latency_s",
        "devices.thrusters.valve.delay_s",
    ]
    assert result.level < 0.999
    assert (result.fit.deviation < (3e-4, 6e-4)).all()
    assert abs(result.truth[0] - 0.035) > 5e-3  # the file is wrong by much more


def test_the_time_that_a_driver_writes_on_a_pose_does_not_matter():
    """A driver without times of exposure writes a guess: only arrivals count."""
    procedure = LatencyProcedure(granite.load("spot"))
    operator = SimulatedOperator(procedure, 1)
    step = procedure.steps[0]
    operator.ready(step)
    tick = operator.bench.tick
    operator.bench.tick = lambda commands=None: _stamped(tick(commands))
    swing = procedure.measure(operator.bench, step, np.zeros(0))
    only = procedure.fit([swing])
    assert only.values[0] == pytest.approx(operator.truth["devices.vision.latency_s"], abs=5 * only.deviation[0])


def _stamped(sample):
    wrong = [frame._replace(t=frame.t - 0.1) if len(frame.values) == 3 else frame for frame in sample.frames]
    return sample._replace(frames=tuple(wrong))


def test_openings_turn_a_body_as_their_double_integral_says():
    """Against a numerical integral of ramps whose pressure falls with the time of firing."""
    times = np.arange(0.0, 6.0, 0.01)
    sides = np.select([times < 1, times < 2, times < 4, times < 5], [0, 1, -1, 1], 0)
    delay, rise, latency, fine = 0.004, 0.003, 0.02, 1e-4
    t = np.arange(0.0, 6.0, fine)
    opening = {}
    for side in (1, -1):
        commanded = (sides == side)[np.minimum((t / 0.01 + 1e-6).astype(int), len(sides) - 1)].astype(float)
        late = np.interp(t - delay, t, commanded, left=0.0)
        kernel = np.ones(round(rise / fine)) / round(rise / fine)
        opening[side] = np.convolve(late, kernel)[: len(t)]
    fired = np.cumsum(opening[1] + opening[-1]) * fine
    turn = (0.3 - 0.01 * fired) * opening[1] - (0.25 - 0.008 * fired) * opening[-1]
    heading = 0.1 + 0.02 * t + np.cumsum(np.cumsum(turn)) * fine**2
    model = TurnedHeading(SeenHeading(t + latency, heading), times, sides, rise, np.array([latency, delay]))
    own = np.array([0.1, 0.02, 0.0, 0.3, -0.01, -0.25, 0.008])
    headings = model.headings(np.array([latency, delay]), own) + 0.02 * latency
    np.testing.assert_allclose(headings, heading, atol=3e-4)
    own[0] += 0.02 * latency
    assert model.start == pytest.approx(own, abs=5e-3)


def test_noise_and_jitter_are_told_apart_by_the_slope():
    slope = np.sin(np.linspace(0.0, 60.0, 20_000))
    residual = 1e-3 * rng.standard_normal(20_000) + 2.5e-3 * slope * rng.standard_normal(20_000)
    assert noise_and_jitter(residual, slope) == pytest.approx((1e-3, 2.5e-3), rel=0.05)


def test_a_body_that_does_not_move_is_refused():
    procedure = LatencyProcedure(granite.load("spot"))
    operator = SimulatedOperator(procedure, 1)
    with pytest.raises(InputError, match="the pendulum was not swinging, 0 passes of its flag"):
        procedure.measure(operator.bench, procedure.steps[0], np.zeros(0))
    dead = {f"devices.thrusters.units.{unit.name}.failed": True for unit in granite.load("spot").thrusters}
    operator = SimulatedOperator(procedure, 1, dead)
    with pytest.raises(InputError, match=r"devices.vision: the body turned by .* rad, expected a body that moves"):
        procedure.measure(operator.bench, procedure.steps[1], np.zeros(0))


def test_a_body_that_is_not_seen_is_refused():
    unseen = ["devices.vision.simulated.dropout_probability=1"]
    procedure = LatencyProcedure(granite.load("spot", unseen))
    operator = SimulatedOperator(procedure, 1)
    with pytest.raises(InputError, match=r"devices.vision: 0 poses, expected 100 or more, of a body that is seen"):
        carry_out(procedure, operator.bench, operator)
