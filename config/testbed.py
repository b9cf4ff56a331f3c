"""A whole testbed: model, devices, controller, behaviour, safety, simulation, loop, recording and seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from granite.config.base import Name, Table
from granite.config.behaviour import Behaviour, Hold, OpaqueBehaviour, TorqueProfile
from granite.config.contacts import Contact
from granite.config.controller import Controller, Safety
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.devices.motors import Motor, Motors
from granite.config.devices.thrusters import Thruster, Thrusters
from granite.config.errors import InputError, one_of
from granite.config.events import DropOutEvent, FaultEvent
from granite.config.floor import MeasuredFloor
from granite.config.layout import Layout
from granite.config.loop import LoopTable, Recording
from granite.config.magnitudes import refuse_extremes
from granite.config.modules import Module
from granite.config.operator_channel import OperatorTable
from granite.config.parts import BehaviourPart, DevicePart, OpaquePart, PartTable, find, is_built_in, part, parts_in
from granite.config.records import Array
from granite.config.simulation import Simulation
from granite.config.testbed_checks import GRIPS, refuse_misfits
from granite.config.tuning import TuningTable

Kind = TypeVar("Kind", bound=Device)


class Testbed(Table):
    """The whole configuration of a testbed, recorded in every log."""

    name: str  #: for commands and logs
    title: str  #: one line for lists and plots
    #: purpose: a known platform, an example, or a published system for validation
    use: Literal["platform", "example", "validation"] = "example"
    #: sources of its numbers, and which are ours
    note: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 1  #: of everything random in the simulated lab
    loop: LoopTable  #: period and duration, requests to the operating system
    modules: tuple[Module, ...] = Field(min_length=1, max_length=100)  #: robots, arms and objects
    contacts: tuple[Contact, ...] = ()  #: grips, joints and supports between modules or with the ground
    #: by name; the kind of a device is its name, where none is given
    devices: dict[Name, DevicePart] = Field(default_factory=dict)
    #: none: torques over time, or free motion
    controller: Controller | None = None
    #: as measured; none: the controllers take it to be level
    floor: MeasuredFloor | None = None
    behaviour: BehaviourPart = part("waypoints")  #: what the robot is to do
    safety: Safety = Safety()  #: limits of the guard and its responses
    simulation: Simulation = Field(default_factory=Simulation)  #: the plant behind simulated devices
    recording: Recording = Recording()  #: the ring between loop and recorder
    #: how it is tuned; no part of a run, and so in no log
    tuning: TuningTable | None = Field(default=None, exclude=True)
    operator: OperatorTable = OperatorTable()  #: commands to a run

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values; cached properties are not copied."""
        copied = super().model_copy(update=update, deep=deep)
        for name in vars(copied).keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    # Content

    @cached_property
    def layout(self) -> Layout:
        """Indices of the coordinates of each module among those of all."""
        return Layout(self.modules, len(self.modules) > 1)

    @cached_property
    def known(self) -> Layout:
        """The same for the modules that the controller knows: the controlled ones, then the known objects."""
        return Layout((*self.controlled, *self._objects), len(self.modules) > 1)

    @cached_property
    def controlled(self) -> tuple[Module, ...]:
        """The modules that the controller controls: those it names, or all that have actuators."""
        if self.controller is None:
            return ()
        if self.controller.modules:
            return tuple(self.module(name) for name in self.controller.modules)
        driven = {self.layout.module_of(motor.joint).name for motor in self.motors if motor.joint in self.joints}
        driven |= {thrusters.pushed(self).name for thrusters in self.devices_of(Thrusters).values()}
        return tuple(module for module in self.modules if module.name in driven)

    @cached_property
    def followed(self) -> tuple[Module, ...]:
        """The modules whose coordinates follow the reference; the other modules that the controller knows have none."""
        return tuple(self.module(name) for name in self.controller.law.followed(self)) if self.controller else ()

    @property
    def followed_positions(self) -> tuple[int, ...]:
        """Indices in the known q of the coordinates that follow the reference: of `followed`, without a yaw wheel."""
        wheel = self.controller.allocation.yaw_wheel if self.controller else None
        # Without the code of a user's own motors, the modules that they move are not known.
        parts = [self.known.q[module.name] for module in self.followed if module.name in self.known.q]
        indices = (i for part in parts for i in range(part.start, part.stop))
        free = {wheel.joint} if wheel else set()
        if self.controller:
            free |= self.controller.law.unfollowed(self)
        return tuple(i for i in indices if self.known.positions[i].name not in free)

    @property
    def planar(self) -> bool:
        """Whether everything moves in a plane."""
        return all(module.dimension == "planar" for module in self.modules)

    @property
    def positions(self) -> tuple[Coordinate, ...]:
        """Coordinates of all modules."""
        return self.layout.positions

    @property
    def velocities(self) -> tuple[Coordinate, ...]:
        """Velocities of all modules."""
        return self.layout.velocities

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints of all modules, as their coordinates are called."""
        return self.layout.joints

    @cached_property
    def sensors(self) -> dict[str, Device]:
        """The devices that measure, by name."""
        return {name: d for name, d in self.devices.items() if isinstance(d, Device) and d.role == "sensor"}

    @cached_property
    def actuators(self) -> dict[str, Device]:
        """The devices that act, by name."""
        return {name: d for name, d in self.devices.items() if isinstance(d, Device) and d.role == "actuator"}

    @cached_property
    def direct_actuators(self) -> dict[str, Device]:
        """The actuators that a behaviour commands itself: all but motors and thrusters."""
        return {name: d for name, d in self.actuators.items() if not isinstance(d, Motors | Thrusters)}

    @cached_property
    def motors(self) -> tuple[Motor, ...]:
        """The motors of all devices, in the order of these."""
        return tuple(motor for device in self.devices_of(Motors).values() for motor in device.units)

    @cached_property
    def transmission(self) -> Array | None:
        """Torques of the driven joints per torques of the motors, in their order (`config/joints.py`).

        None where each motor acts on its own joint alone.
        """
        joints = [motor.joint for motor in self.motors]
        T: Array = np.eye(len(joints))
        for module in self.modules:
            if module.transmission is not None:
                own = [joints.index(self.layout.name(module, joint)) for joint in module.transmission.joints]
                T[np.ix_(own, own)] = module.transmission.matrix
        return T if any(module.transmission for module in self.modules) else None

    @cached_property
    def joint_torques(self) -> dict[str, float]:
        """Torque that each driven joint can have whatever the others have, within the limits of the motors [N m]."""
        names, limits = [motor.joint for motor in self.motors], [motor.torque_limit_n_m for motor in self.motors]
        if self.transmission is None:
            return dict(zip(names, limits, strict=True))
        # A motor gives at most its limit while all joints that it acts on have the same torque at once.
        needed: Array = np.abs(np.linalg.inv(self.transmission))
        shares = np.array(limits) / needed.sum(axis=1)
        return {name: float(shares[column > 0].min()) for name, column in zip(names, needed.T, strict=True)}

    @cached_property
    def thrusters(self) -> tuple[Thruster, ...]:
        """The thrusters of all devices, in the order of these."""
        return tuple(unit for device in self.devices_of(Thrusters).values() for unit in device.units)

    @property
    def thruster_names(self) -> tuple[str, ...]:
        """Names of the thrusters, each with that of its device."""
        return tuple(f"{name}_{unit.name}" for name, d in self.devices_of(Thrusters).items() for unit in d.units)

    def devices_of(self, kind: type[Kind]) -> dict[str, Kind]:
        """The devices of a kind, by name."""
        return {name: device for name, device in self.devices.items() if isinstance(device, kind)}

    def module(self, name: str) -> Module:
        """The module of that name."""
        return next(module for module in self.modules if module.name == name)

    def modules_of(self, joints: Iterable[str]) -> tuple[str, ...]:
        """The names of the modules that these joints belong to, each once."""
        return tuple(dict.fromkeys(self.layout.module_of(joint).name for joint in joints))

    def floating_module(self, name: str | None) -> Module:
        """The module of that name, which must float; where none is named, the only one that does."""
        floating = [module.name for module in self.modules if module.base == "floating"]
        if name is None:
            if len(floating) != 1:
                if not floating:
                    raise InputError("no module floats", key="module", expected="one with base = 'floating'")
                several = f"{len(floating)} modules float"
                names = ", ".join(floating)
                raise InputError(several, key="module", expected=f"the name of one ({names})")
            return self.module(floating[0])
        if name not in floating:
            raise InputError("no module of that name floats", key="module", value=name, expected=one_of(name, floating))
        return self.module(name)

    def age_limit(self, sensor: str) -> float:
        """Age beyond which the newest frame of a sensor is stale [s]."""
        return self.safety.age_s.get(sensor, self.sensors[sensor].usual_age_s)

    @property
    def explains_motion(self) -> bool:
        """Whether the controller's model has all forces on its modules: no contact touches them, but for stops.

        A stop is mostly out of reach, and a push against one should be noticed.
        """
        modelled = {module.name for module in self.known.modules}
        held = [contact for contact in self.contacts if not _is_stop(contact)]
        return not any({contact.first.module, contact.second.module} & modelled for contact in held)

    @property
    def control(self) -> Controller:
        """The controller; only where one is configured."""
        assert self.controller is not None
        return self.controller

    @property
    def is_opaque(self) -> bool:
        """Whether it is from a log and has parts whose code is not loaded: it was checked before its run."""
        return any(isinstance(part, OpaquePart | OpaqueBehaviour) for part in parts_in(self))

    @cached_property
    def fingerprint(self) -> str | None:
        """Hash of everything that its compiled functions follow from: no titles, seeds, durations, faults, responses.

        None where a part or a contact kind is a user's own: what its code imports can't be known.
        """
        kinds = [*(part.kind for part in parts_in(self)), *(contact.kind for contact in self.contacts)]
        if not all(map(is_built_in, kinds)):
            return None
        return self._hash(frozenset())

    @property
    def plant_fingerprint(self) -> str | None:
        """The same of everything that the plant's compiled functions follow from: not of the controllers."""
        return self.fingerprint and self._hash(frozenset({"controller", "behaviour", "floor"}))

    def _hash(self, left_out: frozenset[str]) -> str:
        events = tuple(e for e in self.simulation.events if not isinstance(e, FaultEvent | DropOutEvent))
        kept = {"simulation": self.simulation.model_copy(update={"events": events})}
        compiled = self.model_copy(update={**kept, "safety": self.safety.model_copy(update={"responses": {}})})
        never: Any = {"name", "title", "note", "seed", "recording", "loop", "operator"} | left_out
        excluded: dict[str, Any] = dict.fromkeys(never, True)
        # Calibrated responses and gains act outside of compiled functions.
        excluded["devices"] = {"__all__": {"calibration", "response", "torque_gain"}}
        excluded.setdefault("floor", {"calibration"})
        excluded["safety"] = {"monitor": {"calibration"}}
        if "controller" in excluded:
            excluded["safety"] = set(type(self.safety).model_fields) - {"keep_out", "footprint", "keep_apart"}
        elif self.controller is not None:
            excluded["controller"] = {"law": set(self.controller.law.arguments)}
        if "behaviour" not in excluded and isinstance(self.behaviour, PartTable):
            excluded["behaviour"] = set(self.behaviour.arguments)
        content = [compiled.model_dump_json(exclude=excluded), str(self.loop.period_s)]
        return hashlib.sha256("\0".join(content).encode()).hexdigest()

    # Contacts over time

    @property
    def holds(self) -> tuple[Hold, ...]:
        """Which contacts the behaviour closes when."""
        return getattr(self.behaviour, "holds", ())

    @property
    def behaviour_goals(self) -> tuple[Coordinate, ...]:
        """The coordinates that goals may name in a run; none where the behaviour takes no goals."""
        return self.behaviour.goals(self) if self.controller and isinstance(self.behaviour, Behaviour) else ()

    @property
    def behaviour_actions(self) -> tuple[str, ...]:
        """What the behaviour can be asked to do in a run, by name."""
        return self.behaviour.actions(self) if self.controller and isinstance(self.behaviour, Behaviour) else ()

    @property
    def torques(self) -> dict[str, TorqueProfile]:
        """Torques over time, by joint, where there is no controller."""
        return getattr(self.behaviour, "torques", {})

    @property
    def switches(self) -> bool:
        """Whether the behaviour closes and opens contacts."""
        return bool(self.holds or getattr(self.behaviour, "contact_sets", ()))

    @property
    def contact_sets(self) -> tuple[tuple[str, ...], ...]:
        """The contacts that are closed one after the other, each set once."""
        every = tuple(contact.name for contact in self.contacts)
        closed_sets = [hold.closed for hold in self.holds] or list(getattr(self.behaviour, "contact_sets", []))
        sets = [tuple(name for name in every if name in closed) for closed in closed_sets]
        return tuple(dict.fromkeys(sets)) or (every,)

    @property
    def grips(self) -> tuple[str, ...]:
        """The contacts that are closed and opened by command: those that the behaviour names."""
        named = {name for closed in self.contact_sets for name in closed} if self.switches else set()
        return tuple(contact.name for contact in self.contacts if contact.name in named)

    @property
    def squeezed(self) -> tuple[str, ...]:
        """Modules with rigid contacts at several points, which may have an internal force."""
        rigid = [contact for contact in self.contacts if contact.compliance is None]
        sides = [{contact.first.module, contact.second.module} for contact in rigid]
        held = [name for both in sides if len(both) > 1 for name in both]
        return tuple(module.name for module in self.modules if held.count(module.name) > 1)

    def with_changes(self, changes: Mapping[str, Any]) -> Testbed:
        """The testbed with other values, by dotted key; `InputError` where one does not fit."""
        from granite.config.loader import changed  # the loader knows this class

        return changed(self, changes)

    # Checks

    @model_validator(mode="before")
    @classmethod
    def _numbers_are_sensible(cls, content: Any, info: ValidationInfo) -> Any:
        if not (info.context or {}).get("looked_up"):  # a testbed from a log was checked before its run
            refuse_extremes(content)
        return content

    @model_validator(mode="before")
    @classmethod
    def _devices_have_a_kind(cls, content: Any) -> Any:
        """The kind of a device is its name, where none is given; grips are added where contacts are switched."""
        if not isinstance(content, dict) or not isinstance(content.get("devices", {}), dict):
            return content
        devices = {
            name: {"kind": name, **table} if isinstance(table, dict) else table
            for name, table in content.get("devices", {}).items()
            if table is not None  # removed by an override
        }
        behaviour = content.get("behaviour")
        switched = [
            behaviour.get(key) if isinstance(behaviour, dict) else getattr(behaviour, key, None)
            for key in ("holds", "contact_sets")
        ]
        if any(switched) and GRIPS not in devices:
            devices[GRIPS] = {"kind": GRIPS}
        return {**content, "devices": devices}

    @model_validator(mode="after")
    def _parts_fit(self, info: ValidationInfo) -> Testbed:
        refuse_misfits(self, looked_up=bool((info.context or {}).get("looked_up")))
        return self

    @property
    def _objects(self) -> tuple[Module, ...]:
        return tuple(self.module(name) for name in self.controller.objects) if self.controller else ()


def _is_stop(contact: Contact) -> bool:
    return is_built_in(contact.kind) and bool(find("contact", contact.kind).one_sided)
