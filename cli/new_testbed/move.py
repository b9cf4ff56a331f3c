"""A first move that the actuators of a new robot can follow: how far, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from granite.cli.new_testbed.answers import RobotData
from granite.config.errors import InputError
from granite.config.urdf import Robot

#: largest acceleration of a minimum-jerk move of length 1 in time 1
_PEAK = 10 / math.sqrt(3)
#: share of the actuators' limits that the reference uses; the rest is for drag and feedback
_SHARE = 0.25
#: the shortest move, the longest one, and the hold after it [s]
_SHORTEST_S, _LONGEST_S, HOLD_S = 8, 120, 10
#: above this acceleration one pulse of a thruster exceeds the tracking error wanted [m/s2]
_STRONGEST = 0.6
_TURN_RAD = 0.5


@dataclass(frozen=True)
class Move:
    """From a start to a target, both by coordinate."""

    duration_s: int
    start: dict[str, float]
    target: dict[str, float]


def plan(answers: RobotData, robot: Robot) -> Move:
    """The base across the middle of the table with a turn, and every joint by half a radian.

    Raises
    ------
    InputError
        Where thrusters, motors or table are too small or too large for the robot.
    """
    times = [float(_SHORTEST_S)]
    start: dict[str, float] = {}
    target: dict[str, float] = {}
    if answers.base == "floating":
        root = robot["bodies"][0]["name"]
        x, y = (round(min(0.3 * side, 1.0), 2) for side in answers.table_m)
        _refuse_small_table(answers, x, y)
        for key, side, step in (("x_m", answers.table_m[0], x), ("y_m", answers.table_m[1], y)):
            start[f"{root}_{key}"] = round(side / 2 - step / 2, 3)
            target[f"{root}_{key}"] = round(side / 2 + step / 2, 3)
        target[f"{root}_heading_rad"] = _TURN_RAD
        times += _base_times(answers, robot, math.hypot(x, y))
    for joint in robot["joints"]:
        torque, inertia = robot["limits"][joint["name"]]["torque_n_m"], _carried(robot, joint["name"])[2]
        time = _time(_TURN_RAD, torque / inertia)
        if time > _LONGEST_S:
            least = torque * (time / _LONGEST_S) ** 2
            what = f"too little for joint '{joint['name']}'"
            raise InputError(what, key="--torque", value=torque, expected=f"at least {least:.2g}")
        times.append(time)
        begin, end = _turn(robot["limits"][joint["name"]])
        start |= {f"{joint['name']}_rad": begin} if begin else {}
        target[f"{joint['name']}_rad"] = end
    return Move(math.ceil(max(times)), start, target)


def _base_times(answers: RobotData, robot: Robot, distance: float) -> list[float]:
    """How long the base takes to go there, and to turn; two thrusters push it along."""
    mass, _, inertia = _carried(robot, None)
    thrust = answers.thrust_n
    strongest = _STRONGEST * mass
    if thrust > strongest:
        raise InputError(
            f"too much for {mass:.3g} kg", key="--thrust", value=thrust, expected=f"at most {strongest:.2g}"
        )
    times = [_time(distance, 2 * thrust / mass), _time(_TURN_RAD, thrust * answers.size_m / inertia)]
    if max(times) > _LONGEST_S:
        least = thrust * (max(times) / _LONGEST_S) ** 2
        raise InputError(
            f"too little for {mass:.3g} kg", key="--thrust", value=thrust, expected=f"at least {least:.2g}"
        )
    return times


def _turn(limit: Mapping[str, float]) -> tuple[float, float]:
    """From where to where a joint turns: from zero by half a radian, or as near to that as its limits allow."""
    lower, upper = limit.get("lower_rad", -math.inf), limit.get("upper_rad", math.inf)
    room = 0.1 * (upper - lower) if math.isfinite(upper - lower) else 0.0
    lower, upper = lower + room, upper - room
    begin = min(max(0.0, lower), upper)
    up, down = min(_TURN_RAD, upper - begin), min(_TURN_RAD, begin - lower)
    end = begin + up if up >= down else begin - down
    return round(begin, 3), round(end, 3)


def _time(distance: float, acceleration: float) -> float:
    """Duration of a minimum-jerk move whose peak acceleration is a share of the available one [s]."""
    return math.sqrt(_PEAK * distance / (_SHARE * acceleration))


def _refuse_small_table(answers: RobotData, x: float, y: float) -> None:
    margin = table_margin(answers)
    for side, step in zip(answers.table_m, (x, y), strict=True):
        if side < step + 2 * margin + 0.1:
            given, least = f"{answers.table_m[0]:g}, {answers.table_m[1]:g}", (2 * margin + 0.1) / 0.7
            expected = f"at least {least:.2g} on each side, for a base of {answers.size_m:g} m"
            raise InputError("too small", key="--table", value=given, expected=expected)


def table_margin(answers: RobotData) -> float:
    """How near to an edge the centre of the base may come: half its diagonal [m]."""
    return round(answers.size_m / math.sqrt(2), 3)


def _carried(robot: Robot, joint: str | None) -> tuple[float, float, float]:
    """Mass, reach and moment of inertia of the bodies carried by a joint, arm stretched out; without a joint of all."""
    tables = {table["name"]: table for table in robot["joints"]}
    bodies = {table["name"]: table for table in robot["bodies"]}
    first = robot["bodies"][0]["name"] if joint is None else tables[joint]["child"]

    def walk(name: str, reach: float) -> tuple[float, float, float]:
        body = bodies[name]
        arm = reach + math.hypot(*body.get("com_m", (0.0, 0.0)))
        # In space it is about any axis: the greatest moment, of which the first three are about the axes.
        own = np.max(np.atleast_1d(body["inertia_kg_m2"])[:3]).item()
        mass, furthest, inertia = body["mass_kg"], arm, own + body["mass_kg"] * arm**2
        for child in tables.values():
            if child["parent"] == name:
                beyond = walk(child["child"], reach + math.hypot(*child["origin_m"]))
                mass, furthest, inertia = mass + beyond[0], max(furthest, beyond[1]), inertia + beyond[2]
        return mass, furthest, inertia

    return walk(first, 0.0)
