"""Stanford report, section 2.2: the rate filter's gain and lag, measured on the simulated joint sensors."""

import math

import numpy as np
import pytest

from config.loader import load
from sim.joint_sensors import SimulatedJointSensors


class Swing:
    """A plant whose shoulder swings at one frequency."""

    step_s = 0.001

    def __init__(self, frequency: float) -> None:
        self.observers: list = []
        self.steps = 0
        self.omega = 2 * math.pi * frequency

    @property
    def q(self):
        return np.array([0.0, 0.0, 0.0, math.sin(self.omega * self.steps * self.step_s), 0.0])

    @property
    def u(self):
        return np.array([0.0, 0.0, 0.0, self.omega * math.cos(self.omega * self.steps * self.step_s), 0.0])

    def advance(self, t: float) -> None:
        while self.steps < round(t / self.step_s):
            self.steps += 1
            for observer in self.observers:
                observer.observe(self.steps * self.step_s, self.q, self.u)


def response(a: float, b: float, frequency: float) -> complex:
    """Measured rate over true rate at one frequency, after the transient of the start has gone."""
    bed = load(
        "free-flyer",
        overrides=[
            f"devices.joint_sensors.filter_a_rad_s={a}",
            f"devices.joint_sensors.filter_b_rad_s={b}",
            "devices.joint_sensors.rate_noise_rad_s=0.0",
        ],
    )
    swing = Swing(frequency)
    device = SimulatedJointSensors(bed, swing, np.random.default_rng(0))
    period = round(1.0 / frequency / swing.step_s)
    settled = period * math.ceil(frequency)
    times = swing.step_s * np.arange(settled + period)
    rates = np.array([device.read(t).values[2] for t in times])[settled:]
    return 2 * np.mean(rates * np.exp(-1j * swing.omega * times[settled:])) / swing.omega


def test_gain_and_lag_at_one_hertz():
    found = response(50.0, 50.0, 1.0)
    assert abs(found) == pytest.approx(0.9845, abs=1e-4)
    assert -math.degrees(np.angle(found)) == pytest.approx(14.32, abs=0.01)


@pytest.mark.parametrize(("a", "b"), [(50.0, 50.0), (100.0, 100.0), (40.0, 150.0)])
def test_lag_at_low_frequency_is_a_delay(a, b):
    frequency = 0.25
    delay = -np.angle(response(a, b, frequency)) / (2 * math.pi * frequency)
    assert delay == pytest.approx((a + b) / (a * b), rel=0.02)


def test_the_whole_response_is_that_of_the_printed_filter():
    a, b = 60.0, 140.0
    for frequency in (0.5, 2.0, 10.0, 20.0):
        s = 2j * math.pi * frequency
        assert response(a, b, frequency) == pytest.approx(a * b / ((s + a) * (s + b)), abs=2e-3)
