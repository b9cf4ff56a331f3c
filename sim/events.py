"""Timed events of a simulated run: forces on bodies, payloads, and faults of devices.

An event takes effect at the first tick that is not before its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from granite.config.base import refuse_out_of_plane, spatial
from granite.config.errors import InputError, one_of
from granite.config.events import (
    ACTUATOR_FAULTS,
    SENSOR_FAULTS,
    UNIT_FAULTS,
    DropOutEvent,
    FaultEvent,
    PayloadEvent,
    PushEvent,
)
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.contract import Actuator, Sensor
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.forces import PUSH, module_of_body, pushed_bodies
from granite.sim.payload import with_payload
from granite.sim.plant import Plant


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

    def on(self, name: str, device: Any) -> Any:
        """The device with the faults of its timed events."""
        faults = self._faults.get(name, [])
        if not faults:
            return device
        if name in self._bed.sensors:
            signals = [c.key for c in self._bed.sensors[name].signals(self._bed)]
            return FaultySensor(device, faults, signals)
        return FaultyActuator(device, faults)

    def push(self, body: str, force_n: Sequence[float], moment_n_m: float) -> None:
        """Apply a wrench to a body, in addition to the events."""
        names = [name for _, name in self._bodies]
        if body not in names:
            raise InputError("not pushable", key="push", value=body, expected=one_of(body, names))
        i = names.index(body)
        self._by_hand = np.zeros(len(self._plant.pushes))
        self._by_hand[PUSH * i : PUSH * (i + 1)] = (*spatial(tuple(force_n)), moment_n_m)

    def happen(self, t: float) -> None:
        """Apply the events of time t to the plant."""
        if self._pushes:
            pushes = self._by_hand.copy()
            for event in self._pushes:
                if event.at_s - SAME_TIME_S <= t < event.at_s + event.duration_s - SAME_TIME_S:
                    i = self._bodies.index((module_of_body(self._bed, event), event.body))
                    pushes[PUSH * i : PUSH * (i + 1)] += (*spatial(event.force_n), event.moment_n_m)
            self._plant.pushes = pushes
        while self._payloads and self._payloads[0][0] <= t + SAME_TIME_S:
            self._plant.change(self._payloads.pop(0)[1])


def _in_force(faults: list[FaultEvent], t: float) -> Iterator[FaultEvent]:
    for fault in faults:
        ends = np.inf if fault.duration_s is None else fault.at_s + fault.duration_s
        if fault.at_s - SAME_TIME_S <= t < ends - SAME_TIME_S:
            yield fault


class FaultySensor:
    """A sensor with faults at given times."""

    def __init__(self, sensor: Sensor, faults: list[FaultEvent], signals: list[str]) -> None:
        self._sensor, self._faults, self._signals = sensor, faults, signals
        self.open, self.close = sensor.open, sensor.close
        self._last: Frame | None = None

    def read(self, t: float) -> Frame:
        """The frame of the sensor, changed by the current faults."""
        frame = self._sensor.read(t)
        for fault in _in_force(self._faults, t):
            if fault.what == "silent":
                return (self._last or no_frame(len(frame.values)))._replace(status=Status.SILENT)
            if fault.what == "frozen":
                self._last = self._last or frame
                return frame._replace(values=self._last.values)
            if fault.what == "not_finite":
                frame = frame._replace(values=np.full(len(frame.values), np.nan))
            elif fault.what == "offset":
                values = frame.values.copy()
                values[self._signals.index(str(fault.unit))] += fault.value
                frame = frame._replace(values=values)
        self._last = frame
        return frame


class FaultyActuator:
    """An actuator with faults at given times."""

    def __init__(self, actuator: Actuator, faults: list[FaultEvent]) -> None:
        self._actuator, self._faults = actuator, faults
        self.open, self.close = actuator.open, actuator.close
        self._set_faults: Any = getattr(actuator, "set_faults", None)
        self._units: set[tuple[str, str]] = set()
        self._last: Frame | None = None

    def write(self, t: float, setpoint: Array) -> Frame:
        """Write as far as the current faults allow."""
        faults = list(_in_force(self._faults, t))
        units: set[tuple[str, str]] = {(str(fault.unit), fault.what) for fault in faults if fault.what in UNIT_FAULTS}
        if units != self._units:
            self._units = units
            self._set_faults(*([unit for unit, what in units if what == kind] for kind in UNIT_FAULTS))
        number, whole = self._last.number if self._last else 0, [fault.what for fault in faults]
        if "silent" in whole:
            return self._silent(len(setpoint))
        if "refuses" in whole:
            self._actuator.stop(t)
            frame = Frame(t, 0, Status.REFUSED, np.zeros(len(setpoint)))
        else:
            frame = self._actuator.write(t, setpoint)
        self._last = frame._replace(number=number + 1)
        return self._last

    def stop(self, t: float) -> Frame:
        """Stop; a silent one obeys, but does not confirm it."""
        frame = self._actuator.stop(t)
        is_silent = any(fault.what == "silent" for fault in _in_force(self._faults, t))
        return self._silent(len(frame.values)) if is_silent else frame

    def _silent(self, n: int) -> Frame:
        """The last frame again."""
        return (self._last or Frame(0.0, 0, Status.NO_FRAME, np.zeros(n)))._replace(status=Status.SILENT)


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
    units = [unit.name for unit in getattr(device, "units", ()) if hasattr(unit, "name")]
    possible = SENSOR_FAULTS if is_sensor else (*ACTUATOR_FAULTS, *(UNIT_FAULTS if units else ()))
    if fault.what not in possible:
        known = one_of(fault.what, possible)
        raise InputError(f"not of '{event.device}'", key=f"{key}.what", value=fault.what, expected=known)
    if fault.unit is not None:
        signals = [c.key for c in bed.sensors[event.device].signals(bed)] if is_sensor else units
        if fault.unit not in signals:
            raise InputError("no such unit", key=f"{key}.unit", value=fault.unit, expected=one_of(fault.unit, signals))
    return fault
