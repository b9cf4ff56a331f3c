"""Which sensors measure which root, and the offsets of which joints: their models, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import casadi as ca
import numpy as np

from granite.config.devices.device import Device
from granite.config.devices.joint_sensors import JointSensors
from granite.config.errors import InputError
from granite.config.measurement import Measurement
from granite.config.parts import own_code
from granite.controllers.estimation.root_filter import POSE, JointOffset, Root, RootSensor
from granite.controllers.model import ControlModel

#: part of the time that the guard waits for a pose, after which poses that are refused are those of a root that was
#: pushed: before it would call the sensor silent, and after most swaps of bodies
_PATIENCE = 0.7


def measured_roots(
    model: ControlModel,
    process: Mapping[str, tuple[float, float, float]],
    measured_rotation: float,
    stated: Mapping[str, tuple[float, float, float]],
    stated_measured_rotation: float | None,
    correlation_s: float,
) -> list[Root]:
    """Every floating root that the controller knows with its sensors, and every fixed one that has some.

    Parameters
    ----------
    model
        The controller's model.
    process
        Density of the acceleration of each root, by module.
    measured_rotation
        At least this density of the rotation, where a sensor measures its rate.
    stated
        Density from which the deviations follow, of the roots that have one of their own.
    stated_measured_rotation
        The same of the rotation, where a sensor measures its rate or acceleration.
    correlation_s
        Correlation time of the error of an acceleration that a sensor measures.

    Raises
    ------
    InputError
        Where nothing measures the pose of a root, or the model of a sensor can't be used.
    """
    roots = {module.name: model.layout.root_u(module).start for module in model.floating}
    offsets = _joint_offsets(model)
    sensors: dict[str, list[RootSensor]] = {module.name: [] for module in model.layout.modules}
    for index, (name, device) in enumerate(model.bed.sensors.items()):
        if not set(device.modules(model.bed)) <= set(model.layout.u):
            continue
        try:
            with own_code(device.kind):
                measurement = device.measurement(model)
            if measurement is None:
                continue
            n_values = _refuse_wrong(measurement, device, model)
            moved = [root for root, at in roots.items() if _depends(measurement, model, range(at, at + POSE))]
            if len(moved) > 1:
                raise InputError(f"its model depends on the bases {' and '.join(moved)}", expected="on one of them")
            moved = moved or _modules_of_offsets(measurement, model, offsets)
            if len(moved) > 1:
                joints = f"its model depends on joints of {' and '.join(moved)}"
                raise InputError(joints, expected="on those of one module")
        except InputError as error:
            raise error.within(f"devices.{name}") from error
        if measurement.acceleration is not None and not set(moved) & set(roots):
            problem = "its model has the acceleration of a base that does not float"
            raise InputError(problem, key=f"devices.{name}", expected="a pose or rate of one that does")
        if moved:
            sensors[moved[0]].append(RootSensor(name, index, measurement, n_values))
    for module in model.floating:
        if not any(_determines(s.measurement, model, roots[module.name]) for s in sensors[module.name]):
            expected = f"a pose of '{module.root.name}', because its base floats"
            raise InputError.missing("devices.vision", expected)
    measured = []
    for name, known in sensors.items():
        at = roots.get(name)
        if at is None and not known:
            continue
        estimated = [
            JointOffset(i, deviation)
            for i, deviation in offsets.items()
            if any(_depends(s.measurement, model, [i]) for s in known)
        ]
        _refuse_several_offsets(model, estimated)
        accelerations = _accelerations(known)
        density, has_rate, heading, patience = (0.0, 0.0, 0.0), False, 0.0, math.inf
        if at is not None:
            # The centripetal acceleration of an accelerometer tells little of the rate.
            of_rate = [s.measurement for s in known if s.measurement.acceleration is None]
            density, has_rate = process[name], any(_depends_on(m, model.u[at + 2]) for m in of_rate)
            if has_rate:
                density = *density[:2], max(density[2], measured_rotation)
            module = next(module for module in model.floating if module.name == name)
            key = model.layout.positions[model.layout.root_q(module).stop - 1].key
            heading = model.bed.simulation.initial.get(key, 0.0)
            poses = [sensor.name for sensor in known if _determines(sensor.measurement, model, at)]
            patience = _PATIENCE * min(map(model.bed.age_limit, poses))
        by_model = stated.get(name)
        if by_model and stated_measured_rotation and (has_rate or 2 in accelerations):
            by_model = *by_model[:2], stated_measured_rotation
        root = Root(name, at, tuple(known), density, by_model, tuple(estimated), has_rate, heading, patience)
        root = root._replace(accelerations=accelerations, correlation_s=correlation_s, period_s=model.bed.loop.period_s)
        measured.append(root)
    return measured


def _accelerations(sensors: Iterable[RootSensor]) -> tuple[int, ...]:
    """Which of x'', y'' and heading'' some sensor measures."""
    models = [s.measurement for s in sensors if s.measurement.acceleration is not None]
    return tuple(i for i in range(POSE) if any(_depends_on(model, model.acceleration[i]) for model in models))


def _joint_offsets(model: ControlModel) -> dict[int, float]:
    """Unknown offset of each joint's sensor, by the index of the joint (one standard deviation)."""
    return {
        model.layout.joint_u(joint): device.angle_offset_rad
        for device in model.bed.devices_of(JointSensors).values()
        for joint in device.joints
        if joint in model.layout.joints and device.angle_offset_rad > 0
    }


def _refuse_several_offsets(model: ControlModel, offsets: Iterable[JointOffset]) -> None:
    """The offset of one sensor is found by the sensors of the root, or those of several by each other."""
    sensed = [joint for device in model.bed.devices_of(JointSensors).values() for joint in device.joints]
    joints = {model.layout.joint_u(joint): joint for joint in sensed if joint in model.layout.joints}
    for offset in offsets:
        joint = joints[offset.coordinate]
        if sensed.count(joint) > 1:
            problem = f"{sensed.count(joint)} sensors measure the angle of '{joint}', on which a pose depends"
            raise InputError(problem, key="devices", expected="one where a target behind the joint is seen")


def _modules_of_offsets(measurement: Measurement, model: ControlModel, offsets: Mapping[int, float]) -> list[str]:
    """Modules with a joint whose offset a sensor determines."""
    return [
        name
        for name, at in model.layout.u.items()
        if any(at.start <= i < at.stop and _depends(measurement, model, [i]) for i in offsets)
    ]


def _refuse_wrong(measurement: Measurement, device: Device, model: ControlModel) -> int:
    """The number of values of a frame; raises where the model has another shape, or is not finite."""
    if not isinstance(measurement, Measurement):
        raise InputError(f"its `measurement` gives a {type(measurement).__name__}", expected="a granite.Measurement")
    n, rows = len(device.signals(model.bed)), len(measurement.noise)
    expected = ca.SX(measurement.expected)
    if expected.shape != (rows, 1) or n not in (rows, 2 * rows):
        problem = f"its model gives {expected.shape[0]} x {expected.shape[1]} values and {rows} deviations"
        raise InputError(problem, expected=f"a column of {n} values, and as many deviations")
    symbols = ca.vertcat(model.q, model.u)
    if measurement.acceleration is not None:
        if ca.SX(measurement.acceleration).shape != (POSE, 1):
            raise InputError("its model has other accelerations", expected="a column of three symbols")
        symbols = ca.vertcat(symbols, measurement.acceleration)
    strange = [s.name() for s in ca.symvar(expected) if not ca.depends_on(symbols, s)]
    if strange:
        raise InputError(f"its model has the symbol '{strange[0]}'", expected="symbols of `q` and `u` alone")
    if not _depends_on(measurement, symbols):
        raise InputError("its model is a constant, so nothing determines its values", expected="one with `q` or `u`")
    f = ca.Function("h", [symbols], [expected, ca.jacobian(expected, symbols)])
    rng = np.random.default_rng(0)
    values = [np.array(part) for part in f(rng.uniform(0.1, 1.0, symbols.numel()))]
    if not all(np.isfinite(part).all() for part in values):
        raise InputError("its model or the derivative of it is not finite", expected="a smooth function of the motion")
    numbers = [*measurement.noise, measurement.time_deviation_s]
    numbers += [number for bias in measurement.biases for number in bias[1:]]
    if not all(np.isfinite(number) and number >= 0 for number in numbers):
        raise InputError("a deviation of its model is negative or not finite", expected="numbers from zero on")
    indices = [*measurement.angles, *(bias.signal for bias in measurement.biases)]
    if not all(0 <= index < rows for index in indices):
        raise InputError(f"its model names a row beyond its {rows}", expected=f"rows from 0 to {rows - 1}")
    return n


def _depends(measurement: Measurement, model: ControlModel, indices: Iterable[int]) -> bool:
    """Whether a sensor measures some of these coordinates or their rates."""
    return _depends_on(measurement, ca.vertcat(*(ca.vertcat(model.q[i], model.u[i]) for i in indices)))


def _depends_on(measurement: Measurement, symbols: ca.SX) -> bool:
    return bool(ca.jacobian(ca.SX(measurement.expected), symbols).nnz())


def _determines(measurement: Measurement, model: ControlModel, at: int) -> bool:
    """Whether one frame of the sensor gives the whole pose, which the filter starts with."""
    expected = ca.SX(measurement.expected)
    if len(measurement.noise) < POSE:
        return False
    return bool(ca.sprank(ca.jacobian(expected[:POSE], model.q[at : at + POSE])) == POSE)
