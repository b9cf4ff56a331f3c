"""Rate sensors of joints without angles: tachometers, and the speed of a wheel as its controller reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from granite.config.base import Positive, Table
from granite.config.devices.device import repeat_chance
from granite.config.devices.joint_sensors import JointDevice

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class TachometerErrors(Table):
    """`perfect` has no noise and no error of scale."""

    perfect: bool = False  #: the true rates
    #: of the measured rate over the true one
    scale: Positive = 1.0


class Tachometers(JointDevice):
    """Rates alone. The angle of a joint is counted from the start by its rate: nothing may depend on it."""

    has_angles: ClassVar[bool] = False

    #: beyond it a sensor is saturated
    range_rad_s: Positive = 100.0
    #: how the simulated ones differ from this data sheet
    simulated: TachometerErrors = TachometerErrors()

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """By the noise."""
        chance = 1.0 if self.simulated.perfect else repeat_chance(self.rate_noise_rad_s)
        return (chance,) * len(self.joints)

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Its range."""
        return ((-self.range_rad_s, self.range_rad_s),) * len(self.joints)

    def describe(self, bed: Testbed) -> list[str]:
        """Joints, noise, range and filter."""
        return [
            f"{', '.join(self.joints)}: rates, noise {self.rate_noise_rad_s:g} rad/s, +-{self.range_rad_s:g} rad/s, "
            f"rate filter {self.filter_a_rad_s:g}, {self.filter_b_rad_s:g} rad/s"
        ]
