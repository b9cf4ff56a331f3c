"""Energy, work, momentum and constraint errors of a run."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_once
from granite.mrds.energy import energy_function
from granite.sim.plant.constrained_plant import ContactLoads
from granite.sim.plant.motion import N_AUDITED
from granite.sim.plant.plant import Plant


class Audit:
    """Energy, work, momentum and constraint errors of the plant, in the order of `config.audit`."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        self._plant = plant
        #: (whole state, energy lost in closing contacts, [gap; slip; independence]) -> the audit
        self.kernel = compile_once("audit", bed.plant_fingerprint, lambda: [_function(bed, plant)])["audit"]

    def values(self, loads: ContactLoads) -> Array:
        """Kinetic energy, energy, work, momenta, impulses, gap, slip and independence now."""
        lost = self._plant.contacts.lost if self._plant.contacts else 0.0
        return self.kernel.run((self._plant.whole, np.array([lost, loads.gap, loads.slip, loads.independence])))


def _function(bed: Testbed, plant: Plant) -> ca.Function:
    state, lost, errors = ca.MX.sym("state", plant.whole.size), ca.MX.sym("lost"), ca.MX.sym("errors", 3)
    offsets = plant.offsets
    q, u = state[: offsets["u"]], state[offsets["u"] : offsets["extra"]]
    energies, momentum = energy_function(bed.modules)(q, u)
    *_, impulse, work = ca.vertsplit(state[offsets["extra"] : offsets["left"]], _ends(offsets))
    kinetic, gravity, strain, _ = ca.vertsplit(energies)
    audit = ca.vertcat(kinetic, kinetic + gravity + strain, work - lost, momentum, impulse, errors)
    return ca.Function("audit", [state, lost, errors], [audit])


def _ends(offsets: dict[str, int]) -> list[int]:
    """Where the parts of extra begin and end: impulse and work are its last ones."""
    n = offsets["left"] - offsets["extra"]
    return [0, n - N_AUDITED, n - 1, n]
