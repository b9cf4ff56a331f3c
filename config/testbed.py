"""A whole testbed: model, devices, controller, behaviour, safety, simulation, loop, recording and seed."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from granite.config import coordinates
from granite.config.base import NotNegative, Positive, Table, refuse_out_of_plane, refuse_twice
from granite.config.behaviour import Behaviour
from granite.config.contacts import GROUND, Contact
from granite.config.controller import Controller, Gain, Safety
from granite.config.coordinates import Coordinate
from granite.config.devices import Devices
from granite.config.errors import expected_one_of
from granite.config.modules import Module
from granite.config.simulation import Simulation


class Loop(Table):
    """The fixed-rate loop and what it asks of the operating system."""

    period_s: Positive
    duration_s: Positive
    #: after a late tick: drop the missed ones, run them at once, or end the run safely
    overrun: Literal["skip", "catch_up", "stop"] = "skip"
    #: SCHED_FIFO priority, 0 for none
    priority: Annotated[int, Field(ge=0, le=99)] = 80
    cpu: Annotated[int, Field(ge=0)] | None = None
    lock_memory: bool = True
    hold_cpu_awake: bool = True
    freeze_garbage: bool = True
    #: busy-wait this long before each deadline
    spin_s: NotNegative = 0.0

    @model_validator(mode="after")
    def _has_a_tick(self) -> Loop:
        if self.duration_s < self.period_s:
            raise ValueError(f"duration_s = {self.duration_s}: expected at least period_s = {self.period_s}")
        return self


class Recording(Table):
    """The ring between loop and recorder."""

    ring_rows: Annotated[int, Field(ge=16)] = 8192


class Testbed(Table):
    """What a testbed is. The whole of it goes into every log."""

    name: str
    title: str
    #: where it is from, and which of its numbers are ours
    note: str = ""
    seed: Annotated[int, Field(ge=0)]
    loop: Loop
    modules: tuple[Module, ...] = Field(min_length=1)
    contacts: tuple[Contact, ...] = ()
    devices: Devices = Devices()
    #: none: torques over time, or free motion
    controller: Controller | None = None
    behaviour: Behaviour = Behaviour()
    safety: Safety = Safety()
    simulation: Simulation
    recording: Recording = Recording()

    @property
    def robot(self) -> Module:
        """The module that is controlled, if any is."""
        return self.modules[0]

    @property
    def positions(self) -> tuple[Coordinate, ...]:
        """Coordinates of all modules."""
        return coordinates.of_all(self.modules, coordinates.positions)

    @property
    def velocities(self) -> tuple[Coordinate, ...]:
        """Velocities of all modules."""
        return coordinates.of_all(self.modules, coordinates.velocities)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints of all modules, as their coordinates are called."""
        return tuple(c.name for c in coordinates.of_all(self.modules, coordinates.joints))

    @property
    def estimated_positions(self) -> tuple[Coordinate, ...]:
        """Coordinates that the controllers know: the robot's, or none without a controller."""
        return self.positions[: len(coordinates.positions(self.robot))] if self.controller else ()

    @property
    def estimated_velocities(self) -> tuple[Coordinate, ...]:
        """Velocities that the controllers know."""
        return self.velocities[: len(coordinates.velocities(self.robot))] if self.controller else ()

    @property
    def contact_sets(self) -> tuple[tuple[str, ...], ...]:
        """The contacts that are closed one after the other, each set once."""
        every = tuple(contact.name for contact in self.contacts)
        sets = [tuple(name for name in every if name in hold.closed) for hold in self.behaviour.holds]
        return tuple(dict.fromkeys(sets)) or (every,)

    @property
    def control(self) -> Controller:
        """The controller, for those who are only there if it is."""
        assert self.controller is not None
        return self.controller

    @property
    def squeezed(self) -> tuple[str, ...]:
        """Modules that others hold at several places, whose forces may work against each other."""
        sides = [{contact.first.module, contact.second.module} for contact in self.contacts]
        held = [name for both in sides if len(both) > 1 for name in both]
        return tuple(module.name for module in self.modules if held.count(module.name) > 1)

    @property
    def grips(self) -> tuple[str, ...]:
        """The contacts that are closed and opened by command: those that holds name."""
        named = {name for hold in self.behaviour.holds for name in hold.closed}
        return tuple(contact.name for contact in self.contacts if contact.name in named)

    @model_validator(mode="after")
    def _modules_fit_together(self) -> Testbed:
        refuse_twice("modules", "module", [m.name for m in self.modules])
        refuse_twice("contacts", "contact", [c.name for c in self.contacts])
        for module in self.modules:
            if not coordinates.velocities(module):
                key = f"modules.{module.name}.base"
                raise ValueError(f"{key} = 'fixed': nothing of the module can move, expected 'floating' or a joint")
        for module in self.modules[1:]:
            if module.dimension != self.robot.dimension:
                key = f"modules.{module.name}.dimension"
                raise ValueError(f"{key} = '{module.dimension}': expected '{self.robot.dimension}' as of the others")
        return self

    @model_validator(mode="after")
    def _contacts_are_between_known_points(self) -> Testbed:
        points = {m.name: [p.name for p in m.points] for m in self.modules}
        for contact in self.contacts:
            for side, place in (("first", contact.first), ("second", contact.second)):
                key = f"contacts.{contact.name}.{side}"
                if place.grounded:
                    continue
                if place.module not in points:
                    known = expected_one_of(place.module, [*points, GROUND])
                    raise ValueError(f"{key}.module = '{place.module}': no such module, {known}")
                if place.point not in points[place.module]:
                    known = expected_one_of(str(place.point), points[place.module])
                    raise ValueError(f"{key}.point = '{place.point}': no such point, {known}")
        return self

    @model_validator(mode="after")
    def _holds_are_of_known_contacts(self) -> Testbed:
        known = [c.name for c in self.contacts]
        for i, hold in enumerate(self.behaviour.holds):
            refuse_twice(f"behaviour.holds.{i}.closed", "contact", hold.closed)
            for name in hold.closed:
                if name not in known:
                    key = f"behaviour.holds.{i}.closed"
                    raise ValueError(f"{key} names '{name}': no such contact, {expected_one_of(name, known)}")
        return self

    @model_validator(mode="after")
    def _controllers_know_what_they_control(self) -> Testbed:
        if self.controller is None:
            return self
        for body in self.robot.bodies:
            if body.flexible is not None:
                key = f"modules.{self.robot.name}.bodies.{body.name}.flexible"
                raise ValueError(f"{key}: the controllers know rigid bodies only, expected none beside a controller")
        own = self.joints[: len(self.robot.joints)]
        sensors = self.devices.joint_sensors
        for key, joint in (
            *((f"devices.joint_sensors.joints.{i}", name) for i, name in enumerate(sensors.joints if sensors else ())),
            *((f"devices.motors.{i}.joint", motor.joint) for i, motor in enumerate(self.devices.motors)),
        ):
            if joint not in own:
                raise ValueError(f"{key} = '{joint}': not of the controlled module, {expected_one_of(joint, own)}")
        if self.behaviour.torques:
            names = ", ".join(self.behaviour.torques)
            raise ValueError(f"behaviour.torques: given for {names}, expected none beside a controller, which decides")
        for key in ("tracking_error_m", "tracking_error_rad", "joint_sensor_age_s", "vision_age_s"):
            if getattr(self.safety, key) is None:
                raise ValueError(f"safety.{key} is missing, expected a number beside a controller")
        return self

    @model_validator(mode="after")
    def _nothing_is_left_to_a_missing_controller(self) -> Testbed:
        if self.controller is not None:
            return self
        for key, given in (
            ("devices.thrusters", self.devices.thrusters),
            ("behaviour.waypoints", self.behaviour.waypoints),
            ("safety.joints", self.safety.joints),
        ):
            if given:
                raise ValueError(f"controller is missing, expected a table, for {key} needs one")
        driven = [motor.joint for motor in self.devices.motors]
        for joint in self.behaviour.torques:
            if joint not in driven:
                raise ValueError(f"behaviour.torques.{joint}: no motor there, {expected_one_of(joint, driven)}")
        return self

    @model_validator(mode="after")
    def _joints_are_known(self) -> Testbed:
        devices, offsets = self.devices, self.simulation.joint_sensors.offset_rad
        joints = self.joints
        sensed = devices.joint_sensors.joints if devices.joint_sensors else ()
        for key, joint in (
            *((f"devices.joint_sensors.joints.{i}", name) for i, name in enumerate(sensed)),
            *((f"devices.motors.{i}.joint", motor.joint) for i, motor in enumerate(devices.motors)),
            *((f"safety.joints.{i}.joint", limit.joint) for i, limit in enumerate(self.safety.joints)),
            *(("simulation.joint_sensors.offset_rad", name) for name in offsets),
        ):
            if joint not in joints:
                raise ValueError(f"{key} = '{joint}': no such joint, {expected_one_of(joint, joints)}")
        return self

    @model_validator(mode="after")
    def _vision_sees_the_root(self) -> Testbed:
        vision, root = self.devices.vision, self.robot.root.name
        if vision and vision.body != root:
            raise ValueError(f"devices.vision.body = '{vision.body}': expected the root body '{root}'")
        return self

    @model_validator(mode="after")
    def _thrusters_fit(self) -> Testbed:
        thrusters = self.devices.thrusters
        if thrusters is None or self.controller is None:
            return self
        allocation = self.controller.allocation
        if allocation is None:
            raise ValueError("controller.allocation is missing, expected a table where there are thrusters")
        if self.robot.base != "floating":
            key = f"modules.{self.robot.name}.base"
            raise ValueError(f"{key} = '{self.robot.base}': expected 'floating' where there are thrusters")
        if allocation.modulation == "proportional" and not self.simulation.thrusters.ideal:
            raise ValueError(
                "controller.allocation.modulation = 'proportional': expected 'threshold', 'pulse_width' or "
                "'delta_sigma', for only simulation.thrusters.ideal = true can be throttled"
            )
        if self.robot.dimension == "planar":
            for unit in thrusters.units:
                refuse_out_of_plane(f"devices.thrusters.units.{unit.name}.position_m", unit.position_m)
                refuse_out_of_plane(f"devices.thrusters.units.{unit.name}.direction", unit.direction)
        return self

    @model_validator(mode="after")
    def _coordinates_are_known(self) -> Testbed:
        refuse_twice("modules", "coordinate", [c.name for c in self.positions])
        known = [c.key for c in self.estimated_positions]
        for i, waypoint in enumerate(self.behaviour.waypoints):
            _refuse_unknown(f"behaviour.waypoints.{i}.target", waypoint.target, known)
        known = [c.key for c in (*self.positions, *self.velocities)]
        _refuse_unknown("simulation.initial", self.simulation.initial, known)
        return self

    @model_validator(mode="after")
    def _every_coordinate_has_a_gain(self) -> Testbed:
        names = [c.name for c in self.estimated_velocities]
        known = [*names, "base", "joints"]
        for name in self.controller.gains if self.controller else ():
            if name not in known:
                raise ValueError(f"controller.gains.{name}: unknown name, {expected_one_of(name, known)}")
        for name in names:
            self.gain(name)
        return self

    @model_validator(mode="after")
    def _physics_steps_fill_the_period(self) -> Testbed:
        step, period = self.simulation.physics_step_s, self.loop.period_s
        if step > period * (1 + 1e-9):
            raise ValueError(f"simulation.physics_step_s = {step}: expected at most loop.period_s = {period}")
        if step < period * 1e-6:
            raise ValueError(f"simulation.physics_step_s = {step}: expected at least a millionth of the loop's period")
        if abs(math.remainder(period, step)) > 1e-9 * period:
            raise ValueError(
                f"simulation.physics_step_s = {step}: expected a whole number of steps in "
                f"loop.period_s = {period}, for instance {period / math.ceil(period / step):.6g}"
            )
        return self

    def gain(self, coordinate: str) -> Gain:
        """The gain in force for a coordinate: its own, or that of its kind."""
        kind = "joints" if coordinate in self.joints else "base"
        gains = self.controller.gains if self.controller else {}
        if coordinate not in gains and kind not in gains:
            raise ValueError(f"controller.gains: no gain for '{coordinate}', expected it or '{kind}'")
        return gains.get(coordinate) or gains[kind]


def _refuse_unknown(key: str, given: dict[str, float], known: list[str]) -> None:
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{key}.{name} = {value}: no such coordinate, {expected_one_of(name, known)}")
