"""The simulated lab: where the plant starts, its table, how it differs from the model, and hoses, and timed events."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from granite.config.base import Name, NotNegative, Positive, Spread, Table, Vector
from granite.config.errors import InputError
from granite.config.events import EventTable
from granite.config.floor import GraniteTable


class Hose(Table):
    """Pulls a point of a body to its anchor, in proportion to the distance beyond its slack."""

    #: may be left out where one module floats
    module: Name | None = None
    #: the root body, if left out
    body: Name | None = None
    #: on the body
    position_m: Vector = (0.0, 0.0)
    #: in the lab; none: above the point of the body at the start
    anchor_m: Vector | None = None
    #: largest distance, along x and along y, by which the seed moves the anchor
    anchor_spread_m: NotNegative = 0.0
    stiffness_n_m: NotNegative  #: force for each metre beyond the slack
    #: distance up to which it does not pull
    slack_m: NotNegative = 0.0
    #: drag by the speed of the point [N s/m]
    drag_n_s_m: NotNegative = 0.0
    #: the anchor moves along a circle of this radius, once in a period; the seed draws where it begins
    sway_m: NotNegative = 0.0
    sway_period_s: Positive = 10.0  #: time of one turn

    @model_validator(mode="after")
    def _does_something(self) -> Hose:
        if self.stiffness_n_m == 0 and self.drag_n_s_m == 0:
            raise InputError("it does nothing", key="stiffness_n_m", value=0.0, expected="more than 0, or a drag_n_s_m")
        return self


class JointFriction(Table):
    """How the friction of the joints differs from what their own keys say, which the controllers may know.

    With `sticks`, friction is that of elastic bristles (Dupont, Hayward, Armstrong and Altpeter 2002), which hold a
    joint at rest; without, it fades out towards rest, and a joint creeps.
    """

    #: largest part by which the seed makes the friction of each joint wrong
    spread: Spread = 0.0
    #: largest part by which the seed makes the friction of each joint larger in one direction and smaller in the other
    asymmetry: Spread = 0.0
    sticks: bool = False  #: friction holds a joint at rest
    #: static friction by Coulomb friction; above the joint's friction rate the excess fades out (Stribeck)
    static_ratio: Annotated[float, Field(ge=1)] = 1.0
    #: motion of a joint from rest until it slides, of revolute and of prismatic joints
    presliding_rad: Positive = 1e-3
    presliding_m: Positive = 1e-5  #: the same of prismatic joints
    #: time constant of the damping of that motion: damping by stiffness
    presliding_damping_s: NotNegative = 0.02

    @model_validator(mode="after")
    def _static_friction_sticks(self) -> JointFriction:
        if self.static_ratio > 1 and not self.sticks:
            raise InputError(
                "joints do not stick", key="static_ratio", value=self.static_ratio, expected="sticks = true"
            )
        return self


class ConstraintStabilisation(Table):
    """Against drift of closed contacts by rounding and integration error.

    `projection` projects the state onto the constraints at every step; `baumgarte` adds feedback of the constraint
    errors to the accelerations (Bonaventura 2002, 6.4); `none` leaves the drift.
    """

    method: Literal["projection", "baumgarte", "none"] = "projection"  #: of keeping closed contacts closed
    #: gains of baumgarte: x''_c gets -stiffness gap - damping slip
    stiffness_1_s2: NotNegative = 100.0
    damping_1_s: NotNegative = 20.0  #: gain of baumgarte on the slip

    @field_validator("method", mode="before")
    @classmethod
    def _none_is_a_method(cls, value: object) -> object:
        """On the command line, `none` stands for no value."""
        return "none" if value is None else value


class Collisions(Table):
    """How solid bodies collide with each other and with zones."""

    stiffness_n_m: Positive = 1e5  #: stiffness of the surfaces
    #: speed after a collision by that before it
    restitution: Annotated[float, Field(ge=0.2, le=1)] = 0.5
    friction: NotNegative = 0.2  #: Coulomb friction between the surfaces
    #: collisions are part of the experiment: a run with some ends with exit code 0
    allowed: bool = False


class Simulation(Table):
    """The plant behind the simulated devices."""

    physics_step_s: Positive = 0.001  #: of the integration of the plant
    #: by coordinate key; others start at zero
    initial: dict[str, float] = Field(default_factory=dict)
    #: where the start does not fit the contacts that are closed: move it to the nearest pose that does, or refuse it
    fit_start: bool = False
    constraint_stabilisation: ConstraintStabilisation = ConstraintStabilisation()  #: against drift of closed contacts
    #: record energy, momentum, gaps and condition, and check them against their limits in the summary
    audit: bool = False
    #: of a flexible link, relative to its length: a start beyond it is refused, a run beyond it warns
    largest_deflection: Positive = 0.1
    table: GraniteTable = GraniteTable()  #: slope and drag of the granite
    joint_friction: JointFriction = JointFriction()  #: how the friction of joints differs from their keys
    #: hoses and cables from the lab to a robot
    hoses: Annotated[tuple[Hose, ...], Field(max_length=10)] = ()
    #: differences of the plant from the controllers' model: changes of keys of the testbed, as in a variant
    plant: dict[str, Any] = Field(default_factory=dict)
    collisions: Collisions = Collisions()  #: of solid bodies and zones
    #: timed events
    events: tuple[EventTable, ...] = ()
