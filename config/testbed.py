"""A whole testbed: model, devices, controller, behaviour, safety, simulation, loop, recording and seed."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from config import coordinates
from config.base import NotNegative, Positive, Table, refuse_out_of_plane, refuse_twice
from config.controller import Behaviour, Controller, Gain, Safety
from config.devices import Devices
from config.errors import expected_one_of
from config.modules import Module
from config.simulation import Simulation


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
    seed: Annotated[int, Field(ge=0)]
    loop: Loop
    modules: tuple[Module, ...] = Field(min_length=1)
    devices: Devices
    controller: Controller
    behaviour: Behaviour = Behaviour()
    safety: Safety
    simulation: Simulation
    recording: Recording = Recording()

    @property
    def robot(self) -> Module:
        """The module that is controlled."""
        return self.modules[0]

    @model_validator(mode="after")
    def _has_one_module(self) -> Testbed:
        if len(self.modules) > 1:
            names = ", ".join(m.name for m in self.modules)
            raise ValueError(f"modules: {names} given, expected one, for contacts are not there yet")
        return self

    @model_validator(mode="after")
    def _is_rigid(self) -> Testbed:
        for body in self.robot.bodies:
            if body.flexible is not None:
                key = f"modules.{self.robot.name}.bodies.{body.name}.flexible"
                raise ValueError(f"{key}: the controllers know rigid bodies only, expected none in a testbed")
        return self

    @model_validator(mode="after")
    def _joints_are_known(self) -> Testbed:
        devices, offsets = self.devices, self.simulation.joint_sensors.offset_rad
        joints = [j.name for j in self.robot.joints]
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
        thrusters, allocation = self.devices.thrusters, self.controller.allocation
        if thrusters is None:
            return self
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
        keys = [c.key for c in coordinates.positions(self.robot)]
        rates = [c.key for c in coordinates.velocities(self.robot)]
        refuse_twice("modules", "coordinate", [c.name for c in coordinates.positions(self.robot)])
        for i, waypoint in enumerate(self.behaviour.waypoints):
            _refuse_unknown(f"behaviour.waypoints.{i}.target", waypoint.target, keys)
        _refuse_unknown("simulation.initial", self.simulation.initial, keys + rates)
        return self

    @model_validator(mode="after")
    def _every_coordinate_has_a_gain(self) -> Testbed:
        names = [c.name for c in coordinates.velocities(self.robot)]
        known = [*names, "base", "joints"]
        for name in self.controller.gains:
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
        kind = "joints" if coordinate in {j.name for j in self.robot.joints} else "base"
        gains = self.controller.gains
        if coordinate not in gains and kind not in gains:
            raise ValueError(f"controller.gains: no gain for '{coordinate}', expected it or '{kind}'")
        return gains.get(coordinate) or gains[kind]


def _refuse_unknown(key: str, given: dict[str, float], known: list[str]) -> None:
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{key}.{name} = {value}: no such coordinate, {expected_one_of(name, known)}")
