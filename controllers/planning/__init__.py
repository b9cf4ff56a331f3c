"""Paths of least propellant or time for a free-flyer with its arm, planned before they are flown."""
