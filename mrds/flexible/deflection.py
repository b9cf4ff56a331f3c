"""Deflection of the flexible links of a testbed, relative to their lengths.

Bernoulli and Euler's beam has the curvature w'' in place of w'' / (1 + w'^2)^(3/2): off by 3 % at a deflection of a
tenth of the length, by a quarter at three tenths (Bonaventura 2002, section 8.3.6, has a tenth as the limit).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.modules import Flexible
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_functions
from granite.kernels.kernel import Kernel
from granite.mrds.flexible.shapes import bending_shapes

#: sections of a link where its deflection is taken, from the base: shapes may be zero at the tip
_SECTIONS = np.arange(1, 9) / 8


class Deflections:
    """The flexible links of a testbed, and how far a pose bends them."""

    def __init__(self, bed: Testbed) -> None:
        names, maps = [], []
        n_q = len(bed.positions)
        for module in bed.modules:
            at = bed.layout.q[module.name].stop - len(amplitudes(module))
            for body in module.in_tree_order():
                if (link := body.flexible) is not None:
                    names.append(bed.layout.name(module, body.name))
                    maps.append(_per_length(link, at, n_q))
                    at += link.n_modes
        #: names of the links
        self.links = tuple(names)
        self._maps: Array = np.array(maps).reshape(len(names), 2, len(_SECTIONS), n_q)

    def __call__(self, q: Array) -> Array:
        """Largest deflection along each link over its length (.., n_links), of poses (.., n_q)."""
        y, z = np.moveaxis(np.tensordot(q, self._maps, axes=(-1, -1)), -2, 0)
        largest: Array = np.hypot(y, z).max(axis=-1)
        return largest

    def kernel(self) -> Kernel:
        """(q) -> the square of the largest deflection of all links."""
        q = ca.SX.sym("q", self._maps.shape[-1])
        y, z = (ca.sparsify(ca.DM(self._maps[:, axis].reshape(-1, q.numel()))) @ q for axis in (0, 1))
        return compile_functions("bend", [ca.Function("bend", [q], [ca.mmax(y**2 + z**2)])])["bend"]


def _per_length(link: Flexible, at: int, n_q: int) -> Array:
    """From q to the deflection along y and along z at each section, over the length (2, sections, n_q)."""
    values = np.array([shape(_SECTIONS * link.length_m) for shape in bending_shapes(link)]) / link.length_m
    deflections = np.zeros((2, len(_SECTIONS), n_q))
    for axis, modes in enumerate((link.modes_y, link.modes_z)):
        if modes:
            deflections[axis, :, at : at + modes] = values[:modes].T
        at += modes
    return deflections
