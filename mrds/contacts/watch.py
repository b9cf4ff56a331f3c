"""Distances of stops, and relative velocities at stops and at contacts with friction."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from granite.kernels.compilation import compile_functions
from granite.kernels.kernel import Array, Kernel
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.friction import has_friction
from granite.mrds.contacts.system import System


class Watch:
    """The contacts that change by themselves, open or closed: stops, and those with friction. Compiled at first use."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.contacts = tuple(c.name for c in system.contacts.values() if kind_of(c.kind).one_sided or has_friction(c))

    def __call__(self, q: Array, u: Array) -> tuple[dict[str, float], dict[str, Array]]:
        """By name: distance [m], and velocity with the normal first, then tangential [m/s]."""
        gap, slip = self._errors.split(self._errors.run((q, u, self._zero, self._zero)))
        rows = self._set.rows
        return {n: float(gap[r][0]) for n, r in rows.items()}, {n: slip[r] for n, r in rows.items()}

    def prepare(self) -> None:
        """Compile it now, if there is anything to watch."""
        if self.contacts:
            _ = self._errors

    @cached_property
    def _set(self) -> ContactSet:
        return self._system.contact_set(self.contacts)

    @cached_property
    def _zero(self) -> Array:
        return np.zeros(self._set.n_held)

    @cached_property
    def _errors(self) -> Kernel:
        return compile_functions("system_watch", [self._set.assembly.errors])["errors"]
