"""Momentum of modules that float together while a gap between them is closed.

A projected pose with the velocities before it has another momentum than before. Forces between modules change none: so
each group of modules that closed contacts join, and that nothing joins to the ground, gets the motion as one rigid body
that makes up for the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise

import numpy as np

from granite.config.contacts import Contact
from granite.config.coordinates import velocities
from granite.config.modules import Module
from granite.kernels.kernel import Array
from granite.mrds.energy import Energy


class FloatingMomentum:
    """Momentum of groups of modules, of which q (n_q) and u (n_u) are given one after the other."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules, self._energy = modules, Energy(list(modules.values()))
        ends = pairwise(accumulate((len(velocities(module)) for module in modules.values()), initial=0))
        self._columns = {name: list(range(*end)) for name, end in zip(modules, ends, strict=True)}

    def prepare(self) -> None:
        """Compile it now, so that nothing is compiled in the loop."""
        self._energy.prepare()

    def kept(self, contacts: Iterable[Contact], M: Array, before: Array, after: Array, u: Array) -> Array:
        """u with the momentum at the pose before, for the pose after; M is the mass matrix there.

        The change is the smallest in the metric of M: M du = H^T a with H du = the difference, where H u is the
        momentum. H^T = M R with the motions R of one rigid body, so that du moves no contact.
        """
        u = u.copy()
        for group in self._groups(contacts):
            columns = [i for name in group for i in self._columns[name]]
            H = self._matrix(after, columns)
            missing = (self._matrix(before, columns) - H) @ u[columns]
            rigid = np.linalg.solve(M[np.ix_(columns, columns)], H.T)
            u[columns] += rigid @ np.linalg.lstsq(H @ rigid, missing, rcond=1e-9)[0]
        return u

    def _matrix(self, q: Array, columns: list[int]) -> Array:
        """H (6, columns): momentum is linear in u."""
        matrix = np.empty((6, len(columns)))
        for k, column in enumerate(columns):
            unit = np.zeros(sum(map(len, self._columns.values())))
            unit[column] = 1.0
            balance = self._energy.balance(q, unit)
            matrix[:, k] = np.concatenate([balance.momentum, balance.angular_momentum])
        return matrix

    def _groups(self, contacts: Iterable[Contact]) -> list[set[str]]:
        """Modules that contacts join, without those that are joined to the ground."""
        groups = [{name} for name in self._modules]
        fixed = {name for name, module in self._modules.items() if module.base == "fixed"}
        for contact in contacts:
            if contact.first.grounded or contact.second.grounded:
                fixed |= {side.module for side in (contact.first, contact.second) if not side.grounded}
                continue
            ends = {contact.first.module, contact.second.module}
            joined = [group for group in groups if group & ends]
            groups = [group for group in groups if not group & ends] + [set[str]().union(*joined)]
        return [group for group in groups if not group & fixed and len(group) > 1]
