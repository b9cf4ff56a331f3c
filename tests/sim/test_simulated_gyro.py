"""The simulated gyro: its errors are those of its table, and its frames those of a converter."""

from types import SimpleNamespace

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.sim.devices.gyro import SimulatedGyro


def gyro(rate: float, seed: int = 1, **table):
    """A gyro on a body that turns steadily."""
    bed = granite.load("free-flyer", {"devices.gyro": table})
    u = np.zeros(len(bed.velocities))
    u[bed.layout.root_u(bed.modules[0])] = (0.1, 0.2, rate)
    plant = SimpleNamespace(bed=bed, u=u, advance=lambda t: None)
    return bed, SimulatedGyro(bed.devices["gyro"], plant, np.random.default_rng(seed))


def read(device, n: int) -> np.ndarray:
    return np.array([device.read(0.005 * k).values[0] for k in range(n)])


def test_bias_scale_and_noise_are_those_of_its_table():
    bed, device = gyro(0.4, noise_rad_s=2e-3, simulated={"bias_rad_s": 0.02, "scale": 1.05})
    assert [tuple(c) for c in bed.devices["gyro"].signals(bed)] == [("base_gyro", "rad/s")]
    values = read(device, 4000)
    assert values.mean() == pytest.approx(1.05 * 0.4 + 0.02, abs=2e-4)
    assert values.std() == pytest.approx(2e-3, rel=0.05)
    step = bed.devices["gyro"].step_rad_s
    assert np.abs(values / step - np.rint(values / step)).max() < 1e-6
    # As often as two such values fall on one step of the converter.
    assert (np.diff(values) == 0).mean() == pytest.approx(bed.devices["gyro"].repeats(bed)[0], abs=0.02)


def test_its_bias_begins_anew_with_each_seed_and_walks_with_the_root_of_time():
    walk = {"bias_deviation_rad_s": 0.01, "bias_walk_rad_s_per_rts": 2e-3}
    gyros = [gyro(0.0, seed, noise_rad_s=0.0, converter_bits=32, simulated=walk)[1] for seed in range(60)]
    bias = np.array([read(device, 800) for device in gyros])
    # The deviation of 60 numbers is known to 9 %.
    assert bias[:, 0].std() == pytest.approx(0.01, rel=0.3)
    for n in (200, 799):  # 1 s and 4 s
        assert (bias[:, n] - bias[:, 0]).std() == pytest.approx(2e-3 * np.sqrt(0.005 * n), rel=0.3)
    steps = np.diff(bias, axis=1)
    assert steps.std() == pytest.approx(2e-3 * np.sqrt(0.005), rel=0.03)
    assert abs(np.mean(steps[:, 1:] * steps[:, :-1])) < 0.03 * steps.var()


def test_beyond_its_range_it_reads_the_end_of_it_which_the_guard_takes_as_saturated():
    bed, device = gyro(9.0)
    lowest, highest = bed.devices["gyro"].measurable(bed)[0]
    assert device.read(0.0).values[0] >= highest
    assert device.read(0.0).number == 1  # the same tick, the same frame
    assert gyro(-9.0)[1].read(0.0).values[0] <= lowest


def test_a_perfect_one_reads_the_true_rate():
    _, device = gyro(0.123456789, simulated={"perfect": True})
    assert device.read(0.0).values[0] == 0.123456789


def test_a_module_that_does_not_float_on_the_table_is_refused():
    with pytest.raises(InputError, match=r"devices.gyro.module"):
        granite.load("free-flyer", {"devices.gyro": {"module": "nobody"}})
