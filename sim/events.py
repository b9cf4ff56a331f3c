"""Timed events of a simulated run: forces on bodies, payloads, and faults of devices.

An event takes effect at the first tick that is not before its time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from granite.config.base import refuse_out_of_plane, spatial
from granite.config.devices.grips import Grips
from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.events import (
    ACTUATOR_FAULTS,
    GRIP_FAULTS,
    MOTOR_FAULTS,
    SENSOR_FAULTS,
    THRUSTER_FAULTS,
    DropOutEvent,
    FaultEvent,
    PayloadEvent,
    PushEvent,
)
from granite.config.testbed import Testbed
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.devices.faults import UNIT_FAULTS, FaultyActuator, FaultySensor
from granite.sim.plant.forces import PUSH, module_of_body, pushed_bodies
from granite.sim.plant.payload import with_payload
from granite.sim.plant.plant import Plant


class TimedEvents:
    """The events of a testbed: those on the plant, and those on each device."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        self._bed, self._plant = bed, plant
        events = bed.simulation.events
        self._pushes = [event for event in events if isinstance(event, PushEvent)]
        for i, event in enumerate(events if bed.planar else ()):
            for key in ("force_n", "position_m"):
                refuse_out_of_plane(f"simulation.events.{i}.{key}", getattr(event, key, (0.0, 0.0)))
        self._bodies = pushed_bodies(bed)
        self._by_hand = np.zeros(len(plant.pushes))
        self._payloads: list[tuple[float, Any]] = []
        loaded = bed
        for payload in sorted((e for e in events if isinstance(e, PayloadEvent)), key=lambda e: e.at_s):
            loaded = with_payload(loaded, payload, module_of_body(bed, payload))
            self._payloads.append((payload.at_s, plant.prepared(loaded)))
        self._faults: dict[str, list[FaultEvent]] = {}
        for i, event in enumerate(events):
            if isinstance(event, FaultEvent | DropOutEvent):
                self._faults.setdefault(event.device, []).append(_checked(bed, i, event))

    def fault_intervals(self, name: str) -> Iterator[tuple[float, float]]:
        """When the faults of a device act on its frames [s]; those of single units only begin and end."""
        for fault in self._faults.get(name, []):
            end_s = math.inf if fault.duration_s is None else fault.at_s + fault.duration_s
            if fault.what in UNIT_FAULTS:
                yield fault.at_s, fault.at_s
                yield end_s, end_s
            else:
                yield fault.at_s, end_s

    def load_intervals(self) -> Iterator[tuple[float, float]]:
        """When forces act, or payloads are taken up [s]."""
        for push in self._pushes:
            yield push.at_s, push.at_s + push.duration_s
        for at_s, _ in self._payloads:
            yield at_s, at_s

    def on_plant(self, plant: Plant) -> TimedEvents:
        """The same events from the start on, on a plant of the same modules."""
        events = copy(self)
        events._plant, events._payloads = plant, [*self._payloads]
        return events

    def on(self, name: str, device: Any) -> Any:
        """The device with the faults of its timed events."""
        faults = self._faults.get(name, [])
        if not faults:
            return device
        signals = _units(self._bed, name, of_a_unit=False)
        if name in self._bed.sensors:
            return FaultySensor(device, faults, signals)
        return FaultyActuator(device, faults, signals, _units(self._bed, name, of_a_unit=True))

    def push(self, body: str, force_n: Sequence[float], moment_n_m: float) -> None:
        """Apply a wrench to a body, in addition to the events and to those on other bodies."""
        names = [name for _, name in self._bodies]
        if body not in names:
            raise InputError("not pushable", key="push", value=body, expected=one_of(body, names))
        i = names.index(body)
        self._by_hand[PUSH * i : PUSH * (i + 1)] = (*spatial(tuple(force_n)), moment_n_m)

    def happen(self, t: float) -> None:
        """Apply the events of time t to the plant."""
        if self._pushes:
            pushes = self._by_hand.copy()
            for event in self._pushes:
                if event.at_s - SAME_TIME_S <= t < event.at_s + event.duration_s - SAME_TIME_S:
                    i = self._bodies.index((module_of_body(self._bed, event), event.body))
                    pushes[PUSH * i : PUSH * (i + 1)] += (*spatial(event.force_n), event.moment_n_m)
            self._plant.pushes[:] = pushes
        while self._payloads and self._payloads[0][0] <= t + SAME_TIME_S:
            self._plant.change(self._payloads.pop(0)[1])


def _checked(bed: Testbed, i: int, event: FaultEvent | DropOutEvent) -> FaultEvent:
    """The event as a fault, if the device that it names can have it."""
    key, device = f"simulation.events.{i}", bed.devices.get(event.device)
    if device is None:
        known = one_of(event.device, bed.devices)
        raise InputError("no such device", key=f"{key}.device", value=event.device, expected=known)
    fault = event
    if isinstance(fault, DropOutEvent):
        values = fault.model_dump(exclude={"kind"})
        fault = FaultEvent(kind="fault", what="silent", **values)
    is_sensor = event.device in bed.sensors
    kinds = {Thrusters: THRUSTER_FAULTS, Motors: MOTOR_FAULTS, Grips: GRIP_FAULTS}
    of_units = next((faults for kind, faults in kinds.items() if isinstance(device, kind)), ())
    possible = SENSOR_FAULTS if is_sensor else (*ACTUATOR_FAULTS, *of_units)
    if fault.what not in possible:
        known = one_of(fault.what, possible)
        raise InputError(f"not of '{event.device}'", key=f"{key}.what", value=fault.what, expected=known)
    units = _units(bed, event.device, fault.what in of_units)
    for name, unit in (("unit", fault.unit), ("other", fault.other)):
        if unit is not None and unit not in units:
            raise InputError("no such unit", key=f"{key}.{name}", value=unit, expected=one_of(unit, units))
    return fault


def _units(bed: Testbed, name: str, of_a_unit: bool) -> list[str]:
    """The thrusters, motors or grips of a device, or its signals."""
    device = bed.devices[name]
    if of_a_unit and isinstance(device, Thrusters):
        return [unit.name for unit in device.units]
    if of_a_unit and isinstance(device, Motors):
        return [motor.joint for motor in device.units]
    if of_a_unit and isinstance(device, Grips):
        return list(bed.grips)
    return [c.key for c in (bed.sensors | bed.actuators)[name].signals(bed)]
