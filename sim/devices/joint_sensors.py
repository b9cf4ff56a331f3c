"""Simulated sensors of joints; the lag of rate filters is in the plant."""

from __future__ import annotations

from math import tau
from typing import Generic, TypeVar

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointDevice, JointSensors, Tachometers
from granite.sim.devices.sampled_sensor import Errors, SampledSensor, converted
from granite.sim.plant.equations import first_sensed, sensed_joints
from granite.sim.plant.plant import Plant

D = TypeVar("D", bound=JointDevice)


class _SimulatedJointDevice(SampledSensor, Generic[D]):
    """The signals of the sensed joints, at every tick or at the sensors' own rate."""

    def __init__(self, table: D, plant: Plant, rng: np.random.Generator) -> None:
        self._table = table
        first, n_all = first_sensed(plant.bed, table), len(sensed_joints(plant.bed))
        key = f"{table.model_dump_json(exclude={'response', 'calibration'})} {first} {n_all}"
        n, ticks = table.n_signals * len(table.joints), table.ticks(plant.bed.loop.period_s)
        super().__init__(plant, rng, n, ticks, key, lambda: self._measurement(first, n_all))

    def _measurement(self, first: int, n_all: int) -> tuple[dict[str, ca.SX], ca.SX]:
        """(angles and rates behind their filters of all sensed joints, drawn numbers, errors) -> the reading."""
        raise NotImplementedError


class SimulatedJointSensors(_SimulatedJointDevice[JointSensors]):
    """RVDTs, the angles [rad], then the rates [rad/s]: response, offset, eccentricity, noise and converter."""

    def errors(self, rng: np.random.Generator) -> Errors:
        """Offset and noise of the angles, then of the rates; a stream of their own draws offsets and eccentricity."""
        sensors, n = self._table, len(self._table.joints)
        response, fixed = sensors.angles_response(), sensors.simulated.offset_rad
        (constants,) = rng.spawn(1)
        drawn = sensors.angle_offset_rad * constants.standard_normal(n)
        phase = constants.uniform(0.0, tau, n)
        offsets = [fixed.get(joint, offset) for joint, offset in zip(sensors.joints, drawn.tolist(), strict=True)]
        return Errors(
            np.concatenate([response.offset, response.gain.diagonal(), response.nonlinearity, phase]),
            np.array([*offsets, *n * [0.0]]),
            np.array(n * [sensors.angle_noise_rad] + n * [sensors.rate_noise_rad_s]),
        )

    def _measurement(self, first: int, n_all: int) -> tuple[dict[str, ca.SX], ca.SX]:
        sensors, n, range_rad = self._table, len(self._table.joints), self._table.range_rad
        joints, drawn, error = ca.SX.sym("joints", 2 * n_all), ca.SX.sym("drawn", 4 * n), ca.SX.sym("error", 2 * n)
        offset, scale, bend, phase = ca.vertsplit(drawn, n)
        x, v = joints[first : first + n], joints[n_all + first : n_all + first + n]
        if not sensors.simulated.perfect:
            # A disc whose centre is e of its radius beside the axis reads x + e sin(x + phase), to first order in e.
            e = sensors.simulated.eccentricity_rad
            x, v = x + e * ca.sin(x + phase), v * (1 + e * ca.cos(x + phase))
        # The reading of `config.devices.response.Response`, and the rate by its slope there.
        angle = offset + scale * x + bend * (range_rad / 2) * (x / (range_rad / 2)) ** 3
        rate = (scale + 3 * bend * (x / (range_rad / 2)) ** 2) * v
        angles, rates = ca.vertsplit(ca.vertcat(angle, rate) + error, n)
        quantum = range_rad / (1 << sensors.converter_bits)
        output = ca.vertcat(converted(angles, -range_rad / 2, range_rad / 2 - quantum, quantum), rates)
        measured = ca.vertcat(angle, rate) if sensors.simulated.perfect else output
        return {"joints": joints, "drawn": drawn, "error": error}, measured


class SimulatedTachometers(_SimulatedJointDevice[Tachometers]):
    """The rates [rad/s]: error of scale and noise; a rate beyond the range is cut off."""

    def errors(self, rng: np.random.Generator) -> Errors:
        """Noise, and the error of scale."""
        n = len(self._table.joints)
        return Errors(np.array([self._table.simulated.scale]), np.zeros(n), np.full(n, self._table.rate_noise_rad_s))

    def _measurement(self, first: int, n_all: int) -> tuple[dict[str, ca.SX], ca.SX]:
        n, most = len(self._table.joints), self._table.range_rad_s
        joints, scale, error = ca.SX.sym("joints", 2 * n_all), ca.SX.sym("scale"), ca.SX.sym("error", n)
        rates = joints[n_all + first : n_all + first + n]
        measured = rates if self._table.simulated.perfect else ca.fmin(ca.fmax(scale * rates + error, -most), most)
        return {"joints": joints, "drawn": scale, "error": error}, measured
