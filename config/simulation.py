"""The simulated lab: where the plant starts, its table, how it differs from the model, and timed events."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from granite.config.base import Angle, NotNegative, Positive, Table
from granite.config.events import EventTable


class GraniteTable(Table):
    """The granite: slope as an acceleration, and the drag of the air pads as a part of the weight."""

    ideal: bool = False
    tilt_g: NotNegative = 1e-5
    #: downhill, from the x axis
    tilt_direction_rad: Angle = 0.0
    drag_ratio: NotNegative = 1e-4
    drag: Literal["coulomb", "viscous"] = "coulomb"
    #: coulomb: speed below which the drag fades out; viscous: speed at which it reaches drag_ratio
    drag_speed_m_s: Positive = 1e-3
    #: from the mass centre of a body to its pads, whose drag also resists turning; 0: it does not
    pad_radius_m: NotNegative = 0.0


class ConstraintStabilisation(Table):
    """Against drift of closed contacts by rounding and integration error.

    `projection` projects the state onto the constraints at every step; `baumgarte` adds feedback of the constraint
    errors to the accelerations (Bonaventura 2002, 6.4); `none` leaves the drift.
    """

    method: Literal["projection", "baumgarte", "none"] = "projection"
    #: gains of baumgarte: x''_c gets -stiffness gap - damping slip
    stiffness_1_s2: NotNegative = 100.0
    damping_1_s: NotNegative = 20.0

    @field_validator("method", mode="before")
    @classmethod
    def _none_is_a_method(cls, value: object) -> object:
        """On the command line, `none` stands for no value."""
        return "none" if value is None else value


class Simulation(Table):
    """The plant behind the simulated devices."""

    physics_step_s: Positive = 0.001
    #: by coordinate key; others start at zero
    initial: dict[str, float] = Field(default_factory=dict)
    #: where the start does not fit the contacts that are closed: move it to the nearest pose that does, or refuse it
    fit_start: bool = False
    constraint_stabilisation: ConstraintStabilisation = ConstraintStabilisation()
    #: record energy, momentum, gaps and condition, and check them against their limits in the summary
    audit: bool = False
    #: of a flexible link, relative to its length: a start beyond it is refused, a run beyond it warns
    largest_deflection: Positive = 0.1
    table: GraniteTable = GraniteTable()
    #: differences of the plant from the controllers' model: changes of keys of the testbed, as in a variant
    plant: dict[str, Any] = Field(default_factory=dict)
    #: timed events
    events: tuple[EventTable, ...] = ()
