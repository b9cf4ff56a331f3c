"""Base class of all configuration tables: frozen, no unknown keys, small vector types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from granite.config.errors import InputError


class Table(BaseModel):
    """A configuration table. Unknown keys are refused, never ignored, and nothing changes after loading.

    Types are taken literally: an integer is a number, but neither "50" nor true is. A validator raises `InputError`
    with a key inside its own table; the loader puts the table's own key before it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _lists_become_tuples(cls, content: Any) -> Any:
        # TOML has lists; the schema has tuples, and types are checked literally.
        if not isinstance(content, dict):
            return content
        return {key: _tuples(value) for key, value in content.items()}


def _tuples(value: Any) -> Any:
    """Lists, and lists in them, as tuples; other values as they are."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _planar_or_spatial(value: tuple[float, ...]) -> tuple[float, ...]:
    if len(value) not in (2, 3):
        raise InputError(f"{len(value)} numbers", expected="2 (planar) or 3 (spatial)")
    return value


def _has_direction(value: tuple[float, ...]) -> tuple[float, ...]:
    if math.hypot(*value) < 1e-9:
        raise InputError("a vector of zero length", expected="a direction")
    return value


Vector = Annotated[tuple[float, ...], AfterValidator(_planar_or_spatial)]
Direction = Annotated[Vector, AfterValidator(_has_direction)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
#: of an orientation, a phase or a turn: one turn at most, either way [rad]
Angle = Annotated[float, Field(ge=-math.tau, le=math.tau)]
#: of a device, beyond which it would not be called a delay
Delay = Annotated[float, Field(ge=0, le=10)]
#: frames a second
Rate = Annotated[float, Field(ge=0.1, le=1e5)]
#: largest part by which a positive value is wrong
Spread = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


def spatial(vector: tuple[float, ...]) -> tuple[float, float, float]:
    """The vector with z = 0 added where it is planar."""
    x, y, z = (*vector, 0.0)[:3]
    return x, y, z


def refuse_out_of_plane(key: str, vector: tuple[float, ...]) -> None:
    """Raise where a vector of a planar module has a z: it would be ignored."""
    if spatial(vector)[2] != 0:
        raise InputError(key=key, value=list(vector), expected="z = 0 (or no z) in a planar module")


def refuse_twice(key: str, what: str, names: Sequence[str]) -> None:
    """Raise where a name occurs twice."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"{what} '{name}' occurs twice", key=key, expected="it once")
