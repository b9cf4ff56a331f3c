"""The file of a new robot: a short testbed with comments; all other keys have their defaults."""

from __future__ import annotations

import json
from typing import Any

from granite.cli.new_testbed.answers import RobotData
from granite.cli.new_testbed.move import HOLD_S, Move, table_margin
from granite.cli.new_testbed.robot import thruster_units
from granite.config.urdf import Robot

#: where comments begin, and how wide a line of several motors or thrusters may be
_COMMENT, _MOTORS, _THRUSTERS = 40, 100, 140
#: the usual gains, written out so that a user finds them
_GAINS = {
    "floating": ("base = { stiffness_1_s2 = 0.64, damping_1_s = 1.6 }", "0.8 rad/s, critically damped"),
    "fixed": ("joints = { stiffness_1_s2 = 16.0, damping_1_s = 8.0 }", "4 rad/s, critically damped"),
}


def bed_text(name: str, answers: RobotData, robot: Robot, move: Move, urdf: str | None, spatial: bool = False) -> str:
    """The testbed; `urdf` is the path of the robot's file from the testbed's folder."""
    waypoint = {"duration_s": float(move.duration_s), "hold_s": float(HOLD_S), "target": move.target}
    lines = [
        "# Written by `granite new`. SI units; every other key has a default: docs/testbeds.md",
        f"name = {json.dumps(name)}",
        f"title = {json.dumps(_title(answers, robot))}",
        _with_comment(f"loop.duration_s = {float(move.duration_s + HOLD_S)}", "at 200 ticks a second"),
        "controller.law.gains.{}  # {}".format(*_GAINS[answers.base]),
        f"behaviour.waypoints = [{_value(waypoint)}]",
    ]
    if move.start:
        lines.append(_with_comment(f"simulation.initial = {_value(move.start)}", "where it starts"))
    if answers.base == "floating":
        (x, y), margin = answers.table_m, table_margin(answers)
        table = [margin, margin, round(x - margin, 3), round(y - margin, 3)]
        lines.append(_with_comment(f"safety.table_m = {_value(table)}", "for the centre of the base"))
    lines += [
        "",
        *_module(answers, robot, urdf, "spatial" if spatial else "planar"),
        "",
        *_devices(answers, robot),
        "",
        *_tuning(answers),
    ]
    return "\n".join(lines) + "\n"


def _title(answers: RobotData, robot: Robot) -> str:
    mass, joints = sum(body["mass_kg"] for body in robot["bodies"]), len(robot["joints"])
    arm = f"{joints} joint{'s' if joints > 1 else ''}"
    if answers.base == "fixed":
        return f"Fixed arm with {arm}"
    return f"Free-flyer of {mass:.3g} kg with {answers.thrusters} thrusters" + (f" and {arm}" if joints else "")


def _module(answers: RobotData, robot: Robot, urdf: str | None, dimension: str) -> list[str]:
    lines = ["[[modules]]", 'name = "robot"', f'dimension = "{dimension}"', f'base = "{answers.base}"']
    if urdf is not None:
        locked = ['urdf_mimic = "lock"'] if any(note.startswith("locked") for note in robot["notes"]) else []
        return [*lines, f"urdf = {json.dumps(urdf)}", *locked]
    lines += _list("bodies", robot["bodies"])
    if robot["joints"]:
        lines += _list("joints", robot["joints"])
        lines.append(f"points = [{_value(robot['points'][0])}]")
    return lines


def _devices(answers: RobotData, robot: Robot) -> list[str]:
    lines = ["[devices]"]
    if answers.base == "floating":
        lines.append(_with_comment("vision = {}", "sees the base at 60 Hz, 30 ms late"))
    if joints := [joint["name"] for joint in robot["joints"]]:
        lines.append(f"joint_sensors = {{ joints = {_value(joints)} }}")
        units = [{"joint": name, "torque_limit_n_m": robot["limits"][name]["torque_n_m"]} for name in joints]
        first, *others = _rows(units, _MOTORS)
        lines += [f"motors.units = [{first}", *(f"    {row}" for row in others)]
        lines[-1] = lines[-1].removesuffix(",") + "]"
    if answers.thrusters:
        lines.append(_with_comment(f"thrusters.thrust_n = {_value(answers.thrust_n)}", "of each"))
        units = thruster_units(answers.thrusters, answers.size_m)
        lines += _list("thrusters.units", units, "direction: of the force on the base, not of the jet", pairs=True)
    return lines


def _tuning(answers: RobotData) -> list[str]:
    """A table of two gains and one objective; as comments, because a testbed is run before it is tuned."""
    gains, error = ("base", "rms_error_m") if answers.base == "floating" else ("joints", "rms_error_rad")
    keys = [f"controller.law.gains.{gains}.{key}" for key in ("stiffness_1_s2", "damping_1_s")]
    return [
        "# To tune it by `granite tune FILE`, take the # of the next lines away: docs/tuning.md",
        "# [tuning]",
        f"# parameters = {_value([{'key': key} for key in keys])}",
        f"# objectives = {_value([{'of': error}])}",
    ]


def _list(key: str, tables: list[dict[str, Any]], comment: str = "", pairs: bool = False) -> list[str]:
    rows = _rows(tables, _THRUSTERS) if pairs else [f"{_value(table)}," for table in tables]
    return [_with_comment(f"{key} = [", comment), *(f"    {row}" for row in rows), "]"]


def _rows(tables: list[dict[str, Any]], width: int) -> list[str]:
    """The tables, as many in a line as fit."""
    rows: list[str] = []
    for table in tables:
        text = f"{_value(table)},"
        if rows and len(rows[-1]) + len(text) < width:
            rows[-1] += f" {text}"
        else:
            rows.append(text)
    return rows


def _with_comment(text: str, comment: str) -> str:
    return f"{text:<{_COMMENT - 2}}  # {comment}" if comment else text


def _value(value: Any) -> str:
    """A value as TOML has it; numbers with six digits."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float):
        return repr(float(f"{value:.6g}"))
    return json.dumps(value)
