"""Estimation, behaviours, laws, distribution, thrusters and trajectories; no I/O, time is an argument."""
