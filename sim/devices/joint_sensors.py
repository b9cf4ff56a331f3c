"""Simulated RVDTs: offset, noise and converter steps; the lag of their analogue rate filters is in the plant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointSensors
from granite.config.records import Array, Frame, Status, no_frame
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm
from granite.sim.devices.device import SimulatedSensor
from granite.sim.plant.equations import first_sensed, sensed_joints
from granite.sim.plant.plant import Plant

#: tolerance of due times, as a part of a period
_ROUNDING = 1e-6

_OK = int(Status.OK)
#: frames whose errors are drawn at once
_BLOCK = 256


class SimulatedJointSensors(SimulatedSensor):
    """The angles [rad], then the rates [rad/s], of the sensed joints, at every tick or at the sensors' own rate."""

    def __init__(self, sensors: JointSensors, plant: Plant, rng: np.random.Generator) -> None:
        self._plant, n = plant, len(sensors.joints)
        key = sensors.model_dump_json(exclude={"response", "calibration"})
        kernels = compile_once("joint_sensors", key, lambda: [_measurement(sensors)])
        self._kernel = kernels["measurement"]
        self._measure = self._kernel.run
        self._table, self._errors = sensors, _errors(rng, sensors)
        first, after = first_sensed(plant.bed, sensors), len(sensed_joints(plant.bed))
        #: indices of its angles and rates among those of all sensed joints
        self._angles, self._rates = slice(first, first + n), slice(after + first, after + first + n)
        self._is_alone = n == after
        response = sensors.angles_response()
        self._response = None if response.is_ideal else response
        interval = sensors.ticks(plant.bed.loop.period_s) * plant.bed.loop.period_s
        self._interval, self._due = (1 - _ROUNDING) * interval, 0.0
        self._frame = no_frame(2 * n)

    @property
    def is_in_python(self) -> bool:
        """Whether it has no compiled form: the response is not in it."""
        return self._response is not None

    @staticmethod
    def compiled_form(devices: Sequence[SimulatedJointSensors], frames: int) -> CompiledForm:
        """All devices of this kind in C, for runs of at most so many frames."""
        sizes = [len(device._table.joints) for device in devices]
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"SIM_JOINTS_IN_ALL": len(sensed_joints(devices[0]._plant.bed)) if devices else 0},
            {
                "SIM_JOINT_COUNT": sizes,
                "SIM_JOINT_FIRST": [device._angles.start for device in devices],
                "SIM_JOINT_ERRORS": [0, *accumulate(2 * n * frames for n in sizes)],
            },
            {"sim_joint_interval": np.array([device._interval for device in devices])},
            {"sim_joint_due": np.zeros(len(devices))},
            {"sim_measurement": [device._kernel for device in devices]},
        )

    def draw(self, rng: np.random.Generator, frames: int) -> Array:
        """The errors of so many frames, one row each; `rng` as it is at the start."""
        blocks = islice(_blocks(rng, self._table), -(-frames // _BLOCK))
        return np.concatenate(list(blocks))[:frames]

    def read(self, t: float) -> Frame:
        """The joints now; the same frame again until the next one is due."""
        self._plant.advance(t)
        if t >= self._due:
            joints = self._plant.joints
            own = (joints,) if self._is_alone else (joints[self._angles], joints[self._rates])
            if self._response is not None:
                own = self._responded(joints[self._angles], joints[self._rates])
            values = self._measure((*own, next(self._errors)))
            self._frame = Frame(t, self._frame.number + 1, _OK, values)
            self._due = t + self._interval
        return self._frame

    def _responded(self, angles: Array, rates: Array) -> tuple[Array, Array]:
        """What bridges that are neither linear nor centred make of angles and rates."""
        assert self._response is not None
        return self._response.reading(angles), self._response.slope(angles) * rates


def _measurement(sensors: JointSensors) -> ca.Function:
    """(angles, rates behind their filters, errors of both) -> output of the converter."""
    n = len(sensors.joints)
    angle, rate, error = ca.SX.sym("angle", n), ca.SX.sym("rate", n), ca.SX.sym("error", 2 * n)
    angles, rates = ca.vertsplit(ca.vertcat(angle, rate) + error, n)
    quantum = sensors.range_rad / (1 << sensors.converter_bits)
    lowest, highest = -sensors.range_rad / 2, sensors.range_rad / 2 - quantum
    # Written so that NaN stays NaN.
    within = ca.if_else(angles < lowest, lowest, ca.if_else(angles > highest, highest, angles))
    converted = ca.vertcat(within - ca.remainder(within, quantum), rates)
    measured = ca.vertcat(angle, rate) if sensors.simulated.perfect else converted
    return ca.Function("measurement", [angle, rate, error], [measured])


def _errors(rng: np.random.Generator, sensors: JointSensors) -> Iterator[Array]:
    """Offset and noise of the angles, then of the rates, an endless sequence of frames."""
    return chain.from_iterable(_blocks(rng, sensors))


def _blocks(rng: np.random.Generator, sensors: JointSensors) -> Iterator[Array]:
    """The same in blocks with a row for each frame: one draw costs as much as many."""
    n, offsets = len(sensors.joints), sensors.simulated.offset_rad
    offset = np.array([offsets.get(joint, 0.0) for joint in sensors.joints] + n * [0.0])
    noise = np.array(n * [sensors.angle_noise_rad] + n * [sensors.rate_noise_rad_s])
    while True:
        yield offset + noise * rng.standard_normal((_BLOCK, 2 * n))
