"""Curvature and strain of flexible links at given sections, linear in the amplitudes of their modes.

The curvature of the axis along y is w_y''(x), along z w_z''(x); a fibre at the distance d on the positive side of the
neutral axis has the strain e' - d w'', e being the stretch: what strain gauges measure.
"""

from __future__ import annotations

import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.layout import Layout
from granite.config.modules import Flexible
from granite.config.records import Array
from granite.mrds.flexible.shapes import bending_shapes, stretching_shapes


def curvature(layout: Layout, link: str, axis: str, position_m: float) -> Array:
    """Row over all velocities of a layout: curvature [1/m] of a link, by name, at x, per amplitude [m]."""
    row = np.zeros(len(layout.velocities))
    for module in layout.modules:
        at = layout.u[module.name].stop - len(amplitudes(module))
        for body in module.in_tree_order():
            if body.flexible is None:
                continue
            if layout.name(module, body.name) == link:
                first, modes = _modes(body.flexible, axis)
                shapes = bending_shapes(body.flexible)[:modes]
                row[at + first : at + first + modes] = [float(s(np.array(position_m), 2)) for s in shapes]
            at += body.flexible.n_modes
    return row


def strain(layout: Layout, link: str, axis: str, position_m: float, distance_m: float) -> Array:
    """Row over all velocities of a layout: strain of a fibre of a link, by name, at x and a distance from its axis."""
    row = -distance_m * curvature(layout, link, axis, position_m)
    for module in layout.modules:
        last = layout.u[module.name].stop - len(amplitudes(module))
        for body in module.in_tree_order():
            last += body.flexible.n_modes if body.flexible else 0
            if body.flexible and layout.name(module, body.name) == link:
                shapes = stretching_shapes(body.flexible)
                row[last - len(shapes) : last] = [float(s(np.array(position_m), 1)) for s in shapes]
    return row


def _modes(link: Flexible, axis: str) -> tuple[int, int]:
    """First mode along an axis, and how many there are."""
    return (0, link.modes_y) if axis == "y" else (link.modes_y, link.modes_z)
