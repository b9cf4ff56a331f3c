"""Simulated RVDTs: offset, noise and converter steps; the lag of their analogue rate filters is in the plant."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np

from granite.config.devices import JointSensors
from granite.config.errors import InputError
from granite.config.records import Array, new
from granite.config.simulation import JointSensorFaults
from granite.config.testbed import Testbed
from granite.drivers.contract import Frame
from granite.mrds.compilation import compile_functions
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant


class SimulatedJointSensors(SimulatedDevice):
    """One frame per tick: the angles [rad], then the rates [rad/s], of the sensed joints."""

    def __init__(self, bed: Testbed, plant: Plant, rng: np.random.Generator) -> None:
        sensors, faults = bed.devices.joint_sensors, bed.simulation.joint_sensors
        if sensors is None:
            raise InputError("devices.joint_sensors: missing, there is nothing to simulate")
        self._plant = plant
        self._measure = compile_functions("joint_sensors", [_measurement(sensors, faults.perfect)])["measurement"].run
        self._errors = _errors(rng, sensors, faults)
        self._frame = Frame(np.nan, 0, np.full(2 * len(sensors.joints), np.nan))

    def read(self, t: float) -> Frame:
        """The joints now; the same frame again when no time has passed."""
        self._plant.advance(t)
        if not t <= self._frame.taken:
            values = self._measure((self._plant.joints, next(self._errors)))
            self._frame = new(Frame, (t, self._frame.number + 1, values))
        return self._frame


def _measurement(sensors: JointSensors, perfect: bool) -> ca.Function:
    """(angles and rates behind their filters, their errors) -> what comes out of the converter."""
    n = len(sensors.joints)
    signals, error = ca.SX.sym("signals", 2 * n), ca.SX.sym("error", 2 * n)
    angles, rates = ca.vertsplit(signals + error, n)
    quantum = sensors.range_rad / (1 << sensors.converter_bits)
    lowest, highest = -sensors.range_rad / 2, sensors.range_rad / 2 - quantum
    # Written so that what is not a number stays that.
    within = ca.if_else(angles < lowest, lowest, ca.if_else(angles > highest, highest, angles))
    converted = ca.vertcat(within - ca.remainder(within, quantum), rates)
    return ca.Function("measurement", [signals, error], [signals if perfect else converted])


def _errors(rng: np.random.Generator, sensors: JointSensors, faults: JointSensorFaults) -> Iterator[Array]:
    """Offset and noise of the angles, then of the rates, for one frame after the other without end."""
    n = len(sensors.joints)
    offset = np.array([faults.offset_rad.get(j, 0.0) for j in sensors.joints] + n * [0.0])
    noise = np.array(n * [sensors.angle_noise_rad] + n * [sensors.rate_noise_rad_s])
    while True:  # in blocks: one draw costs as much as many
        yield from offset + noise * rng.standard_normal((256, 2 * n))
