"""Trajectories: position, rate and acceleration over time."""
