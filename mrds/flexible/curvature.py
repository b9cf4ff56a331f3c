"""Curvature of flexible links at given sections, linear in the amplitudes of their modes: what strain gauges measure.

The curvature of the axis along y is w_y''(x), along z w_z''(x); a fibre at the distance d on the positive side of the
neutral axis has the strain -d w''.
"""

from __future__ import annotations

import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.layout import Layout
from granite.config.modules import Flexible
from granite.config.records import Array
from granite.mrds.flexible.shapes import bending_shapes


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


def links(layout: Layout) -> dict[str, Flexible]:
    """The flexible links of a layout, by name."""
    return {
        layout.name(module, body.name): body.flexible
        for module in layout.modules
        for body in module.in_tree_order()
        if body.flexible is not None
    }


def _modes(link: Flexible, axis: str) -> tuple[int, int]:
    """First mode along an axis, and how many there are."""
    return (0, link.modes_y) if axis == "y" else (link.modes_y, link.modes_z)
