"""How far stops are from touching, and how fast all that can stop or rub moves there."""

from __future__ import annotations

from functools import cached_property

from granite.mrds.compilation import compile_functions
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.friction import rubs
from granite.mrds.kernel import Array, Kernel
from granite.mrds.system import System


class Watch:
    """The contacts that change by themselves, open or closed: stops, and what rubs. Compiled at first use."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.contacts = tuple(c.name for c in system.contacts.values() if KINDS[c.kind].one_sided or rubs(c))

    def __call__(self, q: Array, u: Array) -> tuple[dict[str, float], dict[str, Array]]:
        """Distance of each, and its velocity: normal first, then slip."""
        gap, slip = self._errors.call(q, u, 0.0)
        rows = self._set.rows
        return {n: float(gap[r][0]) for n, r in rows.items()}, {n: slip[r].copy() for n, r in rows.items()}

    def prepare(self) -> None:
        """Compile it now, if there is anything to watch."""
        if self.contacts:
            _ = self._errors

    @cached_property
    def _set(self) -> ContactSet:
        return self._system.contact_set(self.contacts)

    @cached_property
    def _errors(self) -> Kernel:
        return compile_functions("system_watch", [self._set.assembly.errors])["errors"]
