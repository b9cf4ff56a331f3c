"""How far the flexible links were bent and twisted."""

from __future__ import annotations

import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.modules import Flexible
from granite.config.records import Array
from granite.mrds.flexible.shapes import Shape, bending_shapes, twisting_shapes
from granite.views.plots.panels.panel import Panel, coloured, lines
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import words


def bending_panels(run: PlottedRun) -> list[Panel]:
    """Deflection along y and z against the tangent at the base, in millimetres; twist, in thousandths of a radian."""
    deflection: dict[str, Array] = {}
    twist: dict[str, Array] = {}
    for motion in run.motions():
        bent = motion.q[:, motion.q.shape[1] - len(amplitudes(motion.module)) :]
        for body in motion.module.in_tree_order():
            if (link := body.flexible) is None:
                continue
            counts = [link.modes_y, link.modes_z, link.modes_x, link.modes_stretch]
            y, z, x, _, bent = np.split(bent, np.cumsum(counts), axis=1)
            name = run.name(motion.module, words(body.name))
            for axis, part in (("y", y), ("z", z)):
                if part.shape[1]:
                    seen = f"{name} {axis}" if link.modes_z else name
                    deflection[seen] = 1e3 * _at_most_bent(link, bending_shapes(link), part)
            if x.shape[1]:
                twist[name] = 1e3 * _at_most_bent(link, twisting_shapes(link), x)
    panels = [lines(run, "deflection\n[mm]", coloured(deflection), zero=True)] if deflection else []
    return [*panels, *([lines(run, "twist\n[mrad]", coloured(twist), zero=True)] if twist else [])]


def _at_most_bent(link: Flexible, shapes: tuple[Shape, ...], amplitude: Array) -> Array:
    """Deflection at the tip; in the middle of a link whose shapes are zero at the tip."""
    x = np.array([0.5 * link.length_m if link.shapes == "clamped_clamped" else link.length_m])
    values: Array = amplitude @ [shape(x)[0] for shape in shapes[: amplitude.shape[1]]]
    return values
