"""An analogue-to-digital converter of simulated sensors."""


def converted(value: float, lowest: float, highest: float, step: float) -> float:
    """The value in whole steps, within the range of the converter."""
    return min(max(step * round(value / step), lowest), highest)
