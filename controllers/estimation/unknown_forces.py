"""Forces that the model does not know: disturbances, faults of thrusters and a payload, in one expression."""

from __future__ import annotations

from itertools import accumulate

import casadi as ca
import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.controllers.estimation.disturbance import DisturbanceObserver, DisturbanceTable
from granite.controllers.estimation.payload import PayloadFilter
from granite.controllers.estimation.thruster_faults import (
    DEAD,
    STUCK_OPEN,
    ThrusterFaults,
    ThrusterFaultTable,
    force_lag_s,
)
from granite.controllers.loaded_model import LoadedModel, loaded
from granite.controllers.model import ControlModel


class UnknownForces:
    """Observer and fault finders of a testbed.

    The memory is the disturbance (n_u), the faults of all thrusters (n_t), what each finder remembers, and the filter
    of a payload. Thrusters of
    bases that float in space have no finder, and those of a base that contacts hold have none as long as they do.
    """

    def __init__(
        self, disturbance: DisturbanceTable, faults: ThrusterFaultTable, model: ControlModel, density: float
    ) -> None:
        bed = model.bed
        knows_contacts = bed.explains_motion or not model.ignored
        self._observer = DisturbanceObserver(disturbance, bed, knows_contacts=knows_contacts)
        free = [root[0] for gripped in model.contact_sets for root in model.free_roots(gripped)]
        n_u, devices = len(bed.known.velocities), list(bed.devices_of(Thrusters).values())
        #: where the faults are in the memory
        self.faults = slice(n_u, n_u + len(bed.thrusters))
        self._finders: list[tuple[int, Thrusters, ThrusterFaults]] = []
        starts = accumulate((len(device.units) for device in devices), initial=0)
        for start, device in zip(starts, devices, strict=False):
            if not faults.find or not knows_contacts or model.layout.root_u(device.pushed(bed)).start not in free:
                continue
            lag = force_lag_s(bed, device, density)
            self._finders.append((start, device, ThrusterFaults(faults, device, bed.loop.period_s, lag)))
        self._period = bed.loop.period_s
        with_load = loaded(model)
        self._payload = PayloadFilter(with_load) if isinstance(with_load, LoadedModel) else None

    @property
    def memory(self) -> Array:
        """What it starts with."""
        own = [finder.memory[finder.n :] for _, _, finder in self._finders]
        own += [self._payload.memory] if self._payload else []
        return np.concatenate([self._observer.memory, np.zeros(self.faults.stop - self.faults.start), *own])

    @property
    def n_payload(self) -> int:
        """How many numbers at the end of the memory are `State.payload`."""
        return self._payload.n_reported if self._payload else 0

    def function(self, model: ControlModel, gripped: frozenset[str]) -> ca.Function:
        """(memory, q, u, velocity correction of the last tick, mean opening of each valve, whether they are observed)
        -> (memory, disturbance with the thrust of open valves that can't close, openings as the faults leave them),
        with these grips closed."""
        n, size = model.n, len(self.memory)
        memory, correction = ca.SX.sym("unknown", len(self.memory)), ca.SX.sym("du", n)
        opening, observes = ca.SX.sym("opening", len(model.bed.thrusters)), ca.SX.sym("observes")
        M = model.mass_matrix
        if self._payload:
            M = ca.substitute(M, model.payload, memory[size - self.n_payload :])
        impulse = M @ correction
        before, faults = memory[:n], ca.SX(memory[self.faults])
        d = self._observer.expression(before, impulse, observes)
        kept, at, free = [], self.faults.stop, [root[0] for root in model.free_roots(gripped)]
        for start, device, finder in self._finders:
            own, more, module = slice(start, start + finder.n), len(finder.memory) - finder.n, device.pushed(model.bed)
            force = impulse / self._period + before
            wrench = model.wrenches(force)[model.wrench_slice(module)]
            root = model.layout.root_u(module)
            found_memory = ca.vertcat(faults[own], memory[at : at + more])
            after, is_new = finder.expression(
                found_memory, wrench, opening[own], observes if root.start in free else ca.SX(0)
            )
            faults[own], at = after[: finder.n], at + more
            kept.append(after[finder.n :])
            # What the fault explains is no disturbance: the rest is found again within a time constant.
            d[root] = ca.if_else(is_new, 0.0, d[root])
        if self._payload:
            unexplained = impulse / self._period + before
            after = self._payload.expression(memory[at:], model.q, model.u, correction, unexplained, observes)
            # What the payload explains is no disturbance.
            d += self._payload.explained(memory[at:], after)
            kept.append(after)
        opened = ca.if_else(faults == DEAD, 0.0, ca.if_else(faults == STUCK_OPEN, 1.0, opening))
        stuck = model.thrust_force(ca.DM(model.available) * (faults == STUCK_OPEN))
        results = [ca.vertcat(d, faults, *kept), d + stuck, opened]
        return ca.Function("unknown", [memory, model.q, model.u, correction, opening, observes], results)
