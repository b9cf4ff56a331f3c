"""What all simulated devices share: they are always there, so opening and closing them does nothing."""

from __future__ import annotations


class SimulatedDevice:
    """A device without a wire: it is always there, so opening and closing it does nothing."""

    def open(self) -> None:
        """Nothing to take hold of."""

    def close(self) -> None:
        """Nothing to let go of."""
