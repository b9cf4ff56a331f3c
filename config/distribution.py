"""The table of a force distribution: its objectives, weighted, and its limits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from granite.config.base import NotNegative, Positive, Table
from granite.config.errors import InputError
from granite.config.parts import LimitPart, ObjectivePart, PartTable


class Objective(PartTable):
    """The table of an objective."""

    #: factor of its cost in the sum of all, per unit of that cost
    weight: NotNegative = 1.0


class ForceDistributionTable(Table):
    """Which grasp wrenches are chosen among those that move the object as demanded."""

    #: terms of the cost
    objective: tuple[ObjectivePart, ...] = Field(min_length=1)
    #: what no wrench may break
    limit: tuple[LimitPart, ...] = ()
    #: weight of the plain sum of squares of the wrenches [1/N^2, 1/(N m)^2]: it selects among equal optima
    tie_break: Positive = 1e-9
    #: most iterations of one attempt of the solver; a tick makes four at most, the last three of up to twice as many
    iterations: Annotated[int, Field(ge=10, le=10000)] = 200


def refuse_contradictions(table: ForceDistributionTable) -> None:
    """Raise where a grip has to push more than its gripper can: no wrenches keep both limits, whatever the grasp."""
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
