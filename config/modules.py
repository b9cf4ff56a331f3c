"""A module of the multibody model: bodies, joints and named points that form one tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from granite.config.base import (
    Angle,
    Name,
    NotNegative,
    Positive,
    Table,
    Vector,
    refuse_out_of_plane,
    refuse_twice,
    spatial,
)
from granite.config.calibration import CalibrationTable
from granite.config.errors import InputError, one_of
from granite.config.inertia import Inertia, SpatialInertia, fault_of
from granite.config.joints import Joint as Joint
from granite.config.joints import Transmission
from granite.config.mobility import is_solid, massless_motion
from granite.config.rotations import rotation


def _has_an_area(corners: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if 0 < len(corners) < 3:
        raise InputError(f"{len(corners)} corners", expected="at least 3")
    return corners


Outline = Annotated[tuple[tuple[float, float], ...], AfterValidator(_has_an_area)]
Modes = Annotated[int, Field(ge=0, le=6)]
Polynomials = tuple[tuple[float, ...], ...]

#: keys of a flexible link that a planar module does not use, and those that a spatial one needs instead
_SPATIAL_KEYS = ("eiy_n_m2", "eiz_n_m2", "gj_n_m2", "polar_inertia_kg_m", "modes_z", "modes_x")

#: shapes without curvature at the tip: a sum of them converges slowly to a beam that has a moment there
_STRAIGHT_AT_TIP = ("cantilever", "pinned_free", "pinned_pinned")
#: least cosine between two axes that count as parallel
_PARALLEL = 1 - 1e-9


class Flexible(Table):
    """A flexible link: a uniform beam along the body's x axis from its origin, deflected in assumed modes.

    All shapes have zero deflection and slope at the base, so the body's frame is the beam's base.
    """

    length_m: Positive  #: of the beam
    line_density_kg_m: Positive  #: mass per length
    #: bending stiffness in a planar module
    ei_n_m2: Positive | None = None
    #: in a spatial module, about y (deflection along z) and about z (deflection along y)
    eiy_n_m2: Positive | None = None
    eiz_n_m2: Positive | None = None  #: bending stiffness about z, in a spatial module
    #: torsional stiffness, and moment of inertia about the beam's own axis per length
    gj_n_m2: Positive | None = None
    polar_inertia_kg_m: NotNegative = 0.0  #: moment of inertia about the beam's own axis, per length
    #: stiffness in stretch, E A
    ea_n: Positive | None = None
    #: number of modes of deflection along y and along z, of twist about x, and of stretch
    modes_y: Modes
    modes_z: Modes = 0  #: number of modes of deflection along z
    modes_x: Modes = 0  #: number of modes of twist about x
    modes_stretch: Modes = 0  #: number of modes of stretch
    #: sections resist turning, too, as those of a homogeneous beam: line_density_kg_m EI / EA per length
    rotary_inertia: bool = False
    #: whether bending draws the tip nearer
    foreshortening: bool = True
    #: eigenfunctions of a beam held in this way, base first, or polynomials; amplitudes are in metres. Where it is left
    #: out and a joint beyond the base passes on a moment of bending, the shapes are polynomials
    shapes: Literal["cantilever", "tip_loaded", "pinned_free", "pinned_pinned", "clamped_clamped", "polynomial"] = (
        "cantilever"
    )
    #: of what contacts and joints hold on the tip: for the shapes `tip_loaded` alone, in place of the body on the tip
    carried_mass_kg: NotNegative = 0.0
    carried_inertia_kg_m2: NotNegative = 0.0  #: the same, about the tip
    #: of each mode, the coefficients of (x/length)^2, (x/length)^3 and so on; without them, those of ascending degree
    polynomials: Polynomials = ()
    #: of each mode of the link by itself, its base held
    damping_ratio: NotNegative = 0.0
    #: Kelvin and Voigt's: stress is E (strain + this times its rate)
    material_damping_s: NotNegative = 0.0
    #: a body on the tip, which turns with its section: a point, or one with a centre (from the tip) and an inertia
    tip_mass_kg: NotNegative = 0.0
    tip_com_m: Vector = (0.0, 0.0)  #: mass centre of the body on the tip, from the tip
    tip_inertia_kg_m2: Inertia = 0.0  #: inertia of the body on the tip, about its mass centre

    @property
    def mass_kg(self) -> float:
        """Of the beam and the mass at its tip."""
        return self.line_density_kg_m * self.length_m + self.tip_mass_kg

    @property
    def n_modes(self) -> int:
        """Number of amplitudes: along y, along z, of twist, of stretch."""
        return self.modes_y + self.modes_z + self.modes_x + self.modes_stretch

    @property
    def has_tip_body(self) -> bool:
        """Whether the mass at the tip is more than a point."""
        return bool(np.any(self.tip_com_m) or np.any(self.tip_inertia_kg_m2))

    @property
    def shape_load(self) -> tuple[float, float, float]:
        """Mass [kg] that the shapes `tip_loaded` carry, its centre ahead of the tip [m], its inertia about that."""
        if self.carried_mass_kg or self.carried_inertia_kg_m2:
            return self.carried_mass_kg, 0.0, self.carried_inertia_kg_m2
        inertia = self.tip_inertia_kg_m2
        if not isinstance(inertia, float):
            about_y, about_z = inertia[1:3]
            inertia = (self.modes_z * about_y + self.modes_y * about_z) / max(self.modes_y + self.modes_z, 1)
        return self.tip_mass_kg, self.tip_com_m[0], inertia

    @property
    def rotary_kg_m(self) -> tuple[float, float]:
        """Inertia of the sections per length about y and about z [kg m]."""
        if not self.rotary_inertia or self.ea_n is None:
            return 0.0, 0.0
        about_z = self.ei_n_m2 or self.eiz_n_m2 or 0.0
        return self.line_density_kg_m * (self.eiy_n_m2 or 0.0) / self.ea_n, self.line_density_kg_m * about_z / self.ea_n

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Flexible:
        if self.ea_n is None and (self.modes_stretch or self.rotary_inertia):
            why = f"where modes_stretch is {self.modes_stretch}" if self.modes_stretch else "with rotary_inertia"
            raise InputError.missing("ea_n", f"a number greater than 0 {why}")
        if self.has_tip_body and (fault := fault_of(self.tip_mass_kg, self.tip_inertia_kg_m2)):
            raise fault.within("tip_inertia_kg_m2")
        if self.has_tip_body and not self.tip_mass_kg:
            expected = "a mass greater than 0 for a tip with tip_com_m or tip_inertia_kg_m2"
            raise InputError(key="tip_mass_kg", value=self.tip_mass_kg, expected=expected)
        return self

    @model_validator(mode="after")
    def _is_damped_in_one_way(self) -> Flexible:
        if self.damping_ratio > 0 and self.material_damping_s > 0:
            expected = "0 where there is material_damping_s, or the reverse"
            raise InputError(key="damping_ratio", value=self.damping_ratio, expected=expected)
        return self

    @model_validator(mode="after")
    def _has_a_shape_for_each_mode(self) -> Flexible:
        n_shapes = len(self.polynomials)
        needed = max(self.modes_y, self.modes_z)
        if self.shapes != "polynomial":
            if n_shapes:
                expected = f"none with shapes = '{self.shapes}'"
                raise InputError(key="polynomials", value=self.polynomials, expected=expected)
            return self
        if n_shapes not in (0, needed):
            problem = f"{n_shapes} are given"
            expected = f"none, or one for each of {needed} modes"
            raise InputError(problem, key="polynomials", value=self.polynomials, expected=expected)
        degree = max((len(row) for row in self.polynomials), default=0)
        rows = np.array([[*row, *(0.0 for _ in range(degree - len(row)))] for row in self.polynomials])
        if n_shapes and np.linalg.matrix_rank(rows) < n_shapes:
            dependent = "one is a sum of the others or zero"
            raise InputError(dependent, key="polynomials", expected="independent ones")
        return self

    @model_validator(mode="after")
    def _carries_what_its_shapes_are_made_for(self) -> Flexible:
        mass, _, inertia = self.shape_load
        if self.shapes == "tip_loaded" and not mass and not inertia:
            expected = "tip_mass_kg, carried_mass_kg or carried_inertia_kg_m2 greater than 0 with it"
            raise InputError(key="shapes", value=self.shapes, expected=expected)
        for key in ("carried_mass_kg", "carried_inertia_kg_m2"):
            if getattr(self, key) and self.shapes != "tip_loaded":
                expected = f"none with shapes = '{self.shapes}'"
                raise InputError(key=key, value=getattr(self, key), expected=expected)
        return self

    @model_validator(mode="after")
    def _twists_with_stiffness_and_inertia(self) -> Flexible:
        for key in ("gj_n_m2", "polar_inertia_kg_m"):
            if self.modes_x > 0 and not getattr(self, key):
                expected = f"a number greater than 0 where modes_x is {self.modes_x}"
                raise InputError(key=key, value=getattr(self, key), expected=expected)
        return self

    def refuse_other_dimension(self, key: str, planar: bool) -> None:
        """Raise where a stiffness is missing, or a key is given that the dimension does not use."""
        dimension = "planar" if planar else "spatial"
        for unwanted in _SPATIAL_KEYS if planar else ("ei_n_m2",):
            if getattr(self, unwanted):
                value = getattr(self, unwanted)
                expected = f"none in a {dimension} module"
                raise InputError(key=f"{key}.{unwanted}", value=value, expected=expected)
        if planar != isinstance(self.tip_inertia_kg_m2, float) and np.any(self.tip_inertia_kg_m2):
            expected = (
                f"{'one number' if planar else 'six numbers ixx, iyy, izz, ixy, ixz, iyz'} in a {dimension} module"
            )
            raise InputError(key=f"{key}.tip_inertia_kg_m2", value=self.tip_inertia_kg_m2, expected=expected)
        if planar:
            refuse_out_of_plane(f"{key}.tip_com_m", self.tip_com_m)
        wanted = {"ei_n_m2": self.modes_y} if planar else {"eiz_n_m2": self.modes_y, "eiy_n_m2": self.modes_z}
        for stiffness, modes in wanted.items():
            if modes and getattr(self, stiffness) is None:
                raise InputError.missing(f"{key}.{stiffness}", f"a number in a {dimension} module")


class Body(Table):
    """A rigid body, or a flexible link with a rigid hub at its base.

    The frame of a body is at the joint that carries it (root: anywhere), its mass at `com_m`. Points on it are given on
    the undeformed body: those on a flexible link move with the cross-section at their x, or with the nearest
    end. Mass, its centre and inertia are then the hub's, and there is no hub where they are left out.
    """

    name: Name  #: of the body, unique in its module
    flexible: Flexible | None = None  #: none: a rigid body
    #: 0 of a body that only joins two joints
    mass_kg: NotNegative
    com_m: Vector = (0.0, 0.0)  #: mass centre in the body's frame
    #: about the mass centre, in body axes: planar a number, spatial (ixx, iyy, izz, ixy, ixz, iyz)
    inertia_kg_m2: Inertia
    #: corners of its outline in the x-y plane of the body, in turn; the solid shape in the plane
    outline_m: Outline = ()

    @model_validator(mode="before")
    @classmethod
    def _link_without_a_hub(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("flexible") is not None:
            return {"mass_kg": 0.0, "inertia_kg_m2": 0.0, **content}
        return content

    @field_validator("inertia_kg_m2")
    @classmethod
    def _is_possible(cls, inertia: float | SpatialInertia, info: ValidationInfo) -> float | SpatialInertia:
        # A mass or a link that was refused itself is not in the data; then the inertia is not checked.
        mass = info.data.get("mass_kg", 1.0)
        link = info.data.get("flexible", "refused") is not None
        if mass == 0 and not link and np.any(inertia):
            raise InputError(expected="0, because the body has no mass")
        if fault := fault_of(mass, inertia):
            raise fault
        return inertia


class Point(Table):
    """A named point fixed in a body: a tip, a gripper, a vision target."""

    name: Name  #: of the point, unique in its module
    body: Name  #: the body in which it is fixed
    position_m: Vector  #: in the body's frame
    #: roll, pitch, yaw of its axes in the body (R = Rz Ry Rx); they matter to contacts
    rotation_rad: tuple[Angle, Angle, Angle] = (0.0, 0.0, 0.0)


class Module(Table):
    """One tree of bodies with its own coordinates."""

    name: Name  #: of the module, unique in the testbed
    dimension: Literal["planar", "spatial"]  #: motion in the plane, or in space
    #: whether the root body is fixed to the ground or floats
    base: Literal["fixed", "floating"]
    #: pose of a fixed base: position, then roll, pitch, yaw (R = Rz Ry Rx)
    placement_m: Vector = (0.0, 0.0)
    #: roll, pitch, yaw of a fixed base; a planar one uses yaw alone
    placement_rad: tuple[Angle, Angle, Angle] = (0.0, 0.0, 0.0)
    gravity_m_s2: Vector = (0.0, 0.0)  #: gravity on the bodies, in world axes
    joints: tuple[Joint, ...] = ()  #: each carries one body; together a tree
    bodies: tuple[Body, ...] = Field(min_length=1, max_length=200)  #: the root is the one that no joint carries
    points: tuple[Point, ...] = ()  #: named points for tips, grips, targets
    transmission: Transmission | None = None  #: none: each motor acts on its own joint alone
    #: files that `granite calibrate` wrote, whose values replace those of this table; the log contains them
    calibration: tuple[CalibrationTable, ...] = ()

    @field_validator("bodies")
    @classmethod
    def _shapes_fit_a_moment_at_the_tip(cls, bodies: tuple[Body, ...], info: ValidationInfo) -> tuple[Body, ...]:
        joints = info.data.get("joints", ())  # none where one was refused itself
        return tuple(_with_fitting_shapes(body, joints) for body in bodies)

    @model_validator(mode="after")
    def _names_differ(self) -> Module:
        refuse_twice("bodies", "body", [b.name for b in self.bodies])
        refuse_twice("joints", "joint", [j.name for j in self.joints])
        refuse_twice("points", "point", [p.name for p in self.points])
        return self

    @model_validator(mode="after")
    def _transmission_has_joints(self) -> Module:
        known = [joint.name for joint in self.joints]
        for i, joint in enumerate(self.transmission.joints if self.transmission else ()):
            if joint not in known:
                expected = one_of(joint, known)
                raise InputError("no such joint", key=f"transmission.joints.{i}", value=joint, expected=expected)
        return self

    @model_validator(mode="after")
    def _bodies_are_known(self) -> Module:
        bodies = [b.name for b in self.bodies]
        for key, body in (
            *((f"joints.{j.name}.parent", j.parent) for j in self.joints),
            *((f"joints.{j.name}.child", j.child) for j in self.joints),
            *((f"points.{p.name}.body", p.body) for p in self.points),
        ):
            if body not in bodies:
                raise InputError("no such body", key=key, value=body, expected=one_of(body, bodies))
        return self

    @model_validator(mode="after")
    def _is_a_tree(self) -> Module:
        carrier: dict[str, str] = {}
        for joint in self.joints:
            if joint.child in carrier:
                expected = f"one joint to carry the body, but '{carrier[joint.child]}' carries it too"
                raise InputError("joint loop", key=f"joints.{joint.name}.child", value=joint.child, expected=expected)
            carrier[joint.child] = joint.name
        roots = [b.name for b in self.bodies if b.name not in carrier]
        if not roots:
            loop = "joint loop, every body is carried by a joint"
            raise InputError(loop, key="joints", expected="one that is not")
        if len(roots) > 1:
            several = f"no joint carries {', '.join(roots)}"
            raise InputError(several, key="joints", expected="one such body, the root")
        loose = {b.name for b in self.bodies} - {b.name for b in self.in_tree_order()}
        if loose:
            loop = f"joint loop through {', '.join(sorted(loose))}"
            raise InputError(loop, key="joints", expected=f"a tree that starts at '{roots[0]}'")
        return self

    @model_validator(mode="after")
    def _fits_its_dimension(self) -> Module:
        planar = self.dimension == "planar"
        for body in self.bodies:
            if body.flexible:
                key = f"bodies.{body.name}.flexible"
                body.flexible.refuse_other_dimension(key, planar)
                # A beam is a line: about its own axis it has no inertia but that of its hub or its polar inertia.
                if not planar and not body.flexible.polar_inertia_kg_m and not np.any(body.inertia_kg_m2):
                    raise InputError(
                        key=f"{key}.polar_inertia_kg_m",
                        value=body.flexible.polar_inertia_kg_m,
                        expected="a number greater than 0 for a link without a hub in a spatial module",
                    )
            if planar != isinstance(body.inertia_kg_m2, float) and not (body.flexible and body.inertia_kg_m2 == 0.0):
                key = f"bodies.{body.name}.inertia_kg_m2"
                want = "one number" if planar else "six numbers ixx, iyy, izz, ixy, ixz, iyz"
                expected = f"{want} in a {self.dimension} module"
                raise InputError(key=key, value=body.inertia_kg_m2, expected=expected)
        if planar:
            self._refuse_vectors_out_of_plane()
            self._refuse_joints_out_of_plane()
        return self

    @model_validator(mode="after")
    def _every_motion_moves_a_mass(self) -> Module:
        if not is_solid(self.root):
            key = "inertia_kg_m2" if self.root.mass_kg else "mass_kg"
            expected = f"{'moments' if self.root.mass_kg else 'a mass'} greater than 0 for the root"
            raise InputError(key=f"bodies.{self.root.name}.{key}", value=getattr(self.root, key), expected=expected)
        if free := massless_motion(self):
            loose = f"{', '.join(free)} can move without moving a mass"
            raise InputError(loose, key="joints", expected="mass that resists every motion")
        return self

    def _refuse_vectors_out_of_plane(self) -> None:
        refuse_out_of_plane("gravity_m_s2", self.gravity_m_s2)
        refuse_out_of_plane("placement_m", self.placement_m)
        for body in self.bodies:
            refuse_out_of_plane(f"bodies.{body.name}.com_m", body.com_m)
        for joint in self.joints:
            refuse_out_of_plane(f"joints.{joint.name}.origin_m", joint.origin_m)
        for point in self.points:
            refuse_out_of_plane(f"points.{point.name}.position_m", point.position_m)

    def _refuse_joints_out_of_plane(self) -> None:
        for joint in self.joints:
            key = f"joints.{joint.name}"
            if joint.kind == "prismatic":
                refuse_out_of_plane(f"{key}.axis", joint.axis)
            elif len(joint.axis) < 3 or joint.axis[:2] != (0.0, 0.0) or joint.axis[2] < 0:
                expected = "[0, 0, 1] for a revolute joint in the plane"
                raise InputError(key=f"{key}.axis", value=joint.axis, expected=expected)
            if joint.rotation_rad[:2] != (0.0, 0.0):
                expected = "[0, 0, yaw] in the plane"
                raise InputError(key=f"{key}.rotation_rad", value=joint.rotation_rad, expected=expected)

    @property
    def root(self) -> Body:
        """The body that no joint carries."""
        children = {j.child for j in self.joints}
        return next(b for b in self.bodies if b.name not in children)

    def in_tree_order(self) -> tuple[Body, ...]:
        """The bodies, each after the one that carries it."""
        by_name = {b.name: b for b in self.bodies}
        order, seen = [self.root], {self.root.name}
        for body in order:
            for joint in self.joints:
                if joint.parent == body.name and joint.child not in seen:
                    order.append(by_name[joint.child])
                    seen.add(joint.child)
        return tuple(order)

    def links_too_stiff(self) -> tuple[str, ...]:
        """Flexible links whose shapes have no curvature at the tip, where a joint passes on a moment."""
        return tuple(
            body.name
            for body in self.bodies
            if (link := body.flexible) and link.shapes in _STRAIGHT_AT_TIP and _has_moment_at_tip(body, self.joints)
        )

    def joints_in_tree_order(self) -> tuple[Joint, ...]:
        """The joints in the order of their coordinates."""
        by_child = {j.child: j for j in self.joints}
        return tuple(by_child[b.name] for b in self.in_tree_order()[1:])


def _with_fitting_shapes(body: Body, joints: Iterable[Joint]) -> Body:
    """The body; polynomial shapes in place of the default where that would be too stiff."""
    link = body.flexible
    if link is None or "shapes" in link.model_fields_set or not _has_moment_at_tip(body, joints):
        return body
    return body.model_copy(update={"flexible": link.model_copy(update={"shapes": "polynomial"})})


def _has_moment_at_tip(body: Body, joints: Iterable[Joint]) -> bool:
    """Whether a body on the tip or a joint passes on a moment: all joints but revolute ones along the bending axis."""
    link = body.flexible
    if link is None:
        return False
    if link.has_tip_body:
        return True
    bending_axes = np.eye(3)[[axis for axis, modes in ((2, link.modes_y), (1, link.modes_z)) if modes]]
    for joint in joints:
        axis = rotation(joint.rotation_rad) @ spatial(joint.axis)
        parallel = np.all(np.abs(bending_axes @ axis) > _PARALLEL * np.linalg.norm(axis))
        free = joint.kind == "revolute" and bool(parallel)
        if joint.parent == body.name and joint.origin_m[0] > 0 and not free:
            return True
    return False
