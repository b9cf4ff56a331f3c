"""Contacts: the kinds, one file each; one in motion (`joint`), and sets of them (`assembly`, `contact_set`)."""

from mrds.contacts.cylindrical import CYLINDRICAL
from mrds.contacts.kind import Kind
from mrds.contacts.plane import PLANE
from mrds.contacts.prismatic import PRISMATIC
from mrds.contacts.revolute import REVOLUTE
from mrds.contacts.rigid_grasp import RIGID_GRASP
from mrds.contacts.rolling import ROLLING
from mrds.contacts.screw import SCREW
from mrds.contacts.slides import X_SLIDE, X_SLIDE_TURNING, Y_SLIDE, Y_SLIDE_TURNING
from mrds.contacts.sliding import SLIDING
from mrds.contacts.soft_finger import SOFT_FINGER
from mrds.contacts.spherical import HARD_POINT, SPHERICAL
from mrds.contacts.stops import BUMPER, EDGE
from mrds.contacts.universal import UNIVERSAL

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        RIGID_GRASP, REVOLUTE, PRISMATIC, CYLINDRICAL, SPHERICAL, HARD_POINT, SOFT_FINGER, PLANE, SCREW, UNIVERSAL,
        ROLLING, X_SLIDE, X_SLIDE_TURNING, Y_SLIDE, Y_SLIDE_TURNING, SLIDING, EDGE, BUMPER,
    )
}  # fmt: skip
