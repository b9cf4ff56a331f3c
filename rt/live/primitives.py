"""Shapes of the live scene: a module as lines and solids through its points in the world."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from foxglove.messages import (
    Color,
    CylinderPrimitive,
    LinePrimitive,
    LinePrimitiveLineType,
    Point3,
    Pose,
    Quaternion,
    SpherePrimitive,
    Vector3,
)
from matplotlib.colors import to_rgb

from granite.config.records import Array
from granite.rt.plots.silhouette import Silhouette

#: height of a disc, relative to its radius; width of an outline and of a jet, relative to the thickness of a link
_DISC, _OUTLINE, _JET = 0.4, 0.25, 1.2
#: width of half a strut and length of the longest jet, relative to the reach of the base
_STRUT, _JET_LENGTH = 0.3, 1.0
NO_TURN = Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)
_ORIGIN = Pose(position=Vector3(x=0.0, y=0.0, z=0.0), orientation=NO_TURN)
_STRIP, _LOOP, _LIST = (
    LinePrimitiveLineType.LineStrip,
    LinePrimitiveLineType.LineLoop,
    LinePrimitiveLineType.LineList,
)


@cache
def colour(name: str, strength: float = 1.0) -> Color:
    """A colour of the plots."""
    r, g, b = to_rgb(name)
    return Color(r=r, g=g, b=b, a=strength)


def module_lines(module: Silhouette, at: Array, thickness: float, ink: Color) -> Iterator[LinePrimitive]:
    """Everything of a module that is no disc: arms, beams, outlines, and bases with corners; `at` is x, y, z."""
    if base := module.base:
        if base.struts:
            ends = [point for end in base.struts for point in (module.root, end)]
            yield lines(_LIST, at[ends], 2 * _STRUT * base.reach, ink)
        if len(base.corners) > 1:
            yield lines(_LOOP, at[base.corners], 2 * base.radius or _OUTLINE * thickness, ink)
    if module.links:
        yield lines(_LIST, at[[end for link in module.links for end in link]], 2 * thickness, ink)
    for beam in module.beams:
        yield lines(_STRIP, at[beam], thickness, ink)
    for outline in (*module.outlines, *([module.stand_outline] if module.stand_outline else [])):
        yield lines(_LOOP, at[outline], _OUTLINE * thickness, ink)


def module_discs(module: Silhouette, at: Array, turn: Quaternion, ink: Color) -> Iterator[CylinderPrimitive]:
    """The base of a module, where it is a disc."""
    if (base := module.base) and len(base.corners) == 1:
        size = Vector3(x=2 * base.radius, y=2 * base.radius, z=_DISC * base.radius)
        pose = Pose(position=vector(at[base.corners[0]]), orientation=turn)
        yield CylinderPrimitive(pose=pose, size=size, bottom_scale=1.0, top_scale=1.0, color=ink)


def jet_lines(module: Silhouette, at: Array, opening: Array, thickness: float, ink: Color) -> Iterator[LinePrimitive]:
    """A line out of each open thruster, as long as it is open."""
    reach = _JET_LENGTH * module.base.reach if module.base else 0.0
    for (nozzle, down), part in zip(module.jets, opening, strict=True):
        if part > 0.0:
            end = at[nozzle] + part * reach * (at[down] - at[nozzle])
            yield lines(_STRIP, (at[nozzle], end), _JET * thickness, ink)


def ball(place: Array, size: float, ink: Color) -> SpherePrimitive:
    """A mark."""
    pose = Pose(position=vector(place), orientation=NO_TURN)
    return SpherePrimitive(pose=pose, size=Vector3(x=size, y=size, z=size), color=ink)


def lines(kind: Any, points: Any, thickness: float, ink: Color) -> LinePrimitive:
    """Lines through points of the world."""
    return LinePrimitive(
        type=kind,
        pose=_ORIGIN,
        thickness=thickness,
        scale_invariant=False,
        points=[point(each) for each in points],
        color=ink,
        colors=[],
        indices=[],
    )


def point(place: Array) -> Point3:
    """A point from x, y and z."""
    x, y, z = place.tolist()
    return Point3(x=x, y=y, z=z)


def vector(place: Array) -> Vector3:
    """A place from x, y and z."""
    x, y, z = place.tolist()
    return Vector3(x=x, y=y, z=z)
