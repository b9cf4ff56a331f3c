"""Limits of a force distribution that no wrenches can keep together, whatever the grasp: refused before a run."""

from __future__ import annotations

from typing import Any

from granite.config.distribution import ForceDistributionTable
from granite.config.errors import InputError


def refuse_contradictions(table: ForceDistributionTable) -> None:
    """Raise where a grip has to push more than its gripper can."""
    limits: list[Any] = list(table.limit)
    for i, pushes in enumerate(limits):
        for k, bounds in enumerate(limits):
            if (pushes.kind, bounds.kind) != ("one_sided", "gripper_force"):
                continue
            same = pushes.grip is None or bounds.grip is None or pushes.grip == bounds.grip
            if same and bounds.force_n is not None and pushes.least_n > bounds.force_n:
                raise InputError(
                    f"contradicts limit.{k} ({bounds.kind})", key=f"limit.{i}.least_n", value=pushes.least_n,
                    expected=f"at most its force_n = {bounds.force_n:g}",
                )  # fmt: skip
