"""Panels over time, one kind per file: each says which panels a run has something to show in."""
