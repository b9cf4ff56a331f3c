"""Checks of the machine and of devices before a run."""
