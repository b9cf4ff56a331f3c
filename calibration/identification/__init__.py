"""Identification of a vehicle from the log of a free flight."""
