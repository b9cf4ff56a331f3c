"""Behaviours, one file each: where the modules should be, and which contacts should be closed."""

KINDS = {"waypoints": "waypoints:WaypointBehaviour"}
