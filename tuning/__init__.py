"""Tuning sessions: parameters, objectives, studies and reports of a testbed."""
