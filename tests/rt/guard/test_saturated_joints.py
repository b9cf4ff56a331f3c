"""A joint that turns beyond the range of its sensor: named as saturated, not as frozen."""

from __future__ import annotations

import numpy as np
import pytest

import granite
from granite.config.devices.joint_sensors import JointSensors

#: the elbow turns to 1.4 rad, its converter ends at 1.2
NARROW = {"devices.joint_sensors.range_rad": 2.4, "behaviour.check_moves": False}


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_an_angle_at_the_end_of_its_converter_ends_the_run_by_name():
    log = granite.simulate(granite.load("free-flyer", NARROW))
    assert log.summary is not None
    assert log.summary["ended"] == "sensor_saturated", log.summary["text"]
    assert "joint_sensors elbow_angle" in log.summary["text"]
    # In the first tick at the end of the range: a frozen value would need many.
    angle = log["/sample"]["joint_sensors_elbow_angle_rad"]
    step = 2.4 / 2**16
    assert angle[-1] == pytest.approx(1.2 - step, abs=1e-12)
    assert np.count_nonzero(angle > 1.2 - 1.5 * step) == 1


def test_the_range_of_a_calibrated_sensor_is_in_angles():
    """Of a reading with a slope and an offset, the ends of the converter are at other angles."""
    calibrated = {**NARROW, "devices.joint_sensors.response.elbow": {"offset_rad": 0.1, "scale": 1.1}}
    bed = granite.load("free-flyer", calibrated)
    sensors = bed.devices["joint_sensors"]
    assert isinstance(sensors, JointSensors)
    (_, shoulder), (_, elbow), *rates = sensors.measurable(bed)
    assert shoulder == pytest.approx(1.2, abs=1e-4)
    assert elbow == pytest.approx((1.2 - 0.1) / 1.1, abs=1e-4)
    assert rates == [(-np.inf, np.inf)] * 2
