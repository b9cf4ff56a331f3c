"""Energy and momentum of a system.

Constraint forces do no work, and act on both sides with opposite signs: the rate of kinetic, gravity and strain energy
is the power of the forces less the dissipation, and momentum changes by external forces alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from granite.config.coordinates import positions, velocities
from granite.config.modules import Module
from granite.kernels.compilation import compile_once
from granite.kernels.kernel import Array, Kernel
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree


class Balance(NamedTuple):
    """Energies and momenta of all modules together, fixed ones included."""

    kinetic: float  #: [J]
    gravity: float  #: potential energy, zero with all mass at the world origin [J]
    strain: float  #: of flexible links and of springs in joints [J]
    momentum: Array  #: (3) linear [N s]
    angular_momentum: Array  #: (3) about the world origin [N m s]
    dissipation: float  #: power lost in the damping of flexible links [W]

    @property
    def energy(self) -> float:
        """Kinetic, gravity and strain energy [J]."""
        return self.kinetic + self.gravity + self.strain


class Energy:
    """Energies and momenta of modules, compiled at first use; q and u are those of the modules one after the other."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = tuple(modules)

    def prepare(self) -> None:
        """Compile it now, so that nothing is compiled in the loop."""
        _ = self._kernel

    def balance(self, q: ArrayLike, u: ArrayLike) -> Balance:
        """Energies, momenta and dissipation of a state.

        Parameters
        ----------
        q, u
            (n_q), (n_u) of all modules.

        Returns
        -------
        Balance
            Energies [J], momenta [N s, N m s], dissipation [W].
        """
        values = self._kernel.run((np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(u, dtype=float)))
        kinetic, gravity, strain, dissipation = values[:4].tolist()
        return Balance(kinetic, gravity, strain, values[4:7], values[7:], dissipation)

    @cached_property
    def _kernel(self) -> Kernel:
        key = "\n".join(module.model_dump_json() for module in self._modules)
        return compile_once("energy", key, lambda: [energy_function(self._modules)])["energy"]


def energy_function(modules: Sequence[Module]) -> ca.Function:
    """(q, u) -> kinetic, gravity, strain energy and dissipation; linear and angular momentum."""
    q_at = [0, *accumulate(len(positions(m)) for m in modules)]
    u_at = [0, *accumulate(len(velocities(m)) for m in modules)]
    q, u = ca.MX.sym("q", q_at[-1]), ca.MX.sym("u", u_at[-1])
    energies, momentum = ca.MX.zeros(4), ca.MX.zeros(6)
    for module, *x in zip(modules, ca.vertsplit(q, q_at), ca.vertsplit(u, u_at), strict=True):
        shares = _of_module(module).call(x)
        energies, momentum = energies + shares[0], momentum + shares[1]
    return ca.Function("energy", [q, u], [energies, momentum])


def _of_module(module: Module) -> ca.Function:
    tree = Tree(module)
    dynamics = Dynamics(tree)
    mass = sum(b.mass for b in tree.bodies)
    gravity = -mass * ca.dot(tree.gravity, dynamics.centre_of_mass())
    # The elastic force is K q + D u: its derivative by u is D.
    dissipation = ca.dot(tree.u, ca.jacobian(tree.elastic_force(), tree.u) @ tree.u)
    energies = ca.vertcat(dynamics.kinetic_energy(), gravity, tree.elastic_energy(), dissipation)
    return ca.Function(
        f"energy_{module.name}", [tree.q, tree.u], [ca.densify(energies), ca.densify(dynamics.momentum())]
    )
