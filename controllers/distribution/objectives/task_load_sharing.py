"""Load sharing in task space: each arm carries in proportion to its capacity (Sun 5.18).

min 1/2 sum_i (1/c_i) (f_i.f_i + k_i n_i.n_i)
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from granite.config.base import Positive, Table
from granite.config.distribution import Objective
from granite.controllers.distribution.grasp import GraspShape
from granite.controllers.distribution.quantities import Quantities


class Capacity(Table):
    """What an arm can carry."""

    #: c: largest force of the arm at its grip
    force_n: Positive = 1.0
    #: k: weight of a moment beside a force
    moment_weight_1_m2: Annotated[float, Field(ge=1)] = 1.0


class TaskLoadSharing:
    """Scheme S."""

    class Options(Objective):
        """Capacities by grip; one left out has those of `Capacity`."""

        capacity: dict[str, Capacity] = Field(default_factory=dict)  #: by grip

    def __init__(self, options: Options, shape: GraspShape) -> None:
        self._capacity = [Capacity() for _ in shape.grips]
        for name, capacity in options.capacity.items():
            self._capacity[shape.grip_index(name, f"capacity.{name}")] = capacity

    def cost(self, known: Quantities) -> Any:
        """Half the weighted sum of squares of forces and moments [N]."""
        import cvxpy as cp

        total: Any = 0
        for i, capacity in enumerate(self._capacity):
            total += cp.sum_squares(known.force(i)) / (2 * capacity.force_n)
            if known.shape.grips[i].n_moment:
                scale = capacity.moment_weight_1_m2 / (2 * capacity.force_n)
                total += scale * cp.sum_squares(known.moment(i))
        return total
