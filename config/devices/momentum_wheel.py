"""Momentum wheels: rotors on joints of their own, which a motor drives up to a highest rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from granite.config.base import Positive
from granite.config.devices.motors import Motor, Motors

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Wheel(Motor):
    """The motor of a wheel; at `rate_limit_rad_s` it has no torque left to drive it faster."""

    rate_limit_rad_s: Positive  #: largest rate relative to the vehicle


class MomentumWheels(Motors):
    """Wheels that are commanded together; their set points are torques, and they can brake at any rate."""

    units: tuple[Wheel, ...] = Field(min_length=1)  #: the wheels, in the order of the commands

    def describe(self, bed: Testbed) -> list[str]:
        """The limits of each."""
        return [
            f"{wheel.joint}: up to {wheel.torque_limit_n_m:g} N m, {wheel.rate_limit_rad_s:g} rad/s"
            for wheel in self.units
        ]


def rate_limits(bed: Testbed) -> dict[int, float]:
    """The highest rate [rad/s] of each motor that has one, by its index in `bed.motors`."""
    return {i: motor.rate_limit_rad_s for i, motor in enumerate(bed.motors) if isinstance(motor, Wheel)}
