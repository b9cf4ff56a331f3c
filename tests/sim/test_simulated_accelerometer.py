"""The simulated accelerometer: specific force by the mean over a period, its errors, and what is refused."""

import math
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.mrds.kinematics import Kinematics
from granite.sim.devices.accelerometer import SimulatedAccelerometer
from granite.sim.plant.draws import drawn

PERIOD = 0.005
PLACE, ANGLE = (0.2, -0.1), 0.4
PERFECT = {"perfect": True}


def accelerometer(motion, seed=1, tilt=0.0, **table):
    """One on a body whose pose and rate at a time are those of `motion`."""
    changes = {"devices.accelerometer": {"position_m": list(PLACE), "angle_rad": ANGLE, **table}}
    bed = granite.load("free-flyer", {**changes, "simulation.table.tilt_g": tilt})
    root = bed.layout.root_u(bed.modules[0])
    plant = SimpleNamespace(
        bed=bed, q=np.zeros(len(bed.positions)), u=np.zeros(len(bed.velocities)), constants=drawn(bed, 1)
    )

    def advance(t):
        plant.q[root], plant.u[root] = motion(t)

    plant.advance = advance
    return bed, SimulatedAccelerometer(bed.devices["accelerometer"], plant, np.random.default_rng(seed))


def read(device, n):
    return np.array([device.read(PERIOD * k).values for k in range(n)])


def at_rest(t):
    return (1.0, 1.0, 0.3), (0.0, 0.0, 0.0)


def test_it_measures_the_acceleration_of_its_place_in_its_own_axes():
    """Against the second difference of the place itself, of a body that speeds up, turns and spins up."""

    def motion(t):
        pose = 1 + 0.1 * t**2, 0.5 - 0.2 * t**2 + 0.1 * t**3, 0.3 + 0.8 * t + 0.5 * t**2
        return pose, (0.2 * t, -0.4 * t + 0.3 * t**2, 0.8 + t)

    def place(t):
        x, y, h = motion(t)[0]
        c, s = math.cos(h), math.sin(h)
        return np.array([x + c * PLACE[0] - s * PLACE[1], y + s * PLACE[0] + c * PLACE[1]])

    bed, device = accelerometer(motion, simulated=PERFECT)
    kinematics = Kinematics(bed, bed.layout)
    model = bed.devices["accelerometer"].measurement(kinematics)
    expected = ca.Function("h", [kinematics.q, kinematics.u, model.acceleration], [model.expected])
    root = bed.layout.root_u(bed.modules[0])
    values, d = read(device, 200), 1e-3
    for k in (40, 120, 199):
        t = (k - 0.5) * PERIOD
        a = (place(t + d) - 2 * place(t) + place(t - d)) / d**2
        angle = motion(t)[0][2] + ANGLE
        c, s = math.cos(angle), math.sin(angle)
        np.testing.assert_allclose(values[k], (c * a[0] + s * a[1], -s * a[0] + c * a[1]), atol=1e-4)
        # What the estimator expects from the motion at the end of the period.
        q, u = np.zeros(len(bed.positions)), np.zeros(len(bed.velocities))
        q[root], u[root] = motion(k * PERIOD)
        root_acceleration = (0.2, -0.4 + 0.6 * t, 1.0)
        np.testing.assert_allclose(expected(q, u, root_acceleration).full().ravel(), values[k], atol=2e-3)


def test_at_rest_it_shows_the_slope_and_in_free_fall_along_it_nothing():
    slope = 1e-3 * 9.81
    bed, device = accelerometer(at_rest, tilt=1e-3, simulated=PERFECT)
    downhill = bed.simulation.table.tilt_direction_rad - 0.3 - ANGLE
    resting = -slope * np.array([math.cos(downhill), math.sin(downhill)])
    np.testing.assert_allclose(read(device, 2)[1], resting, rtol=1e-3)
    direction = np.array(
        [math.cos(bed.simulation.table.tilt_direction_rad), math.sin(bed.simulation.table.tilt_direction_rad)]
    )
    gravity = np.linalg.norm(resting) * direction

    def falling(t):
        return (*(np.ones(2) + gravity * t**2 / 2), 0.3), (*(gravity * t), 0.0)

    _, device = accelerometer(falling, tilt=1e-3, simulated=PERFECT)
    np.testing.assert_allclose(read(device, 3)[1:], 0.0, atol=1e-9)


def test_noise_bias_scale_and_steps_are_those_of_its_table():
    def motion(t):
        return (0.25 * t**2, 0.0, -ANGLE), (0.5 * t, 0.0, 0.0)

    errors = {"bias_m_s2": [0.02, -0.01], "scale": 1.1}
    bed, device = accelerometer(motion, noise_m_s2_per_rthz=4e-4, simulated=errors)
    table, values = bed.devices["accelerometer"], read(device, 4000)[1:]
    assert values.mean(axis=0) == pytest.approx((1.1 * 0.5 + 0.02, -0.01), abs=5e-4)
    assert values.std(axis=0) == pytest.approx(4e-4 * math.sqrt(200), rel=0.05)
    steps = values / table.step_m_s2
    assert np.abs(steps - np.rint(steps)).max() < 1e-6
    assert [tuple(c) for c in table.signals(bed)] == [(f"base_{axis}_accelerometer", "m/s2") for axis in "xy"]


def test_the_seed_draws_biases_that_walk():
    table = {"bias_deviation_m_s2": 0.02, "bias_walk_m_s2_per_rts": 0.05}
    devices = [
        accelerometer(at_rest, seed, noise_m_s2_per_rthz=1e-9, converter_bits=32, simulated=table)[1]
        for seed in range(60)
    ]
    bias = np.array([read(device, 201) for device in devices])
    assert bias[:, 1].std() == pytest.approx(0.02, rel=0.25)
    assert (bias[:, 200] - bias[:, 0]).std() == pytest.approx(0.05, rel=0.25)


@pytest.mark.parametrize(
    ("bed", "table", "sentence"),
    [
        ("free-flyer", {}, r"position_m.*missing|missing.*position_m"),
        ("free-flyer", {"position_m": [0.0, 0.0], "noise_m_s2_per_rthz": 0.0}, r"noise_m_s2_per_rthz"),
        ("free-flyer", {"position_m": [0.0, 0.0, 0.0]}, r"position_m"),
        ("free-flyer", {"position_m": [0.0, 0.0], "module": "nobody"}, r"accelerometer.module.*no module of that name"),
        ("flexible-arm", {"position_m": [0.0, 0.0]}, r"accelerometer.module.*no module floats"),
        ("spatial-dual-arm", {"position_m": [0.0, 0.0]}, r"a spatial module, expected a planar one"),
    ],
)
def test_one_that_can_not_measure_is_refused(bed, table, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        granite.load(bed, {"devices.accelerometer": table})
    assert "\n" not in str(refused.value)
