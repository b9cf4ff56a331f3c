"""A calibration from the log of a flight: the operator has flown already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from granite.calibration.fit import CalibrationFit
from granite.calibration.procedure import BenchMeasurement, OperatorStep
from granite.config.calibration import fingerprint
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.logs.log import Log


class FlightCalibration:
    """What flights of all kinds have in common."""

    steps: tuple[OperatorStep, ...] = ()
    #: as of a `Procedure`
    of: str
    fitted_on: tuple[str, ...]

    def __init__(self, bed: Testbed, log: Log) -> None:
        self.bed, self.log = bed, log

    @property
    def is_simulated(self) -> bool:
        """Whether the flight was one of the simulated plant."""
        return self.log.info.get("mode") != "hardware"

    def refuse_another_testbed(self, keys: Iterable[str]) -> None:
        """Raise where a table that the fit relies on has other numbers in the log, but for those of these keys."""
        flown, here, calibrated = self.log.bed.model_dump(mode="json"), self.bed.model_dump(mode="json"), list(keys)
        for table in self.fitted_on:
            if fingerprint(flown, table, calibrated) != fingerprint(here, table, calibrated):
                raise InputError(f"it flew with another {table}", key="--log", expected="a flight of this testbed")

    def fit(self, measured: Sequence[BenchMeasurement] = ()) -> CalibrationFit:
        """The numbers; `InputError` where the flight does not determine them."""
        raise NotImplementedError
