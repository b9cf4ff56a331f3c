"""Stated uncertainties of the pendulum and of the force gauge, and loads that determine nothing."""

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.drivers.calibration.force_gauge import calibrate_gauge
from granite.drivers.calibration.pendulum import calibrate_pendulum

rng = np.random.default_rng(11)


def test_errors_of_an_inertia_have_the_stated_spread():
    k, plate_mass, plate_inertia, deviation = 6.6e-3, 1.2, 0.024, 2e-4
    inertias, masses = np.array([0.0, 0.01, 0.05]), np.array([0.0, 0.8, 2.0])

    def timed(inertia, mass):
        ideal = np.sqrt((plate_inertia + inertia) / (k * (plate_mass + mass)))
        return ideal + deviation * rng.standard_normal(np.shape(ideal))

    sigmas = []
    for _ in range(600):
        pendulum = calibrate_pendulum(inertias, masses, timed(inertias, masses), plate_mass, deviation)
        found, spread = pendulum.inertia(1.3, float(timed(0.03, 1.3)))
        sigmas.append((found - 0.03) / spread)
    assert np.std(sigmas) == pytest.approx(1.0, abs=0.1)
    assert abs(np.mean(sigmas)) < 0.15


def test_errors_of_a_force_have_the_stated_spread():
    matrix = np.array([[1.0, 0.1], [-0.06, 0.9]])
    loads = rng.uniform(-10, 10, (12, 2))
    sigmas = []
    for _ in range(400):
        gauge = calibrate_gauge(loads, loads @ matrix.T + 0.3 + 0.01 * rng.standard_normal((12, 2)))
        force = rng.uniform(-3, 3, 2)
        found = gauge.force(force @ matrix.T + 0.3 + 0.01 * rng.standard_normal(2))
        sigmas += ((found - force) / gauge.force_deviation).tolist()
    assert np.std(sigmas) == pytest.approx(1.1, abs=0.15)  # the fit itself adds a little


@pytest.mark.parametrize(
    ("loads", "sentence"),
    [
        (np.eye(2), "force: 2 loads, expected 4 or more"),
        (
            np.outer(np.arange(6.0), (1.0, 2.0)),
            "do not determine the matrix, expected loads in two directions",
        ),
    ],
)
def test_loads_that_do_not_determine_the_matrix_are_refused(loads, sentence):
    with pytest.raises(InputError, match=sentence):
        calibrate_gauge(loads, loads)


def test_a_pendulum_with_bodies_that_swing_alike_is_refused():
    same = np.array([0.01, 0.01])
    with pytest.raises(InputError, match="the known bodies swing alike, expected inertias that differ more"):
        calibrate_pendulum(same, same, np.ones(2), 1.0)
    with pytest.raises(InputError, match="pendulum: 1 known bodies, expected two or more"):
        calibrate_pendulum(same[:1], same[:1], np.ones(1), 1.0)
