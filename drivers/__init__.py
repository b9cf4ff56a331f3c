"""The driver contract, and one file per kind of device."""
