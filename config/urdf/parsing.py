"""From the text of a URDF file to links and joints."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from granite.config.errors import InputError, expected_one_of, shown
from granite.config.urdf.parts import Array, Joint, Mass, Triple, rotation

#: elements without a part in the dynamics, by where they stand
SKIPPED = {
    "robot": ("material", "gazebo", "transmission", "ros2_control", "sensor"),
    "link": ("visual", "collision"),
    "joint": ("calibration", "safety_controller"),
}
_READ = {
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics"),
}
MOVING: dict[str, Literal["revolute", "prismatic"]] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
}
LIMITS = {
    "revolute": ("lower_rad", "upper_rad", "rate_rad_s", "torque_n_m"),
    "prismatic": ("lower_m", "upper_m", "rate_m_s", "force_n"),
}
#: no robot has a greater number in any unit, and the products of such numbers are still numbers
_GREATEST = 1e30


class _WithoutDoctype(ElementTree.TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Refuse: entities, which can grow without bound, are declared there and nowhere else."""
        raise InputError(f"<!DOCTYPE {name}>: document type and entities are not read, expected plain URDF")


def parse(path: Path) -> tuple[dict[str, Mass | None], list[Joint]]:
    """The mass of each link by name, None where it has none, and the joints."""
    robot = _xml(path)
    if robot.tag != "robot":
        raise InputError(f"<{robot.tag}>: expected <robot> as the outermost element of a URDF")
    _refuse_unread("robot", robot)
    link_elements, joint_elements = robot.findall("link"), robot.findall("joint")
    if not link_elements:
        raise InputError("<robot>: no link, expected at least one")
    link_name, joint_name = _names("link", link_elements), _names("joint", joint_elements)
    links = {link_name[e.attrib["name"]]: _mass(e) for e in link_elements}
    return links, [_joint(e, joint_name, link_name) for e in joint_elements]


def _xml(path: Path) -> Element:
    parser = ElementTree.XMLParser(target=_WithoutDoctype())
    try:
        parser.feed(path.read_bytes())
        robot: Element = parser.close()
    except FileNotFoundError:
        raise InputError("no such file, expected a URDF") from None
    except OSError as error:
        raise InputError(f"not readable ({error.strerror}), expected a URDF") from None
    except ElementTree.ParseError as error:
        line, column = error.position
        reason = str(error).partition(":")[0]
        raise InputError(f"not valid XML, line {line}, column {column}: {reason}, expected a URDF") from None
    except (ValueError, LookupError) as error:
        raise InputError(f"not readable ({error}), expected a URDF") from None
    return robot


def _names(kind: str, elements: Iterable[Element]) -> dict[str, str]:
    """Our names of the links or joints, by theirs."""
    ours: dict[str, str] = {}
    for i, element in enumerate(elements):
        name = element.get("name", "")
        if not name.strip():
            raise InputError(f"<{kind}> number {i + 1}: name is missing, expected one")
        if name in ours:
            raise InputError(f"{kind} '{name}' is there twice, expected it once")
        made = re.sub(r"[^a-z0-9_]", "_", name.lower())
        made = made if made[0].isalpha() else f"{kind}_{made}"
        for other, taken in ours.items():
            if made == taken:
                raise InputError(
                    f"{kind} '{name}': becomes '{made}' as '{other}' does, for a name has small letters, digits "
                    "and _ only, expected names that differ in these"
                )
        ours[name] = made
    return ours


def _mass(link: Element) -> Mass | None:
    """The mass of a link in its axes; one of zero is none."""
    where = f"link '{link.attrib['name']}'"
    _refuse_unread(where, link)
    inertial = _only(where, link, "inertial")
    if inertial is None:
        return None
    _refuse_unread(where, inertial)
    [mass] = _numbers(where, _needed(where, inertial, "mass"), "value", 1)
    if mass < 0:
        raise InputError(f"{where}: mass value = {mass:g}: expected a number greater than 0")
    moments = _needed(where, inertial, "inertia")
    xx, yy, zz, xy, xz, yz = (_numbers(where, moments, m, 1)[0] for m in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass == 0 and not tensor.any():
        return None
    if mass == 0:
        raise InputError(f"{where}: mass value = 0: expected a number greater than 0 where there is inertia")
    least, middle, greatest = np.linalg.eigvalsh(tensor)
    # A point or a rod has principal moments of zero: fixed to another link it is as good as any.
    if least < -1e-9 * abs(greatest) or least + middle < greatest * (1 - 1e-9):
        raise InputError(
            f"{where}: inertia = [{xx:g}, {yy:g}, {zz:g}, {xy:g}, {xz:g}, {yz:g}] (ixx, iyy, izz, ixy, ixz, iyz): no "
            f"body has the principal moments {least:.6g}, {middle:.6g} and {greatest:.6g}, expected none below 0 "
            "and none greater than the sum of the other two"
        )
    com, rpy = _origin(where, inertial)
    return Mass(mass, np.zeros(3), tensor).seen_from(rotation(rpy), np.array(com))


def _joint(element: Element, joint_name: dict[str, str], link_name: dict[str, str]) -> Joint:
    name, kind = element.attrib["name"], element.get("type")
    where = f"joint '{name}'"
    if kind != "fixed" and kind not in MOVING:
        raise InputError(f"{where}: type = {shown(kind)}: {expected_one_of(kind or '', ('fixed', *MOVING))}")
    _refuse_unread(where, element)
    parent, child = (_end(where, element, tag, link_name) for tag in ("parent", "child"))
    origin, rpy = _origin(where, element)
    if kind == "fixed":
        return Joint(joint_name[name], "fixed", parent, child, origin, rpy, np.zeros(3), {})
    _refuse_dissipation(where, element)
    axis = _axis(where, element)
    return Joint(joint_name[name], MOVING[kind], parent, child, origin, rpy, axis, _limits(where, element, kind))


def _end(where: str, joint: Element, tag: str, link_name: dict[str, str]) -> str:
    link = _needed(where, joint, tag).get("link", "")
    if link not in link_name:
        raise InputError(f"{where}: {tag} link = {shown(link)}: no such link, {expected_one_of(link, link_name)}")
    return link_name[link]


def _axis(where: str, joint: Element) -> Array:
    element = _only(where, joint, "axis")
    axis = np.array([1.0, 0.0, 0.0] if element is None else _numbers(where, element, "xyz", 3))
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise InputError(f"{where}: axis xyz = {shown(axis.tolist())}: expected a direction, got one of zero length")
    return axis / length


def _limits(where: str, joint: Element, kind: str) -> dict[str, float]:
    """The limits that the file sets; zeros are what exporters write for none."""
    limit = _only(where, joint, "limit")
    if limit is None:
        return {}
    lower, upper, rate, effort = (
        _numbers(where, limit, key, 1, [0.0])[0] for key in ("lower", "upper", "velocity", "effort")
    )
    if lower > upper:
        raise InputError(f"{where}: limit lower = {lower:g}: expected at most upper = {upper:g}")
    for key, value in (("velocity", rate), ("effort", effort)):
        if value < 0:
            raise InputError(f"{where}: limit {key} = {value:g}: expected a number of at least 0")
    lower_key, upper_key, rate_key, effort_key = LIMITS[MOVING[kind]]
    bounded = lower < upper and kind != "continuous"
    return (
        ({lower_key: lower, upper_key: upper} if bounded else {})
        | ({rate_key: rate} if rate else {})
        | ({effort_key: effort} if effort else {})
    )


def _refuse_dissipation(where: str, joint: Element) -> None:
    dynamics = _only(where, joint, "dynamics")
    if dynamics is None:
        return
    for key, value in dynamics.attrib.items():
        if _numbers(where, dynamics, key, 1) != [0.0]:
            raise InputError(
                f"{where}: dynamics {key} = {shown(value)}: not supported, expected 0 or no such attribute"
            )


def _origin(where: str, element: Element) -> tuple[Triple, Triple]:
    """Position and roll, pitch, yaw of an element's frame."""
    origin = _only(where, element, "origin")
    if origin is None:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for key in origin.attrib:
        if key not in ("xyz", "rpy"):
            raise InputError(f"{where}: origin {key} = {shown(origin.get(key))}: not supported, expected xyz and rpy")
    (x, y, z), (roll, pitch, yaw) = (_numbers(where, origin, key, 3, [0.0, 0.0, 0.0]) for key in ("xyz", "rpy"))
    return (x, y, z), (roll, pitch, yaw)


def _numbers(where: str, element: Element, key: str, count: int, default: list[float] | None = None) -> list[float]:
    text, what = element.get(key), "a finite number" if count == 1 else f"{count} finite numbers"
    if text is None:
        if default is None:
            raise InputError(f"{where}: {element.tag} {key} is missing, expected {what}")
        return default
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise InputError(f"{where}: {element.tag} {key} = {shown(text)}: expected {what}")
    if any(abs(number) > _GREATEST for number in numbers):
        raise InputError(f"{where}: {element.tag} {key} = {shown(text)}: expected {what} of at most {_GREATEST:g}")
    return numbers


def _needed(where: str, element: Element, tag: str) -> Element:
    found = _only(where, element, tag)
    if found is None:
        raise InputError(f"{where}: <{tag}> is missing, expected one in <{element.tag}>")
    return found


def _only(where: str, element: Element, tag: str) -> Element | None:
    found = element.findall(tag)
    if len(found) > 1:
        raise InputError(f"{where}: <{tag}> is there {len(found)} times, expected it once in <{element.tag}>")
    return found[0] if found else None


def _refuse_unread(where: str, element: Element) -> None:
    read, skipped = _READ[element.tag], SKIPPED.get(element.tag, ())
    for child in element:
        if child.tag not in (*read, *skipped):
            namespace, _, tag = child.tag.rpartition("}")
            expanded = " after xacro has expanded the file" if "xacro" in namespace else ""
            raise InputError(
                f"{where}: <{tag}> is not supported, expected only {', '.join((*read, *skipped))} "
                f"in <{element.tag}>{expanded}"
            )
