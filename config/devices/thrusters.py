"""Cold-gas thrusters with on/off valves, on the root body of a module that floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from granite.config.base import (
    Delay,
    Direction,
    Name,
    Positive,
    Spread,
    Table,
    Vector,
    refuse_out_of_plane,
    refuse_twice,
)
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.errors import InputError, one_of
from granite.config.modules import Module

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: most commands on their way to a valve: the response is compiled for all of them
_PENDING = 100


class Valve(Table):
    """Response of the valves: dead time, linear rise and fall, and the minimum pulse."""

    delay_s: Delay = 0.004  #: dead time from command to thrust
    rise_s: Delay = 0.003  #: time of the linear rise, and of the fall
    minimum_on_s: Delay = 0.01  #: shortest pulse


class Thruster(Table):
    """A cold-gas nozzle: `direction` is the force on the body, not the jet."""

    # In a file the thrust may be left out where the device has one for all.
    model_config = ConfigDict(json_schema_extra={"required": ["name", "position_m", "direction"]})

    name: Name  #: of the thruster
    position_m: Vector  #: of the nozzle on the root body
    direction: Direction  #: of the force on the body, not of the jet
    thrust_n: Positive  #: nominal thrust with a full supply; default: that of the device
    #: no thrust, and the controller knows it
    failed: bool = False


class Plume(Table):
    """Jets that push other bodies and the arms of the robot itself."""

    #: part of the thrust that pushes a body in front of the nozzle
    strength: Annotated[float, Field(gt=0, le=1)]
    #: angle from the axis of the jet at which the push has fallen to 1/e
    spread_rad: Annotated[float, Field(gt=0, le=1.5)] = 0.3
    #: distance at which it has fallen to half
    length_m: Positive = 0.5


class ThrusterErrors(Table):
    """`ideal` delivers any thrust between zero and nominal, without delay, limit of the tank or other errors."""

    ideal: bool = False  #: any thrust from zero to nominal, without delay, tank or other errors
    #: impulse in the full tank [N s]; thrust is proportional to the rest. None: constant pressure.
    tank_n_s: Positive | None = None
    #: part of the tank below which the pressure is less than that of the regulator, which keeps thrust constant above
    #: it; 1: no regulator (blow-down)
    regulated_ratio: Annotated[float, Field(gt=0, le=1)] = 1.0
    #: part of the thrust that every further open valve takes from all, because they share one supply
    shared_drop: Spread = 0.0
    #: error of the direction of each nozzle, one sigma, about z and, in space, across it; the seed draws it
    misalignment_rad: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    #: largest part by which the seed makes the thrust of each nozzle wrong
    thrust_error: Spread = 0.0
    #: largest part by which the thrust differs from pulse to pulse
    pulse_scatter: Spread = 0.0
    #: none: jets strike nothing
    plume: Plume | None = None
    #: thrusters whose valves stay open whatever is commanded; the controllers do not know it
    stuck_open: tuple[Name, ...] = ()


class Thrusters(Device):
    """Thrusters that share one kind of valve; their set points are valve openings, 0 closed and 1 open."""

    role: ClassVar[Literal["sensor", "actuator"]] = "actuator"

    #: may be left out where one module floats
    module: Name | None = None
    valve: Valve = Valve()  #: response of the valves
    specific_impulse_s: Positive = 60.0  #: for the propellant that a run needs
    #: of the units without their own
    thrust_n: Positive | None = None
    #: part of the thrust that every further open valve takes from all, because they share one supply, as far as the
    #: controllers know it
    shared_drop: Spread = 0.0
    units: tuple[Thruster, ...] = Field(min_length=1)  #: the thrusters, in the order of the commands
    #: how the simulated ones differ from this data sheet
    simulated: ThrusterErrors = ThrusterErrors()

    @model_validator(mode="before")
    @classmethod
    def _units_have_a_thrust(cls, content: Any) -> Any:
        """Copy the common thrust to the units."""
        common = content.get("thrust_n") if isinstance(content, dict) else None
        units = content.get("units") if isinstance(content, dict) else None
        if common is None or not isinstance(units, list | tuple) or not all(isinstance(unit, dict) for unit in units):
            return content
        # A calibration may give one to every unit beside the common one of the file.
        if units and all("thrust_n" in unit for unit in units) and not content.get("calibration"):
            raise InputError(key="thrust_n", value=common, expected="none, because every unit has its own")
        return {**content, "thrust_n": None, "units": [{"thrust_n": common, **unit} for unit in units]}

    @model_validator(mode="after")
    def _names_differ(self) -> Thrusters:
        refuse_twice("units", "thruster", [unit.name for unit in self.units])
        return self

    def pushed(self, bed: Testbed) -> Module:
        """The module on whose root body they are mounted."""
        return bed.floating_module(self.module)

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The opening of each."""
        return tuple(Coordinate(f"{unit.name}_opening", "1") for unit in self.units)

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """The one that they push."""
        return (self.pushed(bed).name,)

    def bounds(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """From closed to open."""
        return ((0.0, 1.0),) * len(self.units)

    def check(self, bed: Testbed) -> None:
        """They are mounted on a floating module, act in its plane if it is planar, and open within some ticks."""
        if self.valve.delay_s > _PENDING * bed.loop.period_s:
            expected = f"at most {_PENDING} times loop.period_s = {bed.loop.period_s}"
            raise InputError(key="valve.delay_s", value=self.valve.delay_s, expected=expected)
        names = [unit.name for unit in self.units]
        for i, name in enumerate(self.simulated.stuck_open):
            if name not in names:
                expected = one_of(name, names)
                raise InputError("no such thruster", key=f"simulated.stuck_open.{i}", value=name, expected=expected)
        if self.pushed(bed).dimension == "planar":
            for unit in self.units:
                refuse_out_of_plane(f"units.{unit.name}.position_m", unit.position_m)
                refuse_out_of_plane(f"units.{unit.name}.direction", unit.direction)

    def describe(self, bed: Testbed) -> list[str]:
        """Valves, then each thruster."""
        times = self.valve.delay_s, self.valve.rise_s, self.valve.minimum_on_s
        delay, rise, shortest = (f"{x * 1e3:g} ms" for x in times)
        lines = [f"valves: delay {delay}, rise {rise}, shortest pulse {shortest}"]
        for unit in self.units:
            along, at = (f"[{', '.join(f'{x:g}' for x in vector)}]" for vector in (unit.direction, unit.position_m))
            failed = ", FAILED" if unit.failed else ""
            lines.append(f"{unit.name}: {unit.thrust_n:g} N along {along} at {at} m{failed}")
        return lines
