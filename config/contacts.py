"""A contact between two points of modules, or between a point and the ground."""

from __future__ import annotations

from pydantic import model_validator

from config.base import Name, Table, Vector

GROUND = "ground"


class Side(Table):
    """A named point of a module, or a place on the ground."""

    module: Name = GROUND
    #: of the module
    point: Name | None = None
    #: on the ground: position, then roll, pitch, yaw (R = Rz Ry Rx)
    position_m: Vector = (0.0, 0.0)
    rotation_rad: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def grounded(self) -> bool:
        """Whether it is a place on the ground."""
        return self.module == GROUND

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Side:
        if self.grounded and self.point is not None:
            raise ValueError(f"point = '{self.point}': the ground has no points, expected position_m or a module")
        if not self.grounded and self.point is None:
            raise ValueError(f"point is missing, expected a point of module '{self.module}'")
        return self


class Contact(Table):
    """P, the second side, is held against E, the first; the modes of the kind are fixed in the axes of E."""

    name: Name
    kind: Name
    first: Side
    second: Side
    #: what the kind asks for, such as the pitch of a screw
    parameters: dict[str, float] = {}  # noqa: RUF012
