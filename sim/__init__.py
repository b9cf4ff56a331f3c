"""The simulated lab: the plant, its table, and every device with its faults, behind the driver contract."""
