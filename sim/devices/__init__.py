"""Simulated devices with their imperfections, behind the driver contract."""
