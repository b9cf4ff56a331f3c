"""The granite: slope, waves, steps and heights of the floor, as it is and as measured, and friction of the air pads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from granite.config.base import Angle, NotNegative, Positive, Table
from granite.config.calibration import CalibrationTable
from granite.config.errors import InputError

#: of a point on the floor [m]
Place = tuple[float, float]


class Wave(Table):
    """A sinusoidal wave of the floor; the seed draws its phase."""

    length_m: Positive  #: from crest to crest
    #: amplitude of its slope, as an acceleration
    slope_g: Positive
    #: across its crests, from the x axis; none: the seed draws it
    direction_rad: Angle | None = None


class PlateStep(Table):
    """A straight step between two plates, which a pad crosses over its own width: a smooth ramp of that length."""

    #: on the step, in the middle of the ramp
    position_m: Place
    #: downwards, from the x axis
    direction_rad: Angle = 0.0
    height_m: Positive  #: of the step
    pad_m: Positive = 0.1  #: width of a pad: length of the ramp


class HeightMap(Table):
    """Heights of the floor on a grid, joined by a cubic B-spline, which smooths them; beyond the grid it is level."""

    corner_m: Place = (0.0, 0.0)  #: x and y of the first height
    spacing_m: Positive  #: between heights, along x and y
    #: rows along y of heights along x
    heights_m: Annotated[tuple[tuple[float, ...], ...], Field(min_length=4, max_length=40)]

    @model_validator(mode="after")
    def _is_a_grid(self) -> HeightMap:
        lengths = sorted({len(row) for row in self.heights_m})
        if len(lengths) > 1 or not 4 <= lengths[0] <= 40:
            raise InputError(f"rows of {lengths} heights", key="heights_m", expected="rows of 4 to 40, all alike")
        return self


class MeasuredFloor(Table):
    """Heights of the floor that the controllers know, and feed their slope forward; `granite calibrate table`."""

    #: files that `granite calibrate` wrote, whose values replace those of this table; the log contains them
    calibration: tuple[CalibrationTable, ...] = ()
    #: of the grid, as that of `simulation.table.map`
    corner_m: Place = (0.0, 0.0)
    spacing_m: Positive  #: between heights, along x and y
    #: heights along x in a row
    columns: Annotated[int, Field(ge=4, le=40)]
    #: row after row
    heights_m: Annotated[tuple[float, ...], Field(min_length=16, max_length=1600)]

    @property
    def map(self) -> HeightMap:
        """The same as a grid."""
        rows = [self.heights_m[i : i + self.columns] for i in range(0, len(self.heights_m), self.columns)]
        return HeightMap(corner_m=self.corner_m, spacing_m=self.spacing_m, heights_m=tuple(rows))

    @model_validator(mode="after")
    def _is_a_grid(self) -> MeasuredFloor:
        rows, rest = divmod(len(self.heights_m), self.columns)
        if rest or not 4 <= rows <= 40:
            expected = f"4 to 40 rows of columns = {self.columns}"
            raise InputError(f"{len(self.heights_m)} heights", key="heights_m", expected=expected)
        return self


class Stiction(Table):
    """Pads that touch the floor and stick: bristles as those of joints (`simulation.joint_friction`)."""

    #: static friction by `drag_ratio`; above `drag_speed_m_s` the excess fades out (Stribeck)
    static_ratio: Annotated[float, Field(ge=1)] = 1.5
    presliding_m: Positive = 1e-5  #: motion of a pad from rest until it slides
    presliding_damping_s: NotNegative = 0.02  #: time constant of the damping of that motion


class GraniteTable(Table):
    """The granite: slope as an acceleration, and the drag of the air pads as a part of the weight."""

    ideal: bool = False  #: level and without drag
    tilt_g: NotNegative = 1e-5  #: slope as an acceleration, in g
    #: downhill, from the x axis
    tilt_direction_rad: Angle = 0.0
    waves: Annotated[tuple[Wave, ...], Field(max_length=20)] = ()  #: sinusoidal waves of the floor
    steps: Annotated[tuple[PlateStep, ...], Field(max_length=20)] = ()  #: steps between plates
    #: a measured floor; none: level but for tilt, waves and steps
    map: HeightMap | None = None
    drag_ratio: NotNegative = 1e-4  #: drag as a part of the weight
    drag: Literal["coulomb", "viscous"] = "coulomb"  #: independent of the speed, or proportional to it
    #: coulomb: speed below which the drag fades out; viscous: speed at which it reaches drag_ratio
    drag_speed_m_s: Positive = 1e-3
    #: from the mass centre of a body to its pads, whose drag also resists turning; 0: it does not
    pad_radius_m: NotNegative = 0.0
    #: of pads with Coulomb drag; none: they creep
    stiction: Stiction | None = None

    @model_validator(mode="after")
    def _coulomb_friction_sticks(self) -> GraniteTable:
        if self.stiction is not None and (self.drag != "coulomb" or self.drag_ratio == 0):
            raise InputError("pads do not rub", key="stiction", expected="drag = 'coulomb' and a drag_ratio")
        return self
