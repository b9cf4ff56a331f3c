"""Projections of the world: from above in the plane, from above and from a side in space."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array

AXES = "xyz"
#: a smaller spread, as a part of the largest one, counts as flat
_FLAT = 0.01


class Projection:
    """Two axes of the world that lie in the page, both to scale."""

    def __init__(self, horizontal: int, vertical: int) -> None:
        self.axes = [horizontal, vertical]
        self.labels = f"{AXES[horizontal]} [m]", f"{AXES[vertical]} [m]"
        self.is_from_above = self.axes == [0, 1]

    @property
    def name(self) -> str:
        """Viewpoint and axis of view."""
        (along,) = {0, 1, 2} - set(self.axes)
        return f"from {'above' if self.is_from_above else 'the side'}, along {AXES[along]}"

    def __call__(self, positions: Array) -> Array:
        """Points in axes of the page: the last axis of `positions` is x, y, z."""
        return positions[..., self.axes]


FROM_ABOVE = Projection(0, 1)


def best_projections(positions: Array) -> tuple[Projection, ...]:
    """From above and from the side on which these points spread most, without one in which all is flat."""
    x, y, z = spread = np.ptp(positions.reshape(-1, 3), axis=0)
    side = Projection(0, 2) if x >= y else Projection(1, 2)
    flat = _FLAT * float(spread.max())
    if z <= flat:
        return (FROM_ABOVE,)
    return (side,) if min(x, y) <= flat else (FROM_ABOVE, side)
