"""Shapes of the live scene as messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from foxglove.messages import (
    Color,
    CubePrimitive,
    CylinderPrimitive,
    LinePrimitive,
    Point3,
    Pose,
    Quaternion,
    SceneEntity,
    SpherePrimitive,
    Timestamp,
    Vector3,
)
from matplotlib.colors import to_rgb

from granite.views.plots.silhouette import Silhouette
from granite.views.scene_messages.strokes import STRIP, Stroke

#: x, y and z [m]
Position = Sequence[float]

#: height of a disc, relative to its diameter
_DISC = 0.2
#: width of a jet, relative to the thickness of a link; length of the longest, relative to the reach of the base
_JET, _JET_LENGTH = 1.2, 1.0
NO_TURN = Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)
_ORIGIN = Pose(position=Vector3(x=0.0, y=0.0, z=0.0), orientation=NO_TURN)


@cache
def colour(name: str, strength: float = 1.0) -> Color:
    """A colour of the plots."""
    r, g, b = to_rgb(name)
    return Color(r=r, g=g, b=b, a=strength)


def entity(
    name: str, frame: str, stamp: Timestamp, strokes: Iterable[tuple[Stroke, Sequence[Position]]], ink: Color
) -> SceneEntity:
    """Strokes with their places in a frame, with which they move."""
    lines, discs = [], []
    for stroke, positions in strokes:
        if stroke.kind is not None:
            lines.append(line(stroke.kind, positions, stroke.width, ink))
        else:
            size = Vector3(x=stroke.width, y=stroke.width, z=_DISC * stroke.width)
            pose = Pose(position=vector(positions[0]), orientation=NO_TURN)
            discs.append(CylinderPrimitive(pose=pose, size=size, bottom_scale=1.0, top_scale=1.0, color=ink))
    return SceneEntity(timestamp=stamp, frame_id=frame, id=name, frame_locked=True, lines=lines, cylinders=discs)


def jet_lines(
    module: Silhouette, at: Sequence[Position], opening: Sequence[float], thickness: float, ink: Color
) -> Iterator[LinePrimitive]:
    """A line out of each open thruster, as long as it is open."""
    reach = _JET_LENGTH * module.base.reach if module.base else 0.0
    for (nozzle, down), part in zip(module.jets, opening, strict=True):
        if part > 0.0:
            end = [a + part * reach * (b - a) for a, b in zip(at[nozzle], at[down], strict=True)]
            yield line(STRIP, (at[nozzle], end), _JET * thickness, ink)


def ball(position: Position, size: float, ink: Color) -> SpherePrimitive:
    """A mark."""
    pose = Pose(position=vector(position), orientation=NO_TURN)
    return SpherePrimitive(pose=pose, size=Vector3(x=size, y=size, z=size), color=ink)


def plate(corners: Sequence[float], thickness: float, ink: Color) -> CubePrimitive:
    """A plate from x0, y0 to x1, y1 whose upper side is half its thickness below zero."""
    x0, y0, x1, y1 = corners
    pose = Pose(position=Vector3(x=(x0 + x1) / 2, y=(y0 + y1) / 2, z=-thickness), orientation=NO_TURN)
    return CubePrimitive(pose=pose, size=Vector3(x=x1 - x0, y=y1 - y0, z=thickness), color=ink)


def line(kind: Any, positions: Iterable[Position], thickness: float, ink: Color) -> LinePrimitive:
    """A line through places."""
    return LinePrimitive(
        type=kind,
        pose=_ORIGIN,
        thickness=thickness,
        scale_invariant=False,
        points=[Point3(x=x, y=y, z=z) for x, y, z in positions],
        color=ink,
        colors=[],
        indices=[],
    )


def vector(position: Position) -> Vector3:
    """A place from x, y and z."""
    x, y, z = position
    return Vector3(x=x, y=y, z=z)
