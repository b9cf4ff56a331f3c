"""What a verdict can be about: devices, signals and coordinates by name, and the sentence about one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.devices.vision import Vision
from granite.config.footprints import guarded_pairs
from granite.config.reasons import Reason
from granite.config.records import Status, Verdict
from granite.config.testbed import Testbed

#: what a verdict can be about beside the values of a sensor, and of each of its signals, with units
_STAMPS = {"counter": "frames", "interval": "s"}
_JUDGED = {"repetition": "frames", "innovation": "sigma", "mean innovation": "sigma"}

_WITHOUT_A_VALUE = (
    Reason.WAITING_FOR_SENSORS, Reason.SENSORS_NEVER_REPORTED, Reason.THRUSTER_DEAD, Reason.THRUSTER_STUCK_OPEN,
)  # fmt: skip


def subjects(bed: Testbed) -> tuple[Coordinate, ...]:
    """Everything that a verdict can be about: devices, their signals, and coordinates; 0 is the tick itself."""
    devices = [Coordinate(name, "s") for name in (*bed.sensors, *bed.actuators)]
    signals = [Coordinate(f"{name} {c.name}", c.unit) for name, c in _signals(bed, {**bed.sensors, **bed.actuators})]
    rates = [Coordinate(f"{c.name} rate", c.unit) for c in bed.known.velocities]
    stamps = [Coordinate(f"{name} {what}", unit) for name in bed.sensors for what, unit in _STAMPS.items()]
    judged = [Coordinate(f"{name} {c.name} {what}", unit) for name, c in _signals(bed, bed.sensors)
              for what, unit in _JUDGED.items()]  # fmt: skip
    judged += [
        Coordinate(f"{name} {signal} disagreement", unit)
        for name, device in bed.sensors.items()
        for signal, unit in device.signals(bed)
        if signal in {agreement.signal for agreement in device.agreements(bed)}
    ]
    steps = [Coordinate(f"{c.name} reference step", c.unit) for c in bed.known.positions]
    coordinates = (*bed.known.positions, *rates, *accelerations(bed), *forces(bed), *wrenches(bed), *thrusts(bed))
    others = *residuals(bed), *_judged_by_law(bed), *stamp_errors(bed), *_distances(bed), *motor_gains(bed)
    return (Coordinate("tick", "1"), *devices, *signals, *coordinates, *stamps, *judged, *steps, *others)


def sentence(subjects: Sequence[Coordinate], verdict: Verdict) -> str:
    """Why a command was changed or the run ended: the reason, its subject, the value and the limit."""
    text = Reason(verdict.reason).text
    if not 0 < verdict.subject < len(subjects):
        return text
    name, unit = subjects[verdict.subject]
    if verdict.reason in _WITHOUT_A_VALUE:
        return f"{text}: {name}"
    if verdict.reason in (Reason.SENSOR_FAULT, Reason.ACTUATOR_FAULT):
        return f"{text}: {name}, status {_status(int(verdict.value))}"
    unit = "" if unit == "1" else f" {unit}"
    limit = f", limit {verdict.limit:.6g}{unit}" if math.isfinite(verdict.limit) else ""
    return f"{text}: {name} was {verdict.value:.6g}{unit}{limit}"


def accelerations(bed: Testbed) -> list[Coordinate]:
    """The acceleration of each velocity."""
    return [Coordinate(f"{c.name} acceleration", f"{c.unit}^2") for c in bed.known.velocities]


def forces(bed: Testbed) -> list[Coordinate]:
    """The generalised force of each velocity."""
    return [Coordinate(c.name.replace(" residual", " force"), c.unit) for c in residuals(bed)]


def wrenches(bed: Testbed) -> list[Coordinate]:
    """The wrench on each floating root, as the demand has it."""
    axes = {"N": ("fx", "fy"), "N m": ("mz",)} if bed.planar else {"N": ("fx", "fy", "fz"), "N m": ("mx", "my", "mz")}
    roots = [bed.known.name(m, m.root.name) for m in bed.known.modules if m.base == "floating"]
    components = [(axis, unit) for unit, of_unit in axes.items() for axis in of_unit]
    return [Coordinate(f"{root} wrench {axis}", unit) for root in roots for axis, unit in components]


def thrusts(bed: Testbed) -> list[Coordinate]:
    """The thrust of each thruster."""
    return [Coordinate(f"{name} thrust", "N") for name in bed.thruster_names]


def residuals(bed: Testbed) -> tuple[Coordinate, ...]:
    """Names and units of the residual force of each velocity."""
    return tuple(
        Coordinate(f"{c.name} residual", {"m/s": "N", "rad/s": "N m"}.get(c.unit, c.unit)) for c in bed.known.velocities
    )


def motor_gains(bed: Testbed) -> tuple[Coordinate, ...]:
    """The part of the commanded torque that the motor of each joint gives."""
    return tuple(Coordinate(f"{c.name} gain", "1") for c in bed.known.velocities)


def stamp_errors(bed: Testbed) -> list[Coordinate]:
    """The error of the time stamps of each pose sensor."""
    return [Coordinate(f"{name} time stamp error", "s") for name in bed.devices_of(Vision)]


def _distances(bed: Testbed) -> list[Coordinate]:
    """The distance of each pair that stays apart."""
    return [Coordinate(pair.name, "m") for pair in guarded_pairs(bed)]


def _judged_by_law(bed: Testbed) -> list[Coordinate]:
    """Numbers that a law records and the guard checks."""
    law = bed.controller.law if bed.controller else None
    names = {limit.name for limit in law.judged(bed)} if law else set()
    return [c for c in law.recorded(bed) if c.name in names] if law else []


def _signals(bed: Testbed, devices: Mapping[str, Device]) -> Iterator[tuple[str, Coordinate]]:
    for name, device in devices.items():
        for signal in device.signals(bed):
            yield name, signal


def _status(code: int) -> str:
    return Status(code).name if code in list(Status) else f"{code}, which is none of a device"
