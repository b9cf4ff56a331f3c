"""Physically possible mass and inertia of a rigid body."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from granite.config.errors import InputError
from granite.config.rotations import Array

#: ixx, iyy, izz, ixy, ixz, iyz
SpatialInertia = tuple[float, float, float, float, float, float]
#: radius of gyration below which a moment of inertia is numerical noise [m]
NOISE_M = 1e-6
#: tolerance of the triangle inequality for rounded digits, relative to the largest moment
ROUNDED = 0.01


def _one_number_or_six(value: object, check: ValidatorFunctionWrapHandler) -> float | SpatialInertia:
    try:
        inertia: float | SpatialInertia = check(value)
    except ValidationError:
        raise InputError(expected="a number, or in a spatial module ixx, iyy, izz, ixy, ixz, iyz") from None
    return inertia


Inertia = Annotated[float | SpatialInertia, WrapValidator(_one_number_or_six)]


def tensor_of(inertia: float | SpatialInertia) -> Array:
    """The inertia tensor [kg m^2]; of a planar body, izz alone."""
    xx, yy, zz, xy, xz, yz = (0.0, 0.0, inertia, 0.0, 0.0, 0.0) if isinstance(inertia, float) else inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def noise(mass: float) -> float:
    """Moments of inertia of this mass up to this value are numerical noise [kg m^2]."""
    return mass * NOISE_M**2


def fault_of(mass: float, inertia: float | SpatialInertia) -> InputError | None:
    """Why no body has this inertia; None if one can. A point mass and a rod have moments of zero."""
    if isinstance(inertia, float):
        return InputError(expected="a number of at least 0") if inertia < 0 else None
    least, middle, greatest = np.linalg.eigvalsh(tensor_of(inertia))
    moments = f"no body has the principal moments {least:.6g}, {middle:.6g} and {greatest:.6g}"
    if least < -max(1e-9 * abs(greatest), noise(mass)):
        return InputError(moments, expected="none below 0")
    # The integral of x^2 over the mass is (Iyy + Izz - Ixx) / 2, and no real body has a negative one.
    if least + middle < greatest * (1 - ROUNDED) - noise(mass):
        return InputError(moments, expected="none greater than the sum of the other two")
    return None
