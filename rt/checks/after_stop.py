"""The joints after the stop of a run: a motor that says it is stopped, and is not, drives its joint on.

Without torque a joint coasts or comes to rest; links that turn change each other's rates a little. One whose rate
grows by more in the moment after the stop is driven.
"""

from __future__ import annotations

import time

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.device_set import DeviceSet

#: how long joints are looked at [s], and the least number of frames
_LOOKED_S, _FRAMES = 0.3, 10
#: by how much a rate may grow [rad/s or m/s], and by which part of the largest rate
_GROWTH, _COUPLED = 0.05, 0.15


def driven_after_stop(bed: Testbed, devices: DeviceSet, t: float) -> dict[str, str]:
    """The motors whose joints are driven after their stop at time t, each with the reason; in real time."""
    rates = _rates(bed, devices, t)
    largest = max((abs(float(values[0])) for values in rates.values() if len(values)), default=0.0)
    driven = {}
    for name, motors in bed.devices_of(Motors).items():
        for motor in motors.units:
            values = rates.get(motor.joint, np.zeros(0))
            if len(values) < _FRAMES:
                continue
            part = len(values) // 3
            before, after = float(np.mean(values[:part])), float(np.mean(values[-part:]))
            if abs(after) - abs(before) > _GROWTH + _COUPLED * largest:
                driven[name] = f"it confirmed its stop, but {motor.joint} goes from {before:.2g} to {after:.2g} rad/s"
    return driven


def _rates(bed: Testbed, devices: DeviceSet, t: float) -> dict[str, Array]:
    """Measured rates of the joints since then, one for each new frame."""
    period, began = bed.loop.period_s, time.monotonic()
    joints = {f"{motor.joint}_rate": motor.joint for motor in bed.motors}
    signals = [
        (i, j, joints[signal.name]) for i, sensor in enumerate(bed.sensors.values())
        for j, signal in enumerate(sensor.signals(bed)) if signal.name in joints
    ]  # fmt: skip
    frames: dict[tuple[str, int], float] = {}
    while signals and (since := time.monotonic() - began) < _LOOKED_S:
        sample = devices.read(t + since)
        devices.observe(t + since)
        for i, j, joint in signals:
            frames[joint, sample.frames[i].number] = sample.frames[i].values.item(j)
        time.sleep(period)
    return {
        joint: np.array([value for (name, _), value in frames.items() if name == joint]) for joint in joints.values()
    }
