"""Stated uncertainties of the pendulum and of the force gauge, and measurements that determine nothing."""

import numpy as np
import pytest

from granite.calibration.gauges import fit_responses
from granite.calibration.pendulum import SwungBody, fit_pendulum
from granite.config.devices.gauge import Signal
from granite.config.errors import InputError

rng = np.random.default_rng(11)
SIGNALS = [Signal(name=name, unit="N", noise=0.01, range=10.0, gauge=0) for name in ("fx", "fy")]


def gauge(loads, readings):
    return fit_responses("gauge", [(SIGNALS, loads, readings, np.arange(len(loads)))], "load", "loads along every axis")


def test_errors_of_an_inertia_have_the_stated_spread():
    k, plate_mass, plate_inertia, deviation, weighed = 6.6e-3, 1.2, 0.024, 5e-6, 1e-4
    sigmas = []
    for _ in range(600):
        true_plate = plate_mass + weighed * rng.standard_normal()

        def swung(mass, inertia, is_known=True, plate=true_plate):
            true = mass + weighed * rng.standard_normal() * (mass > 0)
            period = np.sqrt((plate_inertia + inertia) / (k * (plate + true))) + deviation * rng.standard_normal()
            return SwungBody(mass, inertia if is_known else None, period, deviation)

        bodies = [swung(0.0, 0.0), swung(0.8, 0.01), swung(2.0, 0.05), swung(1.3, 0.03, False)]
        [inertia], covariance = fit_pendulum(bodies, plate_mass, weighed)
        sigmas.append((inertia - 0.03) / np.sqrt(covariance[0, 0]))
    assert np.std(sigmas) == pytest.approx(1.0, abs=0.1)
    assert abs(np.mean(sigmas)) < 0.15


def test_errors_of_a_cross_talk_matrix_have_the_stated_spread():
    matrix = np.array([[1.0, 0.1], [-0.06, 0.9]])
    loads = rng.uniform(-10, 10, (12, 2))
    spreads = []
    for _ in range(300):
        matrix_fit = gauge(loads, loads @ matrix.T + 0.3 + 0.02 * rng.standard_normal((12, 2)))
        true = np.column_stack(([0.3, 0.3], matrix, [0.0, 0.0])).ravel()
        spreads.append(matrix_fit.distance(true) / len(true) * (matrix_fit.freedom - 2) / matrix_fit.freedom)
    assert np.mean(spreads) == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("loads", [np.eye(2), np.outer(np.arange(6.0), (1.0, 2.0))])
def test_loads_that_do_not_determine_the_matrix_are_refused(loads):
    with pytest.raises(InputError, match="the loads do not determine the matrix, expected loads along every axis"):
        gauge(loads, loads)


def test_a_pendulum_with_bodies_that_swing_alike_is_refused():
    same = SwungBody(0.01, 0.01, 1.0, 1e-5)
    with pytest.raises(InputError, match="the known bodies swing alike, expected inertias that differ more"):
        fit_pendulum([same, same], 1.0)
    with pytest.raises(InputError, match="pendulum: 1 known bodies, expected two or more"):
        fit_pendulum([same, same._replace(inertia=None)], 1.0)
