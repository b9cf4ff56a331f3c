"""Stanford report, section 2.2: strain gauges of two force components at 2000:1, with cross-talk."""

import numpy as np

from granite.calibration.gauges import fit_responses
from granite.config.devices.gauge import Signal
from granite.config.devices.response import Response
from tests.validation.claims import Claims

FULL_N = 20.0
#: reading of a unit force: gains off by some percent, cross-talk of 8 and 5 %
TRUE = np.array([[1.03, 0.08], [-0.05, 0.97]])


def test_stanford22_calibration_removes_cross_talk(claims: Claims):
    rng = np.random.default_rng(22)
    noise = FULL_N / 2000

    def read(force: np.ndarray) -> np.ndarray:
        return force @ TRUE.T + noise * rng.standard_normal(force.shape)

    loads = np.array([(x, y) for x in (-16.0, -8.0, 8.0, 16.0) for y in (-16.0, -8.0, 8.0, 16.0)])
    signals = [Signal(name=name, unit="N", noise=noise, range=FULL_N, gauge=0) for name in ("fx", "fy")]
    fit = fit_responses("gauge", [(signals, loads, read(loads), np.arange(len(loads)))], "load", "loads")
    offset, *gains, bend = fit.values.reshape(2, 4).T
    response = Response(offset, np.column_stack(gains), bend, np.full(2, FULL_N))
    forces = rng.uniform(-FULL_N, FULL_N, (1000, 2))
    readings = read(forces)
    before = np.sqrt(((readings - forces) ** 2).mean())
    after = np.sqrt(((np.array([response.value(reading) for reading in readings]) - forces) ** 2).mean())
    what = "force gripper at 2000:1 with cross-talk of 8 %"
    claims.above("Stanford 22", f"{what}: error before over after calibration", 10.0, before / after)
    claims.below("Stanford 22", f"{what}: error after calibration over the noise", 1.5, after / noise)
