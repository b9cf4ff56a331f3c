"""Estimation, behaviours, laws, distribution, thrusters and trajectories: pure, time is an argument."""
