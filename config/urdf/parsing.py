"""From the text of a URDF file to links and joints."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np

from granite.config.errors import InputError, one_of
from granite.config.joints import RESISTANCE
from granite.config.rotations import Array, about_axis, angles, rotation
from granite.config.urdf.elements import needed, number, numbers, only, origin, read_xml
from granite.config.urdf.parts import NOTHING, Mass, UrdfJoint, UrdfLink, triple
from granite.config.urdf.shapes import shapes_of

_READ = {
    "robot": ("link", "joint"),
    "link": ("inertial", "visual"),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics"),
}
#: extensions of URDF that affect the motion
_ACTS = (
    *("mimic", "loop_joint", "rotor_inertia", "gear_ratio"),
    *("ball_constraint", "tendon_constraint", "linear_bushing_rpy", "linear_spring_damper"),
)
MOVING: dict[str, Literal["revolute", "prismatic"]] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
}
#: replacements of unsupported kinds
_INSTEAD = {
    "floating": "base = 'floating' in the module's table and no such joint",
    "planar": "two prismatic joints and a revolute one",
}
#: attributes of `dynamics` in URDF
_RESISTING = ("damping", "friction")
LIMITS = {
    "revolute": ("lower_rad", "upper_rad", "rate_rad_s", "torque_n_m"),
    "prismatic": ("lower_m", "upper_m", "rate_m_s", "force_n"),
}


def skipped(robot: Element, locks_mimics: bool) -> Counter[str]:
    """Number of skipped elements by tag; `InputError` where one would affect the motion.

    `locks_mimics`: joints that mimic others are locked.
    """
    counts: Counter[str] = Counter()
    for where, element in _read(robot):
        for child in element:
            namespace, _, tag = child.tag.rpartition("}")
            if "xacro" in namespace:
                xacro = f"<{tag}> is a part of xacro"
                raise InputError(xacro, key=where, expected="a file that xacro has expanded")
            # A fixed joint has no motion that something could change.
            locks = locks_mimics and tag == "mimic"
            if tag in _ACTS and element.get("type") != "fixed" and not locks:
                expected = "none, because it changes the motion"
                if tag == "mimic":
                    expected += "; or urdf_mimic = 'lock' in the module's table"
                raise InputError(f"<{tag}> is not supported", key=where, expected=expected)
            if child.tag not in _READ[element.tag] and not locks:
                counts[tag] += 1
    return counts


def _read(robot: Element) -> Iterator[tuple[str, Element]]:
    """Every element of which the children are read, and how to name it."""
    yield "robot", robot
    for part in (*robot.findall("link"), *robot.findall("joint")):
        where = f"{part.tag} '{part.get('name', '')}'"
        yield where, part
        for inertial in part.findall("inertial") if part.tag == "link" else ():
            yield where, inertial


def listed(counts: Counter[str]) -> str:
    """`<collision> (12), <gazebo> (3)`."""
    return ", ".join(f"<{tag}> ({count})" for tag, count in sorted(counts.items()))


def parse(path: Path, locks_mimics: bool) -> tuple[dict[str, UrdfLink], list[UrdfJoint], list[str]]:
    """The links by name, the joints, and notes on skipped elements; joints that mimic others are locked or refused."""
    robot = read_xml(path)
    if robot.tag != "robot":
        raise InputError(key=f"<{robot.tag}>", expected="<robot> as the outermost element of a URDF")
    link_elements = robot.findall("link")
    joint_elements = robot.findall("joint")
    if not link_elements:
        raise InputError("no link", key="<robot>", expected="at least one")
    link_name = _names("link", link_elements)
    joint_name = _names("joint", joint_elements)
    not_read, not_drawn = skipped(robot, locks_mimics), Counter[str]()
    links = {}
    for element in link_elements:
        shapes, others = shapes_of(element)
        links[link_name[element.attrib["name"]]] = UrdfLink(_mass(element), shapes)
        not_drawn += others
    joints = [_joint(element, joint_name, link_name) for element in joint_elements]
    locked = [joint_name[element.attrib["name"]] for element in joint_elements if _is_locked(element)]
    leaders = {joint_name.get(m.get("joint", "")) for element in joint_elements for m in element.findall("mimic")}
    for i, joint in enumerate(joints if locked else ()):
        if joint.kind != "fixed" and joint.name in leaders and not _moves_mass(joint, joints, links):
            joints[i] = joint._replace(kind="fixed", axis=np.zeros(3), limits={}, resistance={})
            locked.append(joint.name)
    other = {f"dynamics {key}" for joint in joint_elements for key in _other_dynamics(joint)}
    notes = [f"skipped, without effect on the motion: {listed(not_read)}"] if not_read else []
    notes += [f"not drawn: {listed(not_drawn)}"] if not_drawn else []
    notes += [f"no part of URDF and not read: {', '.join(sorted(other))}"] if other else []
    notes += [f"locked, because they mimic others or only lead such ones: {', '.join(locked)}"] if locked else []
    return links, joints, notes


def _names(kind: str, elements: Iterable[Element]) -> dict[str, str]:
    """Our names of the links or joints, by theirs."""
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    for i, element in enumerate(elements):
        name = element.get("name", "")
        if not name.strip():
            raise InputError.missing(f"<{kind}> number {i + 1}: name", "one")
        if name in ours:
            raise InputError(f"{kind} '{name}' occurs twice", expected="it once")
        made = re.sub(r"[^a-z0-9_]", "_", name.lower())
        made = made if made[0].isalpha() else f"{kind}_{made}"
        if made in theirs:
            raise InputError(
                f"becomes '{made}' as '{theirs[made]}' does, for a name has small letters, digits and _ only",
                key=f"{kind} '{name}'",
                expected="names that differ in these",
            )
        ours[name] = made
        theirs[made] = name
    return ours


def _mass(link: Element) -> Mass:
    """The mass of a link in its axes; whether it is possible is checked when links are lumped."""
    where = f"link '{link.attrib['name']}'"
    inertial = only(where, link, "inertial")
    if inertial is None:
        return NOTHING
    mass = number(where, needed(where, inertial, "mass"), "value")
    if mass < 0:
        raise InputError(key=f"{where}: mass value", value=mass, expected="a number of at least 0")
    moments = needed(where, inertial, "inertia")
    xx, yy, zz, xy, xz, yz = (number(where, moments, key) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    com, rpy = origin(where, inertial)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Mass(mass, np.zeros(3), tensor).seen_from(rotation(rpy), np.array(com))


def _joint(element: Element, joint_name: dict[str, str], link_name: dict[str, str]) -> UrdfJoint:
    name, kind = element.attrib["name"], element.get("type", "")
    where = f"joint '{name}'"
    if kind != "fixed" and kind not in MOVING:
        expected = _INSTEAD[kind] if kind in _INSTEAD else one_of(kind, ("fixed", *MOVING))
        raise InputError(key=f"{where}: type", value=kind or None, expected=expected)
    parent, child = (_end(where, element, tag, link_name) for tag in ("parent", "child"))
    position, rpy = origin(where, element)
    if kind == "fixed":
        return UrdfJoint(joint_name[name], "fixed", parent, child, position, rpy, np.zeros(3), {}, {})
    if _is_locked(element):
        offset, axis = number(where, needed(where, element, "mimic"), "offset", 0.0), _axis(where, element)
        if offset and MOVING[kind] == "prismatic":
            position = triple(position + offset * rotation(rpy) @ axis)
        elif offset:  # without it, the angles of the file are kept bit for bit
            rpy = angles(rotation(rpy) @ about_axis(axis, offset))
        return UrdfJoint(joint_name[name], "fixed", parent, child, position, rpy, np.zeros(3), {}, {})
    axis, limits, resistance = _axis(where, element), _limits(where, element, kind), _resistance(where, element, kind)
    return UrdfJoint(joint_name[name], MOVING[kind], parent, child, position, rpy, axis, limits, resistance)


def _is_locked(joint: Element) -> bool:
    """A joint that mimics another one; where such joints are not locked, they were refused before."""
    return joint.get("type") in MOVING and joint.find("mimic") is not None


def _moves_mass(joint: UrdfJoint, joints: list[UrdfJoint], links: dict[str, UrdfLink]) -> bool:
    """Whether a link behind the joint, also behind others, has mass."""
    behind = [joint.child]
    for link in behind:
        behind += [other.child for other in joints if other.parent == link and other.child not in behind]
    return any(links[link].mass.mass > 0 for link in behind)


def _end(where: str, joint: Element, tag: str, link_name: dict[str, str]) -> str:
    link = needed(where, joint, tag).get("link", "")
    if link not in link_name:
        key, expected = f"{where}: {tag} link", one_of(link, link_name)
        raise InputError("no such link", key=key, value=link, expected=expected)
    return link_name[link]


def _axis(where: str, joint: Element) -> Array:
    element = only(where, joint, "axis")
    axis = np.array([1.0, 0.0, 0.0] if element is None else numbers(where, element, "xyz", 3))
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        key, value = f"{where}: axis xyz", axis.tolist()
        raise InputError("a vector of zero length", key=key, value=value, expected="a direction")
    return axis / length


def _limits(where: str, joint: Element, kind: str) -> dict[str, float]:
    """The limits that the file sets; zero and infinity, which exporters write for none, count as none."""
    limit = only(where, joint, "limit")
    if limit is None:
        return {}
    lower, upper, rate, effort = (_limit(where, limit, key) for key in ("lower", "upper", "velocity", "effort"))
    if lower > upper:
        raise InputError(key=f"{where}: limit lower", value=lower, expected=f"at most upper = {upper:g}")
    for key, value in (("velocity", rate), ("effort", effort)):
        if value < 0:
            raise InputError(key=f"{where}: limit {key}", value=value, expected="a number of at least 0")
    lower_key, upper_key, rate_key, effort_key = LIMITS[MOVING[kind]]
    bounded = lower < upper and math.isfinite(upper - lower) and kind != "continuous"
    return (
        ({lower_key: lower, upper_key: upper} if bounded else {})
        | ({rate_key: rate} if 0 < rate < math.inf else {})
        | ({effort_key: effort} if 0 < effort < math.inf else {})
    )


def _limit(where: str, limit: Element, key: str) -> float:
    infinite = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
    text = limit.get(key, "").strip().lower().replace("infinity", "inf")
    return infinite[text] if text in infinite else number(where, limit, key, 0.0)


def _resistance(where: str, joint: Element, kind: str) -> dict[str, float]:
    """Damping and Coulomb friction."""
    dynamics = only(where, joint, "dynamics")
    if dynamics is None:
        return {}
    ours = dict(zip(_RESISTING, RESISTANCE[MOVING[kind]], strict=False))
    coefficients = {key: number(where, dynamics, key) for key in dynamics.attrib if key in ours}
    for key, value in coefficients.items():
        if value < 0:
            raise InputError(key=f"{where}: dynamics {key}", value=value, expected="a number of at least 0")
    return {ours[key]: value for key, value in coefficients.items() if value > 0}


def _other_dynamics(joint: Element) -> list[str]:
    """Attributes of `dynamics` beside those of URDF, which some files have for one simulator."""
    return [key for dynamics in joint.findall("dynamics") for key in dynamics.attrib if key not in _RESISTING]
