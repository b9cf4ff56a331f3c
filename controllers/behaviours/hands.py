"""Hands of a vehicle: for each grip its position, the point that takes hold, the joints of its arm, and their reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.contacts import GROUND, Contact, Side
from granite.config.errors import InputError
from granite.config.joints import Joint
from granite.config.modules import Module
from granite.config.records import Array
from granite.controllers.model import ControlModel


class Hand(NamedTuple):
    """One hand at one grip."""

    contact: str
    target: str  #: name of its point among the targets of the tasks
    position: Array  #: of the grip [m]
    joints: tuple[int, ...]  #: of its arm, indices in q and u
    shoulder: Array  #: first joint of the arm, in the axes of the root [m]
    reach: float  #: from the shoulder to the hand with a straight arm [m]


def hands_of(model: ControlModel, key: str, contacts: tuple[str, ...]) -> dict[str, Hand]:
    """The hand of each contact, which must pin a point of a floating planar module to the ground."""
    bed, hands = model.bed, {}
    for name in contacts:
        contact = next(c for c in bed.contacts if c.name == name)
        side, ground = _sides(contact, key)
        module = bed.module(side.module)
        if module.base != "floating" or module.dimension != "planar" or side.module not in model.layout.q:
            raise InputError(
                f"contact '{name}' is of module '{module.name}'", key=key, expected="a floating planar module"
            )
        joints, shoulder, reach = arm_of(module, str(side.point))
        at = tuple(model.layout.joint_q(model.layout.name(module, joint)) for joint in joints)
        target = f"{module.name}_{side.point}" if len(bed.modules) > 1 else str(side.point)
        hands[name] = Hand(name, target, np.array(ground[:2]), at, shoulder, reach)
    return hands


def _sides(contact: Contact, key: str) -> tuple[Side, tuple[float, ...]]:
    """The side of the hand, and the position of the grip on the ground."""
    first, second = contact.first, contact.second
    if (first.module == GROUND) == (second.module == GROUND):
        raise InputError(f"contact '{contact.name}' joins no ground", key=key, expected="a bar that stands still")
    return (second, first.position_m) if first.module == GROUND else (first, second.position_m)


def arm_of(module: Module, point: str) -> tuple[list[str], Array, float]:
    """Joints from the root to the point, position of the first one, and length of the straight arm behind it."""
    tip = next(p for p in module.points if p.name == point)
    carriers = {joint.child: joint for joint in module.joints}
    chain: list[Joint] = []
    body = tip.body
    while body in carriers:
        chain.insert(0, carriers[body])
        body = carriers[body].parent
    if not chain:
        raise InputError(f"point '{point}' is on the root", key="behaviour", expected="a point at the end of an arm")
    links = [np.linalg.norm(joint.origin_m[:2]) for joint in chain[1:]] + [np.linalg.norm(tip.position_m[:2])]
    return [joint.name for joint in chain], np.array(chain[0].origin_m[:2]), float(sum(links))
