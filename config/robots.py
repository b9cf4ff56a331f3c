"""Modules that a testbed does not write out: read from a URDF file, or like another module.

Limits in a URDF become limits of the guard and motors, where the testbed has none of its own.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from granite.config import overrides as changes
from granite.config.errors import InputError, one_of

if TYPE_CHECKING:
    from granite.config.urdf import Robot

#: temporary key of a module for the limits of its URDF while it is loaded
_LIMITS = "limits of the urdf"


def fill_modules(content: dict[str, Any], folder: Path, source: str) -> None:
    """Write out the modules of a testbed's content; `folder` is that of its file, `source` its name in errors.

    Raises
    ------
    InputError
        Where a URDF can't be read, or there is no module to be like.
    """
    _read_robots(content, folder, source)
    _copy_modules(content, source)
    _add_limits(content)


def _read_robots(content: dict[str, Any], folder: Path, source: str) -> None:
    """Put the robots from URDF files in the place of the files' names."""
    modules = content.get("modules")
    for i, module in enumerate(modules if isinstance(modules, list) else []):
        if isinstance(module, dict) and "urdf" in module:
            key = f"modules.{changes.label(content['modules'], i)}"
            file, robot = _read_robot(module, key, folder, source)
            module[_LIMITS] = robot["limits"]
            for part, read in (("bodies", robot["bodies"]), ("joints", robot["joints"]), ("points", robot["points"])):
                entries = module.get(part, [])
                # A value that is not a list is kept, to be refused with all other errors.
                module[part] = read + entries if isinstance(entries, list) else entries
            if robot["notes"] and isinstance(note := content.get("note", ""), str):
                content["note"] = f"{note}\n{Path(file).name}: {'; '.join(robot['notes'])}.".lstrip()


def _read_robot(module: dict[str, Any], key: str, folder: Path, source: str) -> tuple[str, Robot]:
    """The name of a module's URDF, and the robot in it."""
    file = module.pop("urdf")
    dimension = module.get("dimension")
    base = module.get("base")
    if not isinstance(file, str):
        raise InputError(file=source, key=f"{key}.urdf", value=file, expected="text in quotes, the path to a URDF file")
    if dimension not in ("planar", "spatial"):
        raise InputError(file=source, key=f"{key}.dimension", value=dimension, expected="'planar' or 'spatial'")
    if base not in ("fixed", "floating"):
        raise InputError(file=source, key=f"{key}.base", value=base, expected="'fixed' or 'floating'")
    if not isinstance(motors := module.setdefault("urdf_motors", True), bool):
        raise InputError(file=source, key=f"{key}.urdf_motors", value=motors, expected="true or false")
    if (mimic := module.pop("urdf_mimic", "refuse")) not in ("refuse", "lock"):
        raise InputError(file=source, key=f"{key}.urdf_mimic", value=mimic, expected="'refuse' or 'lock'")
    try:
        from granite.config.urdf import read_urdf  # most testbeds name no URDF: its XML parser is slow to import

        return file, read_urdf(folder / file, dimension, base, mimic)
    except InputError as error:
        raise InputError(str(error), file=source, key=f"{key}.urdf") from error


def _copy_modules(content: dict[str, Any], source: str) -> None:
    """Copy to each module with `like` all keys of the earlier module that it does not have itself."""
    modules = content.get("modules")
    models: dict[str, dict[str, Any]] = {}
    for i, module in enumerate(modules if isinstance(modules, list) else []):
        if not isinstance(module, dict):
            continue
        if (model := module.pop("like", None)) is not None:
            key = f"modules.{changes.label(content['modules'], i)}.like"
            if not isinstance(model, str) or model not in models:
                expected = one_of(model if isinstance(model, str) else "", models)
                raise InputError("no module before it", file=source, key=key, value=model, expected=expected)
            module.update({k: copy.deepcopy(v) for k, v in models[model].items() if k not in module})
        if isinstance(name := module.get("name"), str):
            models[name] = module


def _add_limits(content: dict[str, Any]) -> None:
    """Add the limits of URDF files to the guard and as motors, on the joints for which the testbed has none."""
    modules = content.get("modules")
    tables = [m for m in modules if isinstance(m, dict)] if isinstance(modules, list) else []
    controller = content.get("controller")
    controlled = controller.get("modules", []) if isinstance(controller, dict) else []
    for module in tables:
        if _LIMITS not in module:
            continue
        limits = module.pop(_LIMITS)
        has_motors = module.pop("urdf_motors")
        # Guard and motors are the controller's; without one motors may be anywhere.
        if controlled and module.get("name") not in controlled:
            continue
        joints = _values(module.get("joints"), "name")
        prefix = f"{module.get('name')}_" if len(tables) > 1 else ""
        named = {f"{prefix}{joint}": limit for joint, limit in limits.items() if joint in joints}
        _add_guard(content, named)
        if has_motors:
            _add_motors(content, named)


def _add_guard(content: dict[str, Any], limits: dict[str, dict[str, float]]) -> None:
    safety = content.get("safety")
    if not isinstance(safety, dict) or not isinstance(safety.setdefault("joints", []), list):
        return
    keys = ("lower_rad", "upper_rad", "rate_rad_s")
    for joint, limit in limits.items():
        if joint not in _values(safety["joints"], "joint") and all(key in limit for key in keys):
            safety["joints"].append({"joint": joint} | {key: limit[key] for key in keys})


def _add_motors(content: dict[str, Any], limits: dict[str, dict[str, float]]) -> None:
    """Give each joint without a motor one of the torque that its URDF names; they are the device `motors`."""
    devices = content.setdefault("devices", {})
    if not isinstance(devices, dict):
        return
    driven = [
        joint
        for device in devices.values()
        if isinstance(device, dict)
        for joint in _values(device.get("units"), "joint")
    ]
    added = [
        {"joint": joint, "torque_limit_n_m": limit["torque_n_m"]}
        for joint, limit in limits.items()
        if joint not in driven and "torque_n_m" in limit
    ]
    if added:
        motors = devices.setdefault("motors", {})
        if isinstance(motors, dict) and isinstance(motors.setdefault("units", []), list):
            motors["units"] += added


def _values(tables: Any, key: str) -> list[Any]:
    """The values of a key in the tables of a list."""
    return [table.get(key) for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
