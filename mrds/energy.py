"""Energy and momentum of a system: what an audit of a run adds up.

Contacts that hold neither store nor take energy, and push both sides alike: the rate of kinetic, gravity and strain
energy is the power of the forces less the dissipation, and momentum changes by what acts from outside alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import casadi as ca
from numpy.typing import ArrayLike

from granite.config.coordinates import positions, velocities
from granite.config.modules import Module
from granite.mrds.compilation import compile_functions
from granite.mrds.dynamics import Dynamics
from granite.mrds.kernel import Array, Kernel
from granite.mrds.tree import Tree


class Balance(NamedTuple):
    """Of all modules together, fixed ones included."""

    kinetic: float  #: [J]
    gravity: float  #: potential energy, zero with all mass at the world origin [J]
    strain: float  #: [J]
    momentum: Array  #: (3) linear [N s]
    angular_momentum: Array  #: (3) about the world origin [N m s]
    dissipation: float  #: power that the damping of flexible links takes [W]

    @property
    def energy(self) -> float:
        """What the system has in store [J]."""
        return self.kinetic + self.gravity + self.strain


class Energy:
    """The energies and momenta of modules, compiled at first use; their q and u stand one after the other."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = tuple(modules)

    def prepare(self) -> None:
        """Compile it now, so that nothing is left to the loop."""
        _ = self._kernel

    def balance(self, q: ArrayLike, u: ArrayLike) -> Balance:
        """Energies, momenta and dissipation of a state."""
        (kinetic, gravity, strain, dissipation), momentum = self._kernel.call(q, u)
        return Balance(
            float(kinetic), float(gravity), float(strain), momentum[:3].copy(), momentum[3:].copy(), float(dissipation)
        )

    @cached_property
    def _kernel(self) -> Kernel:
        return compile_functions("energy", [energy_function(self._modules)])["energy"]


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
    strain = sum((link.strain_energy for link in tree.links.values()), ca.SX(0))
    # The elastic force is K q + D u: only its damping knows u.
    dissipation = ca.dot(tree.u, ca.jacobian(tree.elastic_force(), tree.u) @ tree.u)
    energies = ca.vertcat(dynamics.kinetic_energy(), gravity, strain, dissipation)
    return ca.Function(
        f"energy_{module.name}", [tree.q, tree.u], [ca.densify(energies), ca.densify(dynamics.momentum())]
    )
