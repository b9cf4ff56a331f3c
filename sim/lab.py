"""The simulated lab: the plant, its simulated devices, and timed events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from importlib import import_module
from typing import Any

import numpy as np

from granite.config.devices.device import Device
from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.footprints import plant_pairs
from granite.config.loader import plant_of
from granite.config.parts import own_code
from granite.config.records import NOTHING, Array, Truth
from granite.config.testbed import Testbed
from granite.drivers.checked import checked
from granite.kernels.compiled_form import CompiledForm
from granite.mrds.contacts.possible import Redundancy, redundancy
from granite.mrds.kinematics import Kinematics
from granite.mrds.sensor_models import measurement_of
from granite.sim import KINDS
from granite.sim.benches.held_plant import HeldPlant
from granite.sim.devices.measured import SimulatedMeasurement
from granite.sim.devices.motors import SimulatedMotors
from granite.sim.devices.sampled_sensor import SampledSensor
from granite.sim.events import TimedEvents
from granite.sim.mirror import MirroredActuator, watchdog_of
from granite.sim.plant.audit import Audit
from granite.sim.plant.plant import Plant


class Lab:
    """A plant, which may differ from the controllers' model, and the simulated devices on it.

    The first device that is called at time t advances the plant to t.

    Parameters
    ----------
    bed
        The testbed.
    real
        Actuators that are real beside the simulated devices: `mirrored` lets them move the plant.
    """

    def __init__(self, bed: Testbed, real: Collection[str] = ()) -> None:
        self._bed = without_shortest_pulse(plant_of(bed), real)
        self.plant = Plant(self._bed)
        self._audit = Audit(self._bed, self.plant) if bed.simulation.audit else None
        self._tells_more = bool(bed.contacts) or self._audit is not None
        self._collides = bool(plant_pairs(self._bed))
        self.events = TimedEvents(self._bed, self.plant)
        #: real actuators move it: it follows what they report, and can't be moved ahead of them
        self.is_driven = bool(real)
        #: other loops act on it too, so that none of them advances it
        self.is_shared = False
        #: thrusters, and devices of thrusters, in the truth
        self._shown: tuple[list[int] | slice, list[int] | slice] = slice(None), slice(None)
        if real:
            self.plant.pulls.append(lambda t: self.events.happen(self.plant.t))

    def seen_by(self, bed: Testbed) -> Lab:
        """This lab as one of several loops on it sees it: with the truth of the loop's own thrusters."""
        one, devices = copy(self), self._bed.devices_of(Thrusters)
        units = [name for name, device in devices.items() for _ in device.units]
        own = ([i for i, name in enumerate(names) if name in bed.devices] for names in (units, devices))
        one.is_shared, one._shown = True, (next(own), next(own))
        return one

    def device(self, name: str) -> Any:
        """The simulated device of that name.

        Raises
        ------
        InputError
            Where its kind has no simulation.
        """
        return self.events.on(name, simulated_device(self._bed, name, self.plant))

    def mirrored(self, name: str, actuator: Any) -> MirroredActuator:
        """A real actuator of that name that moves the plant by what it reports."""
        twin = simulated_device(self._bed, name, self.plant)
        mirror = MirroredActuator(actuator, twin, watchdog_of(self._bed, name), lambda: self.plant.t)
        self.plant.pulls.append(mirror.report)
        return mirror

    def held_sensor(self, name: str) -> Any:
        """The simulated sensor of that name on the plant as it is now: held there, without timed events."""
        return simulated_device(self._bed, name, HeldPlant(self.plant))

    def random_numbers(self, name: str, seed: int) -> np.random.Generator:
        """The stream of a device."""
        return _random_numbers(self._bed, name, seed)

    def drawn_constants(self) -> dict[str, tuple[float, str]]:
        """What the seed draws for a whole run, by device and signal: offsets of sensors with units, gains of motors."""
        constants: dict[str, tuple[float, str]] = {}
        for name, sensor in self._bed.sensors.items():
            device = simulated_device(self._bed, name, self.plant)
            if isinstance(device, SampledSensor):
                signals = zip(sensor.signals(self._bed), device.offset.tolist(), strict=True)
                constants |= {f"{name} {signal.name}": (offset, signal.unit) for signal, offset in signals if offset}
        for name, motors in self._bed.devices_of(Motors).items():
            device = simulated_device(self._bed, name, self.plant)
            if isinstance(device, SimulatedMotors) and motors.simulated.gain_error:
                gains = zip(motors.units, device.own_gain.tolist(), strict=True)
                constants |= {f"{name} {motor.joint} gain": (gain, "") for motor, gain in gains}
        return constants

    def compiled_forms(self) -> list[CompiledForm]:
        """Plant and audit in C, at the start."""
        kernel = self._audit.kernel if self._audit else None
        audit = CompiledForm((), {"PLANT_IS_AUDITED": int(kernel is not None)}, kernels={"plant_audit": [kernel]})
        return [audit, self.plant.compiled_form()]

    def push(self, body: str, force_n: Sequence[float], moment_n_m: float = 0.0) -> None:
        """Apply a wrench until the next call with this body.

        It is a force at the mass centre in world axes [N], and a moment about z [N m].

        Raises
        ------
        InputError
            Where no timed event names the body: its force is not compiled into the plant.
        """
        self.events.push(body, force_n, moment_n_m)

    def advance(self, t: float) -> None:
        """Advance the plant to time t."""
        self.events.happen(self.plant.t)
        self.plant.advance(t)

    def truth(self, t: float) -> Truth:
        """True state of the plant at time t."""
        plant = self.plant
        plant.advance(t)  # if no device has advanced it yet
        loads = self._contacts() if self._tells_more else ()
        (q, u, thrust, left), (units, tanks) = plant.snapshot(), self._shown
        truth = Truth(plant.t, q, u, thrust[units], left[tanks], *loads)
        return truth._replace(struck=plant.struck) if self._collides else truth

    def redundant(self) -> list[Redundancy]:
        """Redundant contacts so far: their forces were not unique, and those of least norm were used."""
        held = (redundancy(contacts, q) for contacts, q in self.plant.dependent.values())
        # A start at full extension needs the dense solution, too, but its forces are unique.
        return [one for one in held if one.redundant]

    def _contacts(self) -> tuple[Array, ...]:
        """The part of the truth that only testbeds with contacts or an audit have."""
        contacts = self.plant.contacts
        loads = self.plant.contact_loads()
        audit = self._audit.values(loads) if self._audit else NOTHING
        if contacts is None:
            return (NOTHING,) * 5 + (audit,)
        return contacts.closed, loads.wrench, loads.squeeze, contacts.caught.copy(), np.array([contacts.lost]), audit


def without_shortest_pulse(bed: Testbed, names: Collection[str]) -> Testbed:
    """The testbed with boards that keep the shortest pulse of these thrusters; dead time and rise are the valves'."""
    devices: dict[str, Any] = dict(bed.devices)
    for name, table in bed.devices_of(Thrusters).items():
        if name in names:
            devices[name] = table.model_copy(update={"valve": table.valve.model_copy(update={"minimum_on_s": 0.0})})
    return bed.model_copy(update={"devices": devices}) if names else bed


def simulated_device(bed: Testbed, name: str, plant: Any) -> Any:
    """The simulated device of that name on a plant; `bed` is the plant's own.

    Raises
    ------
    InputError
        Where its kind has no simulation.
    """
    table = bed.devices[name]
    assert isinstance(table, Device)
    rng = _random_numbers(bed, name, bed.seed)
    if hasattr(table, "simulate"):
        with own_code(table.kind):
            device = table.simulate(plant, rng)
        return checked(device, name, bed)
    if table.kind not in KINDS:
        motion = Kinematics(bed, bed.layout)
        try:
            measurement = measurement_of(table, bed, motion)
        except InputError as error:
            raise error.within(f"devices.{name}") from error
        if measurement is not None:
            return SimulatedMeasurement(table, measurement, motion, plant, rng)
        expected = "a method `simulate`, or of a sensor `measurement`"
        raise InputError("it has no simulation", key=f"devices.{name}.kind", value=table.kind, expected=expected)
    module, _, simulated = KINDS[table.kind].partition(":")
    return getattr(import_module(f"granite.sim.{module}"), simulated)(table, plant, rng)


def _random_numbers(bed: Testbed, name: str, seed: int) -> np.random.Generator:
    """The stream of a device: one each, so that none changes the draws of another."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(list(bed.devices).index(name),)))
