"""Dynamixel servos as motors and joint sensors, through the maker's SDK (protocol 2.0): `docs/devices.md`."""
