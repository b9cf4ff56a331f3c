"""Base class of all kinds of devices: its table is the data sheet, its signals have names and units."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from granite.config.calibration import CalibrationTable
from granite.config.coordinates import Coordinate
from granite.config.measurement import Measurement
from granite.config.parts import DriverPart, PartTable, RecordedLimit
from granite.config.records import Array

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class Agreement(NamedTuple):
    """A signal of a sensor that must agree, less its estimated bias, with the estimate of a velocity."""

    signal: str
    coordinate: str  #: of the velocity
    most: float  #: mean difference
    most_bias: float  #: a larger estimate of the bias is part of the difference


class Device(PartTable):
    """The data sheet of a device, as the controller knows it.

    A kind is a subclass. A user's own kind may have its own simulation: a method `simulate(plant, rng)` that returns
    a driver, as the classes of `granite.sim` do for the kinds that come with Granite. A sensor with a model
    (`measurement`) needs none.
    """

    role: ClassVar[Literal["sensor", "actuator"]]
    #: sensors: the age of a frame beyond which it is stale, where the testbed gives none [s]
    usual_age_s: ClassVar[float] = 0.5
    #: actuators: a set point out of bounds is clamped; else it ends the run
    clamps: ClassVar[bool] = False
    #: actuators: only the bounds themselves are set points
    binary: ClassVar[bool] = False
    #: actuators: at rest they stay as they are; else they go to zero
    holds_at_rest: ClassVar[bool] = False
    #: sensors: a large innovation is an error of the sensor, by which it is judged
    has_outliers: ClassVar[bool] = True

    #: the driver of the real device; without one it can only be simulated
    driver: DriverPart | None = None
    #: files that `granite calibrate` wrote, whose values replace those of this table; the log contains them
    calibration: tuple[CalibrationTable, ...] = ()

    def signals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """Name and unit of each value of its frames."""
        raise NotImplementedError

    def modules(self, bed: Testbed) -> tuple[str, ...]:
        """The modules that it measures or moves, by name; none: it is real or simulated whatever the others are."""
        return ()

    def repeats(self, bed: Testbed) -> tuple[float, ...]:
        """Sensors: the chance that a signal has the same value in two successive frames; 1 where it is not known."""
        return (1.0,) * len(self.signals(bed))

    def measurable(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Sensors: least and greatest value of each signal that it can measure; beyond them it is saturated."""
        return ((-math.inf, math.inf),) * len(self.signals(bed))

    def judged(self, bed: Testbed) -> tuple[RecordedLimit, ...]:
        """Sensors: bounds of signals, which the guard checks."""
        return ()

    def correction(self, bed: Testbed) -> Callable[[Array], Array] | None:
        """Sensors: from readings to measured values, by the calibrated response; None where they are the same."""
        return None

    def gain(self, bed: Testbed) -> Array | None:
        """Actuators: applied per commanded value of each signal, as calibrated; None where they are the same."""
        return None

    def measurement(self, motion: Any) -> Measurement | None:
        """Sensors: the model of its values, by which the estimator uses it; None: it is recorded only.

        Parameters
        ----------
        motion
            `bed`, `layout`, the symbols `q` and `u`, and `point(module, name)`, as `granite.Kinematics` has them. The
            estimator has those of the modules that the controller knows, the simulation those of all.
        """
        return None

    def agreements(self, bed: Testbed) -> tuple[Agreement, ...]:
        """Sensors: signals whose quantity the estimate has from other sensors, and the allowed difference."""
        return ()

    def bounds(self, bed: Testbed) -> tuple[tuple[float, float], ...]:
        """Actuators: least and greatest set point of each signal."""
        raise NotImplementedError

    def initial(self, bed: Testbed) -> tuple[float, ...]:
        """Actuators: the applied values before the first set point."""
        return (0.0,) * len(self.signals(bed))

    def check(self, bed: Testbed) -> None:
        """Raise an `InputError`, its key inside this table, where the device does not fit the testbed."""

    def describe(self, bed: Testbed) -> list[str]:
        """Sentences on the device for `granite show`."""
        values = self.model_dump(exclude={"kind", "driver", "calibration"}, exclude_none=True)
        return [", ".join(f"{key} {value}" for key, value in values.items()) or self.kind]


def repeat_chance(noise: float, step: float | None = None) -> float:
    """The chance that two measurements with normal noise fall on the same step of a converter.

    Their difference has the density 1/(2 noise sqrt(pi)) at zero. A step that is not known is assumed to be as large as
    the noise.
    """
    if noise <= 0:
        return 1.0
    return min(1.0, (noise if step is None else step) / (2 * noise * math.sqrt(math.pi)))
