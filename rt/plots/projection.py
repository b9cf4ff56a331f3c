"""How the world is looked at: from above in the plane, else along the axis in which there is least to see."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array

AXES = "xyz"


class Projection:
    """Two axes of the world that lie in the page, both to scale."""

    def __init__(self, horizontal: int, vertical: int) -> None:
        self.axes = [horizontal, vertical]
        self.labels = f"{AXES[horizontal]} [m]", f"{AXES[vertical]} [m]"
        self.is_from_above = self.axes == [0, 1]

    def __call__(self, places: Array) -> Array:
        """Places in the page: the last axis of `places` is x, y, z."""
        return places[..., self.axes]


FROM_ABOVE = Projection(0, 1)


def widest(places: Array) -> Projection:
    """The projection in which these places spread most; height goes up where it is one of the two axes."""
    spread = np.ptp(places.reshape(-1, 3), axis=0)
    # Of equal spreads the one that leaves z out of the page, as on a table.
    horizontal, vertical = sorted(np.argsort(-spread, kind="stable")[:2])
    return Projection(int(horizontal), int(vertical))
