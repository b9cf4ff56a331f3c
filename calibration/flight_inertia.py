"""Mass, mass centre and inertia of a floating base from the log of a free flight, as a calibration."""

from __future__ import annotations

from collections.abc import Sequence

from granite.calibration.fit import CalibrationFit, FittedKey, Residuals
from granite.calibration.flight_calibration import FlightCalibration
from granite.calibration.identification.base import identify_base
from granite.calibration.identification.flight import expected_base, flight_of, vehicle_of
from granite.calibration.procedure import BenchMeasurement
from granite.config.testbed import Testbed
from granite.logs.log import Log

_SIGNALS = (("x", "m"), ("y", "m"), ("heading", "rad"))


class FlightInertia(FlightCalibration):
    """What the log of a flight says of the base."""

    def __init__(self, bed: Testbed, log: Log) -> None:
        super().__init__(bed, log)
        thrusters, module = vehicle_of(bed)
        self.of = f"modules.{module.name}"
        body = f"{self.of}.bodies.{module.root.name}"
        self._numbers = (
            FittedKey(f"{body}.mass_kg", "kg", 0.0),
            FittedKey(f"{body}.com_m.0", "m"),
            FittedKey(f"{body}.com_m.1", "m"),
            FittedKey(f"{body}.inertia_kg_m2", "kg m2", 0.0),
        )
        #: the thrust, and everything that the base carries
        self.fitted_on = (f"devices.{thrusters}", f"{self.of}.bodies", f"{self.of}.joints")
        self.refuse_another_testbed(number.key for number in self._numbers)

    def fit(self, measured: Sequence[BenchMeasurement] = ()) -> CalibrationFit:
        """The numbers of the base."""
        identified = identify_base(flight_of(self.log), expected_base(self.log.bed))
        fit = identified.fit
        residuals = tuple(
            Residuals(name, "time since the first estimate [s]", fit.pose_times, fit.residuals[:, i], unit)
            for i, (name, unit) in enumerate(_SIGNALS)
        )
        freedom = fit.residuals.size - len(fit.numbers)
        poses = len(fit.pose_times)
        return CalibrationFit(self._numbers, identified.base.numbers, identified.covariance, freedom, poses, residuals)
