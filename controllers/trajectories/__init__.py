"""Paths in time: where the robot should be, how fast, and with what acceleration."""
