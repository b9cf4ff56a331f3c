"""Stanford report, section 2.2: the rate filter's gain and lag, measured on the simulated joint sensors."""

import math

import numpy as np
import pytest

from granite.config.devices.joint_sensors import JointSensors
from granite.config.devices.motors import Motor, Motors
from granite.config.loader import load
from granite.config.modules import Module
from granite.sim.lab import Lab
from tests.validation.claims import Claims

STEP_S = 0.001
POLE = Module.model_validate(
    {
        "name": "stand",
        "dimension": "planar",
        "base": "fixed",
        "bodies": [
            {"name": "foot", "mass_kg": 1.0, "inertia_kg_m2": 1.0},
            {"name": "pole", "mass_kg": 1.0, "inertia_kg_m2": 1.0},
        ],
        "joints": [{"name": "hinge", "parent": "foot", "child": "pole"}],
    }
)


def lab(a: float, b: float):
    """A pole on a hinge with a motor and a sensor that has no fault but its filter."""
    bed = load("free-flyer/ideal", overrides=[f"simulation.physics_step_s={STEP_S}", f"loop.period_s={STEP_S}"])
    sensors = bed.devices_of(JointSensors)["joint_sensors"].model_copy(
        update={"joints": ("hinge",), "filter_a_rad_s": a, "filter_b_rad_s": b}
    )
    motors = Motors(kind="motors", units=(Motor(joint="hinge", torque_limit_n_m=1e3),))
    initial = bed.simulation.model_copy(update={"initial": {}})
    devices = {"joint_sensors": sensors, "motors": motors}
    made = Lab(bed.model_copy(update={"modules": (POLE,), "devices": devices, "simulation": initial}))
    return made.plant, made.device("joint_sensors"), made.device("motors")


def response(a: float, b: float, frequency: float) -> complex:
    """Measured rate over true rate while the motor swings the pole, after the transient of the start has gone."""
    plant, sensors, motors = lab(a, b)
    omega, period = 2 * math.pi * frequency, round(1.0 / frequency / STEP_S)
    settled = period * math.ceil(frequency)
    measured, true = [], []
    for k in range(settled + period):
        t = k * STEP_S
        measured.append(sensors.read(t).values[1])
        true.append(plant.u[0])
        motors.write(t, np.array([omega * math.cos(omega * t)]))
    turning = np.exp(-1j * omega * STEP_S * np.arange(settled, settled + period))
    return np.dot(measured[settled:], turning) / np.dot(true[settled:], turning)


def test_stanford21_gain_and_lag_at_one_hertz(claims: Claims):
    gain_and_lag = response(50.0, 50.0, 1.0)
    what = "rate filter at 1 Hz, a = b = 50 rad/s"
    claims.equal("Stanford 21", f"{what}: gain", 0.9845, abs(gain_and_lag), 1e-4)
    claims.equal("Stanford 21", f"{what}: lag", 14.32, -math.degrees(np.angle(gain_and_lag)), 0.01, "deg")


@pytest.mark.parametrize(("a", "b"), [(50.0, 50.0), (100.0, 100.0), (40.0, 150.0)])
def test_stanford21_lag_at_low_frequency_is_a_delay(a, b, claims: Claims):
    frequency = 0.25
    delay = -np.angle(response(a, b, frequency)) / (2 * math.pi * frequency)
    what = f"delay of the rate filter at low frequency, a = {a:g}, b = {b:g} rad/s"
    claims.near("Stanford 21", what, (a + b) / (a * b), delay, 0.02, "s")


def test_the_whole_response_is_that_of_the_printed_filter():
    a, b = 60.0, 140.0
    for frequency in (0.5, 2.0, 10.0, 20.0):
        s = 2j * math.pi * frequency
        assert response(a, b, frequency) == pytest.approx(a * b / ((s + a) * (s + b)), abs=2e-3)
