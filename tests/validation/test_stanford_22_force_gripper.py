"""Stanford report, section 2.2: strain gauges of two force components at 2000:1, with cross-talk."""

import numpy as np

from granite.drivers.calibration.force_gauge import calibrate_gauge
from tests.validation.claims import Claims

FULL_N = 20.0
#: reading of a unit force: gains off by some percent, cross-talk of 8 and 5 %
TRUE = np.array([[1.03, 0.08], [-0.05, 0.97]])


def test_stanford22_calibration_removes_cross_talk(claims: Claims):
    rng = np.random.default_rng(22)
    noise = FULL_N / 2000

    def read(force: np.ndarray) -> np.ndarray:
        return force @ TRUE.T + noise * rng.standard_normal(force.shape)

    loads = np.array([(x, y) for x in (-15.0, 0.0, 15.0) for y in (-15.0, 0.0, 15.0)])
    gauge = calibrate_gauge(loads, read(loads))
    forces = rng.uniform(-FULL_N, FULL_N, (1000, 2))
    readings = read(forces)
    before = np.sqrt(((readings - forces) ** 2).mean())
    after = np.sqrt(((gauge.force(readings) - forces) ** 2).mean())
    what = "force gripper at 2000:1 with cross-talk of 8 %"
    claims.above("Stanford 22", f"{what}: error before over after calibration", 10.0, before / after)
    claims.below("Stanford 22", f"{what}: error after calibration over the noise", 1.5, after / noise)
