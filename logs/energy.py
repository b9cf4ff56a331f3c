"""Work of the motors and elastic energy of flexible links, from the rows of a run.

A torque is held over a period, so its work is torque times the turn of its joint. Motors do not recover energy: work in
either direction counts.
"""

from __future__ import annotations

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.loader import plant_of
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.run_summary import EnergyUse
from granite.mrds.stiffness import stiffness
from granite.mrds.tree import Tree


class EnergySummary:
    """Gathers both; rows without a truth count by the estimate, which knows no elastic energy."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        slices = [channels.columns("/applied", f"{name}.values") for name in bed.devices_of(Motors)]
        self._torque = [i for part in slices if isinstance(part, slice) for i in range(part.start, part.stop)]
        joints = [motor.joint for motor in bed.motors]
        self._truth, self._estimate = channels.columns("/truth", "q"), channels.columns("/state", "q")
        self._true = [bed.layout.joint_q(joint) for joint in joints]
        known = [c.name for c in bed.known.positions]
        self._known = [known.index(joint) if joint in known else -1 for joint in joints]
        self._transmission = bed.transmission
        self._work = 0.0
        self._last: Array | None = None
        trees = {m.name: Tree(m) for m in plant_of(bed).modules if any(body.flexible for body in m.bodies)}
        self._links = [(bed.layout.q[name], stiffness(tree)) for name, tree in trees.items()]
        self._elastic = 0.0

    def update(self, rows: Array) -> None:
        """Process the next rows."""
        if self._torque:
            held = rows if self._last is None else np.vstack((self._last, rows))
            angles = held[:, self._truth][:, self._true]
            if not np.isfinite(angles).all() and min(self._known) >= 0:
                angles = held[:, self._estimate][:, self._known]
            if self._transmission is not None:
                angles = angles @ self._transmission
            turned = np.abs(held[:-1, self._torque] * np.diff(angles, axis=0))
            # One sum after the other: the same however the rows are divided into blocks.
            self._work = float(np.cumsum([self._work, *np.nan_to_num(turned).sum(axis=1)])[-1])
            self._last = rows[-1:].copy()
        for part, K in self._links:
            bent = np.nan_to_num(rows[:, self._truth][:, part][:, -len(K) :])
            self._elastic = max(self._elastic, float(np.einsum("ti,ij,tj->t", bent, K, bent).max(initial=0.0)) / 2)

    def result(self) -> EnergyUse:
        """By name; nothing where there are neither motors nor flexible links."""
        use: EnergyUse = {}
        if self._torque:
            use["motor_work_j"] = self._work
        if self._links:
            use["largest_elastic_j"] = self._elastic
        return use
