"""The fault matrix: every kind of fault on every kind of device, in the simulation and through real ports."""
