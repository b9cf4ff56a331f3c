"""From links and joints to bodies: what a fixed joint holds is one with what carries it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from granite.config.errors import InputError
from granite.config.urdf.parts import NOMINAL, Body, Joint, Mass, rotation


def build_bodies(links: Iterable[str], joints: list[Joint]) -> list[Body]:
    """The bodies, each after the one that carries it, with their joints moved to where they sit on that body."""
    leaving: dict[str, list[Joint]] = {link: [] for link in links}
    for joint in joints:
        leaving[joint.parent].append(joint)
    bodies, seen = [Body(_root(leaving, joints))], set()
    for body in bodies:
        frames = [(body.link, np.eye(3), np.zeros(3))]
        for link, R, p in frames:
            seen.add(link)
            for joint in leaving[link]:
                moved = joint.carried_by(body.link, R, p)
                if joint.kind == "fixed":
                    frames.append((joint.child, rotation(moved.rpy), np.array(moved.origin)))
                else:
                    bodies.append(Body(joint.child, moved))
        body.frames = frames[1:]
    loose = sorted(leaving.keys() - seen)
    if loose:
        raise InputError(f"joint loop through {', '.join(loose)}, expected a tree that starts at '{bodies[0].link}'")
    return bodies


def _root(links: Iterable[str], joints: list[Joint]) -> str:
    carrier: dict[str, str] = {}
    for joint in joints:
        if joint.child in carrier:
            raise InputError(
                f"joint '{joint.name}': child link = '{joint.child}': joint loop, expected one joint to carry the "
                f"link, but '{carrier[joint.child]}' carries it too"
            )
        carrier[joint.child] = joint.name
    roots = [link for link in links if link not in carrier]
    if not roots:
        raise InputError("joint loop, a joint carries every link, expected one link without, the root")
    if len(roots) > 1:
        raise InputError(f"two roots or more, no joint carries {', '.join(roots)}, expected one such link")
    return roots[0]


def lumped(body: Body, links: dict[str, Mass | None], base: str) -> Mass:
    """The masses of a link and of all links fixed to it as one."""
    own = links[body.link]
    fixed = [(mass, R, p) for link, R, p in body.frames if (mass := links[link]) is not None]
    parts = [*([own] if own else []), *(mass.seen_from(R, p) for mass, R, p in fixed)]
    stands = body.joint is None and base == "fixed"
    if not parts:
        if stands:
            return NOMINAL
        mover = f"joint '{body.joint.name}'" if body.joint else "a floating base"
        raise InputError(f"link '{body.link}': no mass, expected an <inertial> with one, for {mover} moves it")
    return parts[0] if len(parts) == 1 else _sum(parts)


def _sum(parts: list[Mass]) -> Mass:
    mass = sum(part.mass for part in parts)
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.com - com
        inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))  # the parallel-axis theorem
    return Mass(mass, com, inertia)
