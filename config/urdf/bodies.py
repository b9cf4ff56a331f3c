"""From links and joints to bodies: links that fixed joints hold together are one body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from granite.config.errors import InputError
from granite.config.inertia import fault_of, noise
from granite.config.rotations import rotation
from granite.config.urdf.parts import NOMINAL, Mass, UrdfBody, UrdfJoint, UrdfLink

#: inertia below this is numerical noise whatever the mass [kg m^2]
_LEAST = 1e-18


def build_bodies(links: Iterable[str], joints: list[UrdfJoint]) -> list[UrdfBody]:
    """The bodies, each after the one that carries it, with their joints expressed in that body."""
    leaving: dict[str, list[UrdfJoint]] = {link: [] for link in links}
    for joint in joints:
        leaving[joint.parent].append(joint)
    bodies, seen = [UrdfBody(_root(leaving, joints))], set()
    for body in bodies:
        frames = [(body.link, np.eye(3), np.zeros(3))]
        for link, R, p in frames:
            seen.add(link)
            for joint in leaving[link]:
                moved = joint.carried_by(body.link, R, p)
                if joint.kind == "fixed":
                    frames.append((joint.child, rotation(moved.rpy), np.array(moved.origin)))
                else:
                    bodies.append(UrdfBody(joint.child, moved))
        body.frames = frames[1:]
    loose = sorted(leaving.keys() - seen)
    if loose:
        loop = f"joint loop through {', '.join(loose)}"
        raise InputError(loop, expected=f"a tree that starts at '{bodies[0].link}'")
    return bodies


def _root(links: Iterable[str], joints: list[UrdfJoint]) -> str:
    carrier: dict[str, str] = {}
    for joint in joints:
        if joint.child in carrier:
            key = f"joint '{joint.name}': child link"
            expected = f"one joint to carry the link, but '{carrier[joint.child]}' carries it too"
            raise InputError("joint loop", key=key, value=joint.child, expected=expected)
        carrier[joint.child] = joint.name
    roots = [link for link in links if link not in carrier]
    if not roots:
        raise InputError("joint loop, a joint carries every link", expected="one link without, the root")
    if len(roots) > 1:
        raise InputError(f"two roots or more, no joint carries {', '.join(roots)}", expected="one such link")
    return roots[0]


def lump(body: UrdfBody, links: dict[str, UrdfLink]) -> None:
    """Give a body the masses and the shapes of its link and of all links fixed to it."""
    root = links[body.link]
    held = [(links[link], R, p) for link, R, p in body.frames]
    body.mass = _sum([root.mass, *(link.mass.seen_from(R, p) for link, R, p in held)])
    body.shapes = root.shapes + [shape.seen_from(R, p) for link, R, p in held for shape in link.shapes]


def _sum(parts: Sequence[Mass]) -> Mass:
    """Several masses as one; a single one stays as it is, to the last bit."""
    parts = [part for part in parts if part.mass or part.inertia.any()]
    if len(parts) == 1:
        return parts[0]
    mass = sum(part.mass for part in parts)
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / (mass or 1.0)
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.com - com
        inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))  # the parallel-axis theorem
    return Mass(mass, com, inertia)


def check_mass(body: UrdfBody, base: str) -> list[str]:
    """Refuse an impossible mass; on a fixed base, where it has no effect, replace it with a note."""
    mass, com, inertia = body.mass
    if np.abs(inertia).max() <= max(noise(mass), _LEAST):
        inertia = np.zeros((3, 3))
    body.mass = Mass(mass, com, inertia)
    if body.joint is None and base == "fixed":
        fault = _fault(body.mass)
        if fault or np.linalg.eigvalsh(inertia)[0] <= noise(mass):
            body.mass = NOMINAL
        return [f"link '{body.link}': the inertia of the fixed base is not used ({fault})"] if fault else []
    if body.joint is None and mass == 0:
        expected = "an <inertial> with one, because a floating base moves it"
        raise InputError("no mass", key=f"link '{body.link}'", expected=expected)
    if fault := _fault(body.mass):
        raise fault.within(f"link '{body.link}' with all that is fixed to it")
    return []


def _fault(mass: Mass) -> InputError | None:
    if mass.mass == 0:
        return InputError("no mass", expected="some where there is inertia") if mass.inertia.any() else None
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = mass.inertia.tolist()
    return fault_of(mass.mass, (xx, yy, zz, xy, xz, yz))
