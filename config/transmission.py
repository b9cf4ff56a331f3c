"""Transmissions: motors whose torques act on several joints of a module, as by cables and pulleys.

    torques of the joints = T (torques of the motors)        rates of the motors = T^T (rates of the joints)

by virtual work. A motor bears the name of the joint that would be its own without the transmission.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from granite.config.base import Name, Table, refuse_twice, tuples_of_lists
from granite.config.errors import InputError

#: largest condition number of a matrix that counts as regular
_SINGULAR = 1e9


class Transmission(Table):
    """Between the motors and the joints of a module."""

    #: joints whose motors it connects, in the order of its rows (joints) and columns (motors)
    joints: tuple[Name, ...] = Field(min_length=1)
    #: torque at each joint for a torque of each motor
    matrix: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(tuples_of_lists)]

    @model_validator(mode="after")
    def _can_be_inverted(self) -> Transmission:
        refuse_twice("joints", "joint", self.joints)
        n, shape = len(self.joints), [len(row) for row in self.matrix]
        if shape != [n] * n:
            expected = f"{n} rows of {n} numbers, one for each of joints"
            raise InputError(key="matrix", value=self.matrix, expected=expected)
        if not np.isfinite(self.matrix).all() or np.linalg.cond(np.array(self.matrix)) > _SINGULAR:
            raise InputError("it is singular", key="matrix", value=self.matrix, expected="rows that are independent")
        return self
