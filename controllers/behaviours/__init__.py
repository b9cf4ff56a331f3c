"""Behaviours, one file each: the reference of the modules, and the contacts to close."""

KINDS = {"waypoints": "waypoints:WaypointBehaviour"}
