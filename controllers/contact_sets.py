"""The contact set in force, as the grips report it: the index of the kernel that knows it."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.controllers.model import ControlModel


class ReportedContactSet:
    """Which of the model's contact sets holds now; the last one, where the grips report none of them.

    Attributes
    ----------
    reports
        Of each contact set what the grips report.
    index
        That of the set in force, from tick to tick.
    """

    def __init__(self, model: ControlModel) -> None:
        names = model.bed.grips
        self.reports: Array = np.array([[float(name in closed) for name in names] for closed in model.contact_sets])
        self.index = np.zeros(1)
        self._by_report = {report.tobytes(): i for i, report in enumerate(self.reports)}

    def follow(self, holding: Array) -> int:
        """The index for this report."""
        self.index[0] = self._by_report.get(holding.tobytes(), self.index[0])
        return int(self.index[0])
