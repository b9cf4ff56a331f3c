"""A module of the multibody model: bodies, joints and named points that form one tree."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from config.base import Direction, Name, Positive, Table, Vector, refuse_out_of_plane, refuse_twice
from config.errors import expected_one_of, shown

#: ixx, iyy, izz, ixy, ixz, iyz
SpatialInertia = tuple[float, float, float, float, float, float]


def _one_number_or_six(value: object, check: ValidatorFunctionWrapHandler) -> float | SpatialInertia:
    try:
        inertia: float | SpatialInertia = check(value)
    except ValidationError:
        raise ValueError("expected a number, or in a spatial module ixx, iyy, izz, ixy, ixz, iyz") from None
    return inertia


def _is_physical(inertia: float | SpatialInertia) -> float | SpatialInertia:
    if isinstance(inertia, float):
        if inertia <= 0:
            raise ValueError("expected a number greater than 0")
        return inertia
    ixx, iyy, izz, ixy, ixz, iyz = inertia
    least, middle, greatest = np.linalg.eigvalsh([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    if least <= 1e-12 * abs(greatest):
        raise ValueError("singular or indefinite, expected a positive definite matrix")
    # The integral of x^2 over the mass is (Iyy + Izz - Ixx) / 2, and no real body has a negative one.
    if least + middle < greatest * (1 - 1e-9):
        raise ValueError(
            f"no body has the principal moments {least:.6g}, {middle:.6g} and {greatest:.6g}, "
            "expected none greater than the sum of the other two"
        )
    return inertia


Inertia = Annotated[float | SpatialInertia, WrapValidator(_one_number_or_six), AfterValidator(_is_physical)]


class Body(Table):
    """A rigid body. Its frame sits at the joint that carries it (root: anywhere), its mass at `com_m`."""

    name: Name
    mass_kg: Positive
    com_m: Vector = (0.0, 0.0)
    #: about the mass centre, in body axes: planar a number, spatial (ixx, iyy, izz, ixy, ixz, iyz)
    inertia_kg_m2: Inertia


class Joint(Table):
    """A joint of one degree of freedom.

    The child's frame is the parent's, moved by the origin, then the rotation, then the coordinate.
    """

    name: Name
    kind: Literal["revolute", "prismatic"] = "revolute"
    parent: Name
    child: Name
    origin_m: Vector = (0.0, 0.0)
    #: roll, pitch, yaw of the joint frame in the parent's frame (R = Rz Ry Rx); planar modules use yaw only
    rotation_rad: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: in the joint frame; a planar revolute joint turns about z and has no other choice
    axis: Direction = (0.0, 0.0, 1.0)


class Point(Table):
    """A named point fixed in a body: a tip, a gripper, a vision target."""

    name: Name
    body: Name
    position_m: Vector
    #: roll, pitch, yaw of its axes in the body (R = Rz Ry Rx); they matter to contacts
    rotation_rad: tuple[float, float, float] = (0.0, 0.0, 0.0)


class Module(Table):
    """One tree of bodies with its own coordinates."""

    name: Name
    dimension: Literal["planar", "spatial"]
    #: what the root body stands on: the ground, or nothing
    base: Literal["fixed", "floating"]
    #: where a fixed base stands: position, then roll, pitch, yaw (R = Rz Ry Rx)
    placement_m: Vector = (0.0, 0.0)
    placement_rad: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gravity_m_s2: Vector = (0.0, 0.0)
    bodies: tuple[Body, ...] = Field(min_length=1)
    joints: tuple[Joint, ...] = ()
    points: tuple[Point, ...] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> Module:
        refuse_twice("bodies", "body", [b.name for b in self.bodies])
        refuse_twice("joints", "joint", [j.name for j in self.joints])
        refuse_twice("points", "point", [p.name for p in self.points])
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
                raise ValueError(f"{key} = '{body}': no such body, {expected_one_of(body, bodies)}")
        return self

    @model_validator(mode="after")
    def _is_a_tree(self) -> Module:
        carrier: dict[str, str] = {}
        for joint in self.joints:
            if joint.child in carrier:
                raise ValueError(
                    f"joints.{joint.name}.child = '{joint.child}': joint loop, expected one joint to carry "
                    f"the body, but '{carrier[joint.child]}' carries it too"
                )
            carrier[joint.child] = joint.name
        roots = [b.name for b in self.bodies if b.name not in carrier]
        if not roots:
            raise ValueError("joints: joint loop, every body is carried by a joint, expected one that is not")
        if len(roots) > 1:
            raise ValueError(f"joints: no joint carries {', '.join(roots)}, expected one such body, the root")
        loose = {b.name for b in self.bodies} - {b.name for b in self.in_tree_order()}
        if loose:
            raise ValueError(
                f"joints: joint loop through {', '.join(sorted(loose))}, expected a tree that starts at '{roots[0]}'"
            )
        return self

    @model_validator(mode="after")
    def _fits_its_dimension(self) -> Module:
        planar = self.dimension == "planar"
        for body in self.bodies:
            if planar != isinstance(body.inertia_kg_m2, float):
                given = f"bodies.{body.name}.inertia_kg_m2 = {shown(body.inertia_kg_m2)}"
                want = "one number" if planar else "six numbers ixx, iyy, izz, ixy, ixz, iyz"
                raise ValueError(f"{given}: expected {want} in a {self.dimension} module")
        if planar:
            self._refuse_vectors_out_of_plane()
            self._refuse_joints_out_of_plane()
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
                raise ValueError(
                    f"{key}.axis = {shown(joint.axis)}: expected [0, 0, 1] for a revolute joint in the plane"
                )
            if joint.rotation_rad[:2] != (0.0, 0.0):
                raise ValueError(f"{key}.rotation_rad = {shown(joint.rotation_rad)}: expected [0, 0, yaw] in the plane")

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

    def joints_in_tree_order(self) -> tuple[Joint, ...]:
        """The joints in the order of their coordinates."""
        by_child = {j.child: j for j in self.joints}
        return tuple(by_child[b.name] for b in self.in_tree_order()[1:])
