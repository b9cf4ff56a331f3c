"""Which sensors measure which root, and the offsets of which joints: their models, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import casadi as ca

from granite.config.devices.joint_sensors import JointSensors
from granite.config.errors import InputError
from granite.config.measurement import Measurement
from granite.controllers.estimation.root_filter import POSE, JointOffset, Root, RootSensor
from granite.controllers.model import ControlModel
from granite.mrds.sensor_models import depends_on, measurement_of

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
            measurement = measurement_of(device, model.bed, model)
            if measurement is None:
                continue
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
            sensors[moved[0]].append(RootSensor(name, index, measurement, len(device.signals(model.bed))))
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
            density, has_rate = process[name], any(depends_on(m, model.u[at + 2]) for m in of_rate)
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
    return tuple(i for i in range(POSE) if any(depends_on(model, model.acceleration[i]) for model in models))


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


def _depends(measurement: Measurement, model: ControlModel, indices: Iterable[int]) -> bool:
    """Whether a sensor measures some of these coordinates or their rates."""
    return depends_on(measurement, ca.vertcat(*(ca.vertcat(model.q[i], model.u[i]) for i in indices)))


def _determines(measurement: Measurement, model: ControlModel, at: int) -> bool:
    """Whether one frame of the sensor gives the whole pose, which the filter starts with."""
    expected = ca.SX(measurement.expected)
    if len(measurement.noise) < POSE:
        return False
    return bool(ca.sprank(ca.jacobian(expected[:POSE], model.q[at : at + POSE])) == POSE)
