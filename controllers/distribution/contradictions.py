"""Limits of a force distribution that no wrenches can keep together, whatever the grasp: refused before a run."""

from __future__ import annotations

from granite.config.distribution import ForceDistributionTable
from granite.config.errors import InputError
from granite.controllers.distribution.limits.gripper_force import GripperForce
from granite.controllers.distribution.limits.one_sided import OneSided


def refuse_contradictions(table: ForceDistributionTable) -> None:
    """Raise where a grip has to push more than its gripper can."""
    for i, pushes in enumerate(table.limit):
        for k, bounds in enumerate(table.limit):
            if not isinstance(pushes, OneSided.Options) or not isinstance(bounds, GripperForce.Options):
                continue
            same = pushes.grip is None or bounds.grip is None or pushes.grip == bounds.grip
            if same and bounds.force_n is not None and pushes.least_n > bounds.force_n:
                raise InputError(
                    f"contradicts limit.{k} ({bounds.kind})", key=f"limit.{i}.least_n", value=pushes.least_n,
                    expected=f"at most its force_n = {bounds.force_n:g}",
                )  # fmt: skip
