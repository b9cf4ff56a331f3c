"""Elements of a URDF file that are skipped because they do not affect the motion, or refused because they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from granite.config.errors import InputError

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
