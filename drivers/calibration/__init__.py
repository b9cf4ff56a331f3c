"""Fits of measured numbers of a testbed: pure functions from measurements to numbers with their uncertainty."""
