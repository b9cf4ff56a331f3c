"""A frame with what was seen in it: windows, targets, residuals and axes of bodies, refused spots."""

from __future__ import annotations

import numpy as np
from PIL import Image as Picture
from PIL import ImageDraw

from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.pose import placed
from granite.drivers.camera.tracker import Sighting, Sightings
from granite.drivers.camera.view import PlaneView

_WINDOW, _REFUSED = (70, 130, 220), (235, 70, 60)
_AXIS_X, _AXIS_Y = (240, 160, 40), (60, 190, 90)
_TEXT = (240, 240, 240)
_TARGETS = ((60, 200, 200), (220, 120, 220), (200, 200, 60), (120, 220, 120))
#: length of the axes of a body [m]
_AXIS_M = 0.15
#: a residual is drawn so many times longer
_LONGER = 100.0
#: pixels between a target and its mark
_AROUND = 9


def draw(pixels: Pixels, seen: Sightings, view: PlaneView) -> Picture.Image:
    """The frame in colour with marks over it."""
    picture = Picture.fromarray(pixels).convert("RGB")
    pen = ImageDraw.Draw(picture)
    for window in seen.windows:
        pen.rectangle((window.left, window.top, window.right - 1, window.bottom - 1), outline=_WINDOW)
    for blob in seen.refused:
        for a, b in ((1, 1), (1, -1)):
            pen.line((blob.x - 8 * a, blob.y - 8 * b, blob.x + 8 * a, blob.y + 8 * b), fill=_REFUSED, width=2)
    lines = [f"t = {seen.t:.3f} s, {'whole frame searched' if seen.searched else f'{len(seen.windows)} windows'}"]
    for k, sighting in enumerate(seen.sightings):
        _draw_body(pen, sighting, view, _TARGETS[k % len(_TARGETS)])
        lines.append(_sentence(sighting))
    if seen.refused:
        lines.append(f"spots refused: {len(seen.refused)}")
    pen.multiline_text((8, 6), "\n".join(lines), fill=_TEXT, font_size=15)
    return picture


def _sentence(sighting: Sighting) -> str:
    (x, y, heading) = sighting.pose
    (dx, dy, turn) = sighting.deviation
    return (
        f"{sighting.body}: x {x:.4f} m, y {y:.4f} m, heading {heading:.4f} rad; deviation {1e3 * max(dx, dy):.3f} mm, "
        f"{1e3 * turn:.3f} mrad; {len(sighting.targets)} targets, largest residual {sighting.residual.max():.3f} pixel"
    )


def _draw_body(pen: ImageDraw.ImageDraw, sighting: Sighting, view: PlaneView, colour: tuple[int, int, int]) -> None:
    """Axes and name of the body, and of each target a ring, its number, and its residual as a line, enlarged."""
    axes = _AXIS_M * np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
    origin, along, across = view.to_pixel(placed(axes, sighting.pose)).tolist()
    pen.line((*origin, *along), fill=_AXIS_X, width=2)
    pen.line((*origin, *across), fill=_AXIS_Y, width=2)
    pen.text((origin[0] + 4, origin[1] + 3), sighting.body, fill=colour, font_size=15)
    residuals = sighting.residual.tolist()
    for number, (x, y), residual in zip(sighting.targets, sighting.pixels.tolist(), residuals, strict=True):
        pen.ellipse((x - _AROUND, y - _AROUND, x + _AROUND, y + _AROUND), outline=colour, width=1)
        pen.line((x, y, x, y - _LONGER * residual), fill=_REFUSED, width=2)
        pen.text((x + 2 * _AROUND, y), f"{number + 1}", fill=colour, font_size=15, anchor="lm")
