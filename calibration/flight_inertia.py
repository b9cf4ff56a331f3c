"""Mass, mass centre and inertia of a floating base from the log of a free flight, as a calibration."""

from __future__ import annotations

from collections.abc import Sequence

from granite.calibration.fit import CalibrationFit, FittedKey, Residuals
from granite.calibration.identification.base import identify_base
from granite.calibration.identification.flight import expected_base, flight_of, vehicle_of
from granite.calibration.procedure import BenchMeasurement, OperatorStep
from granite.config.calibration import fingerprint
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.logs.log import Log

_SIGNALS = (("x", "m"), ("y", "m"), ("heading", "rad"))


class FlightInertia:
    """What the log of a flight says of the base; the operator has flown already."""

    steps: tuple[OperatorStep, ...] = ()

    def __init__(self, bed: Testbed, log: Log) -> None:
        thrusters, module = vehicle_of(bed)
        self._log = log
        self.of = f"modules.{module.name}"
        body = f"{self.of}.bodies.{module.root.name}"
        self._numbers = (
            FittedKey(f"{body}.mass_kg", "kg", 0.0),
            FittedKey(f"{body}.com_m.0", "m"),
            FittedKey(f"{body}.com_m.1", "m"),
            FittedKey(f"{body}.inertia_kg_m2", "kg m2", 0.0),
        )
        #: the thrust, and everything that the base carries
        self.fitted_on: tuple[str, ...] = (f"devices.{thrusters}", f"{self.of}.bodies", f"{self.of}.joints")
        flown = log.bed.model_dump(mode="json")
        here = bed.model_dump(mode="json")
        keys = [number.key for number in self._numbers]
        for table in self.fitted_on:
            if fingerprint(flown, table, keys) != fingerprint(here, table, keys):
                raise InputError(f"it flew with another {table}", key="--log", expected="a flight of this testbed")

    @property
    def is_simulated(self) -> bool:
        """Whether the flight was one of the simulated plant."""
        return self._log.info.get("mode") != "hardware"

    def fit(self, measured: Sequence[BenchMeasurement] = ()) -> CalibrationFit:
        """The numbers of the base."""
        identified = identify_base(flight_of(self._log), expected_base(self._log.bed))
        fit = identified.fit
        residuals = tuple(
            Residuals(name, "time since the first estimate [s]", fit.pose_times, fit.residuals[:, i], unit)
            for i, (name, unit) in enumerate(_SIGNALS)
        )
        freedom = fit.residuals.size - len(fit.numbers)
        poses = len(fit.pose_times)
        return CalibrationFit(self._numbers, identified.base.numbers, identified.covariance, freedom, poses, residuals)
