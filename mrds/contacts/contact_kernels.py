"""The compiled functions of one contact set, each group compiled at its first use."""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from granite.config.contacts import Contact
from granite.config.modules import Module
from granite.config.parts import is_built_in
from granite.kernels.compilation import compile_once
from granite.kernels.kernel import Kernel
from granite.mrds.contacts.assembly import Assembly
from granite.mrds.contacts.drive import drive_function


class ContactKernels:
    """Functions of an assembly by name: solutions, steps, and the dense matrices."""

    def __init__(
        self,
        assembly: Assembly,
        modules: dict[str, Module],
        contacts: tuple[Contact, ...],
        planar: bool,
        slipping: frozenset[str],
    ) -> None:
        self._assembly = assembly
        self._modules = modules
        self._contacts = contacts
        self._planar = planar
        self._slipping = slipping

    def prepare(self, steps: bool) -> None:
        """Compile all groups; without `steps`, all but the steps. Driven steps only where contacts are driven."""
        _ = self.solutions, self.dense, self.drive
        if steps:
            _ = self.steps
        if steps and any(contact.motion.profiles or contact.force.profiles for contact in self._contacts):
            _ = self.driven_steps

    @cached_property
    def _key(self) -> str | None:
        """Everything that the functions follow from; None with a contact kind of a user's own."""
        if not all(is_built_in(contact.kind) for contact in self._contacts):
            return None
        tables = [table.model_dump_json() for table in (*self._modules.values(), *self._contacts)]
        return "\n".join([*tables, str(self._planar), *sorted(self._slipping)])

    @cached_property
    def solutions(self) -> dict[str, Kernel]:
        """Accelerations, constraint errors, corrections and internal forces."""
        a = self._assembly
        return compile_once(
            "system",
            self._key,
            lambda: [a.accelerate, a.driven, a.errors, a.correct, a.internal_forces, a.rate, a.normalised],
        )

    @cached_property
    def steps(self) -> dict[str, Kernel]:
        """Runge-Kutta steps, compiled apart, because a controller does not integrate."""
        a = self._assembly
        return compile_once(
            "system_steps", self._key, lambda: [a.rk4("rk4", project=False), a.rk4("rk4_projected", project=True)]
        )

    @cached_property
    def driven_steps(self) -> dict[str, Kernel]:
        """The same with driven contacts."""
        a = self._assembly
        return compile_once(
            "system_driven_steps",
            self._key,
            lambda: [a.rk4_driven("rk4", project=False), a.rk4_driven("rk4_projected", project=True)],
        )

    @cached_property
    def drive(self) -> Kernel:
        """Configured motions and forces over time; not compiled, because it is too small to gain by that."""
        return Kernel(drive_function(self._contacts, self._planar, self._slipping))

    @cached_property
    def dense(self) -> Kernel:
        """M, f, A and y as matrices."""

        def write() -> list[ca.Function]:
            every = Assembly(self._modules, self._contacts, self._planar, set(self._modules), self._slipping)
            return [every.dense()]

        return compile_once("system_dense", self._key, write)["dense"]
