"""Lines and discs of a module, each by the numbers of its points: of rigid bodies and of flexible links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from foxglove.messages import LinePrimitiveLineType

from granite.views.plots.silhouette import Silhouette

#: width of an outline, relative to the thickness of a link; of half a strut, relative to the reach of the base
_OUTLINE, _STRUT = 0.25, 0.3
STRIP, _LOOP, _LIST = (
    LinePrimitiveLineType.LineStrip,
    LinePrimitiveLineType.LineLoop,
    LinePrimitiveLineType.LineList,
)


class Stroke(NamedTuple):
    """A line through points, or a disc around one."""

    points: tuple[int, ...]
    kind: Any  #: of a line; None: a disc
    width: float  #: of a line, or diameter of a disc [m]


def strokes_of(module: Silhouette, thickness: float) -> Iterator[Stroke]:
    """Everything of a module: arms, beams, outlines, and the base; `thickness` is half of that of a link."""
    if base := module.base:
        if base.struts:
            ends = tuple(point for end in base.struts for point in (module.root, end))
            yield Stroke(ends, _LIST, 2 * _STRUT * base.reach)
        if len(base.corners) == 1:
            yield Stroke((base.corners[0],), None, 2 * base.radius)
        elif base.corners:
            yield Stroke(tuple(base.corners), _LOOP, 2 * base.radius or _OUTLINE * thickness)
    for link in module.links:
        yield Stroke(tuple(link), _LIST, 2 * thickness)
    for beam in module.beams:
        yield Stroke(tuple(beam), STRIP, thickness)
    for outline in (*module.outlines, *([module.stand_outline] if module.stand_outline else [])):
        yield Stroke(tuple(outline), _LOOP, _OUTLINE * thickness)
