"""Contacts: the kinds, one file each; one in motion (`joint`), and sets of them (`assembly`, `contact_set`)."""

from granite.config.parts import find
from granite.mrds.contacts.cylindrical import CYLINDRICAL
from granite.mrds.contacts.kind import Kind
from granite.mrds.contacts.plane import PLANE
from granite.mrds.contacts.prismatic import PRISMATIC
from granite.mrds.contacts.revolute import REVOLUTE
from granite.mrds.contacts.rigid_grasp import RIGID_GRASP
from granite.mrds.contacts.rolling import ROLLING
from granite.mrds.contacts.screw import SCREW
from granite.mrds.contacts.slides import X_SLIDE, X_SLIDE_TURNING, Y_SLIDE, Y_SLIDE_TURNING
from granite.mrds.contacts.sliding import SLIDING
from granite.mrds.contacts.soft_finger import SOFT_FINGER
from granite.mrds.contacts.spherical import HARD_POINT, SPHERICAL
from granite.mrds.contacts.stops import BUMPER, EDGE
from granite.mrds.contacts.universal import UNIVERSAL

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        RIGID_GRASP, REVOLUTE, PRISMATIC, CYLINDRICAL, SPHERICAL, HARD_POINT, SOFT_FINGER, PLANE, SCREW, UNIVERSAL,
        ROLLING, X_SLIDE, X_SLIDE_TURNING, Y_SLIDE, Y_SLIDE_TURNING, SLIDING, EDGE, BUMPER,
    )
}  # fmt: skip


def kind_of(name: str) -> Kind:
    """The kind of that name, or the one that `FILE.py:NAME` names; `InputError` where there is none."""
    kind: Kind = KINDS[name] if name in KINDS else find("contact", name)
    return kind
