"""Joint sensors: zero, scale and non-linearity of each, from known angles.

    reading = offset + scale * angle + nonlinearity * range * (angle / range)^3

is linear in the three numbers of a joint. The angles are those of an index plate, of gauge blocks or of stops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit, FittedKey, Residuals, linear_fit
from granite.calibration.procedure import (
    BenchMeasurement,
    DeviceProcedure,
    KnownValue,
    OperatorStep,
    mean_text,
    on_bench,
)
from granite.config.devices.joint_sensors import JointSensors
from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.benches.bench_plant import BenchPlant

#: known angles of each joint, and the part of its range that they cover
_ANGLES, _PART = 11, 0.9
#: how long each is read [s]
_READ_S = 0.5
#: how exactly somebody can set an angle [rad]
_SET_RAD = 1e-4
_NUMBERS = (("offset_rad", "rad"), ("scale", "1"), ("nonlinearity", "1"))
#: greatest differences of simulated sensors
_DIFFERS = (0.05, 0.03, 0.01)


class JointsProcedure(DeviceProcedure):
    """Every sensed joint at known angles."""

    kind = JointSensors

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        super().__init__(bed, name)
        self.steps = tuple(
            OperatorStep(
                f"turn joint {joint} to {angle:.4g} rad, by an index plate or a stop, and keep it at rest",
                (KnownValue(f"angle of {joint}", "rad", round(angle, 6)),),
                joint,
            )
            for joint in self.table.joints
            for angle in np.linspace(*_reach(bed, joint, self.table.range_rad / 2), _ANGLES).tolist()
        )

    def bench_bed(self) -> Testbed:
        """Sensors that read without correction."""
        keys = {f"{self.of}.response": {}, f"{self.of}.simulated": {}, f"{self.of}.angle_offset_rad": 0.0}
        return on_bench(self.bed, self.devices, keys)

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """The mean reading of the joint."""
        i = self.table.joints.index(step.subject)
        frames = bench.read(self.name, _READ_S)[:, i : i + 1]
        mean = frames.mean(axis=0)
        return BenchMeasurement(step, known_values, mean, mean_text(mean, ("rad",), ("reading",), frames))

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """Three numbers of each joint; the noise is that of all joints."""
        half, joints = self.table.range_rad / 2, self.table.joints
        rows = np.zeros((len(measured), 3 * len(joints)))
        readings = np.array([m.values[0] for m in measured])
        for row, measurement in zip(rows, measured, strict=True):
            i = joints.index(measurement.step.subject)
            angle = measurement.known_values[0]
            row[3 * i : 3 * i + 3] = 1.0, angle, half * (angle / half) ** 3
        for joint in joints:
            different = {measurement.known_values[0] for measurement in measured if measurement.step.subject == joint}
            if len(different) < 4:
                few = f"{len(different)} different angles of joint {joint}"
                raise InputError(few, key=self.of, expected="4 or more")
        what = "the angles do not determine the response"
        expected = "angles over the range of every joint"
        fit = linear_fit(rows, readings, what, expected)
        numbers = tuple(
            FittedKey(f"{self.of}.response.{joint}.{key}", unit) for joint in joints for key, unit in _NUMBERS
        )
        at = np.array([measurement.known_values[0] for measurement in measured])
        of_joint = [np.array([measurement.step.subject == joint for measurement in measured]) for joint in joints]
        left = tuple(
            Residuals(joint, "known angle [rad]", at[is_of_joint], fit.residual[is_of_joint], "rad")
            for joint, is_of_joint in zip(joints, of_joint, strict=True)
        )
        return CalibrationFit(numbers, fit.values, fit.covariance, fit.freedom, len(measured), left)

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Offset, scale and non-linearity of each joint."""
        truth = {}
        for joint in self.table.joints:
            for (key, _), most, usual in zip(_NUMBERS, _DIFFERS, (0.0, 1.0, 0.0), strict=True):
                truth[f"{self.of}.response.{joint}.{key}"] = usual + float(rng.uniform(-most, most))
        return truth

    def act(self, plant: BenchPlant, step: OperatorStep, rng: np.random.Generator) -> None:
        """Turn the joint."""
        plant.set_joint(step.subject, step.known_values[0].planned + _SET_RAD * rng.standard_normal())


def _reach(bed: Testbed, joint: str, half: float) -> tuple[float, float]:
    """The angles between which a joint is calibrated: its limits, within the range of the sensor."""
    limits = [limit for limit in bed.safety.joints if limit.joint == joint]
    lower = max((limit.lower_rad for limit in limits), default=-half)
    upper = min((limit.upper_rad for limit in limits), default=half)
    return _PART * max(lower, -half), _PART * min(upper, half)
