"""Behaviours, one file each: the reference of the modules, and the contacts to close."""

KINDS = {
    "follow": "follow:FollowPath",
    "formation": "formation:Formation",
    "planned": "planned:PlannedPath",
    "object_path": "object_path:ObjectPath",
    "on_demand": "on_demand:OnDemand",
    "waypoints": "waypoints:WaypointBehaviour",
    "survey": "survey:Survey",
    "catch": "catch:CatchObject",
    "catch_and_carry": "catch_and_carry:CatchAndCarry",
    "docking": "docking:Docking",
    "leap": "leap:Leap",
    "pick_and_place": "pick_and_place:PickAndPlace",
}
