"""Panels over time, one kind per file: each returns the panels for which a run has data."""
