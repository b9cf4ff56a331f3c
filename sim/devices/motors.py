"""Simulated torque motors: limit, gain error, and zero-order hold of the set point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import inf

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.records import Array, Frame, Status
from granite.kernels.compiled_form import CompiledForm
from granite.sim.devices.device import SimulatedActuator
from granite.sim.plant.plant import Plant

_OK = int(Status.OK)


class SimulatedMotors(SimulatedActuator):
    """The motors of one device."""

    def __init__(self, motors: Motors, plant: Plant, rng: np.random.Generator) -> None:
        self._limits = [motor.torque_limit_n_m for motor in motors.units]
        self._least_limit = min(self._limits)
        self._joints = [motor.joint for motor in motors.units]
        #: of each motor: torque per torque that it reports
        self._table = motors
        #: torque over command, for the whole run where there is no fault
        self.own_gain = _gains(motors, rng)
        self._gain = self.own_gain
        self._plant, self._number = plant, 0
        #: current torque (n) [N m]
        self.torque: Array = np.zeros(len(self._limits))
        plant.attach_motors(motors, self)
        #: of each motor: the rate at which it has no torque left [rad/s], and where its rate is in q and u of the plant
        self.highest_rates = [inf] * len(self._limits)
        n_q = len(plant.bed.layout.positions)
        self.rate_offsets = [n_q + plant.bed.layout.joint_u(motor.joint) for motor in motors.units]

    @staticmethod
    def compiled_form(devices: Sequence[SimulatedMotors], n_held: int) -> CompiledForm:
        """All devices of this kind in C; `n_held` forces are constant over a tick."""
        counts = [len(device._limits) for device in devices]
        return CompiledForm(
            (),
            {},
            {
                "SIM_MOTOR_COUNT": counts,
                "SIM_MOTOR_FIRST": [0, *accumulate(counts)],
                "SIM_MOTOR_RATE": [offset for device in devices for offset in device.rate_offsets],
            },
            {
                "sim_motor_limit": np.array([limit for device in devices for limit in device._limits]),
                "sim_motor_highest": np.array([rate for device in devices for rate in device.highest_rates]),
            },
            {"sim_torque": np.zeros(n_held), "sim_motor_gain": np.ones(sum(counts))},
        )

    def draw(self, rng: np.random.Generator) -> Array:
        """The gains of the motors; `rng` as it is at the start."""
        return _gains(self._table, rng)

    def write(self, t: float, setpoint: Array) -> Frame:
        """Hold these torques from time t on, within the motors' limits; NaN stays NaN."""
        self._plant.advance(t)
        applied = setpoint
        torques, limit = setpoint.tolist(), self._least_limit
        if not (max(torques) <= limit and min(torques) >= -limit):  # clipping itself takes a microsecond
            applied = np.clip(setpoint, np.negative(self._limits), self._limits)
        self.torque = applied * self._gain
        self._number += 1
        return Frame(t, self._number, _OK, applied)

    def set_faults(self, faults: Iterable[tuple[str, str, float | None]]) -> None:
        """From the next set point on these joints get their torque times a factor; their frames do not report it."""
        self._gain = self.faulty_gain(self.own_gain, faults)

    def faulty_gain(self, gain: Array, faults: Iterable[tuple[str, str, float | None]]) -> Array:
        """The gain of each motor with these faults."""
        factors = {joint: value or 0.0 for _, joint, value in faults}
        return gain * [factors.get(joint, 1.0) for joint in self._joints]

    def stop(self, t: float) -> Frame:
        """No torque."""
        self._plant.advance(t)
        self.torque = np.zeros(len(self._limits))
        self._number += 1
        return Frame(t, self._number, _OK, self.torque)


def _gains(motors: Motors, rng: np.random.Generator) -> Array:
    spread, joints = motors.simulated.gain_error, [motor.joint for motor in motors.units]
    errors = rng.uniform(-spread, spread, len(joints)) if spread else np.zeros(len(joints))
    given = [motors.torque_gain.get(joint, 1.0) * motors.simulated.gain.get(joint, 1.0) for joint in joints]
    return np.array(given) * (1 + errors)
