"""Coulomb friction of sliding contacts, exact: its magnitude depends on the normal force, which depends on it.

The normal forces N of all sliding contacts are linear in the magnitudes m of their friction: N = a + B m, with
m = mu |N|. So N - B diag(mu) |N| = a, a complementarity problem that is one small linear system for each choice of
signs (one contact: N = a / (1 - mu s B)). Where mu |B| reaches 1, friction increases the normal force by more than
itself: there is no solution, or more than one (Painlevé's paradox, 1895). Such contacts jam.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.contacts import Contact
from granite.config.errors import GraniteError, InputError
from granite.kernels.kernel import Array
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.kind import Kind
from granite.mrds.tolerances import FRICTION_ROUNDING, NO_DIVISION_BY_ZERO


class JammedError(GraniteError):
    """Sliding contacts whose friction has no unique solution (Painlevé)."""

    def __init__(self, contacts: Sequence[str]) -> None:
        self.contacts = tuple(contacts)
        names = " and ".join(f"'{name}'" for name in contacts)
        super().__init__(
            f"contact {names} jams: its friction increases the normal force by more than itself (Painlevé), "
            "expected less friction, or a contact that sticks"
        )


class SlidingContact(NamedTuple):
    """A contact that slides under friction, among all contacts of a set."""

    contact: str
    friction: float
    one_sided: bool
    normal: int  #: index of its normal force among the constraint forces
    slip: slice  #: its slip directions among the free modes
    direction: ca.SX  #: unit vector of the slip velocity; zero where that is zero


def kinetic_friction(contact: Contact) -> float:
    """Coefficient of kinetic friction."""
    return contact.parameters.get("friction", 0.0)


def static_friction(contact: Contact) -> float:
    """Coefficient of static friction."""
    return contact.parameters.get("static_friction", kinetic_friction(contact))


def has_friction(contact: Contact) -> bool:
    """Whether static friction can hold it."""
    return bool(kind_of(contact.kind).friction_modes) and static_friction(contact) > 0


def form(contact: Contact, slips: bool) -> Kind:
    """The kind of a contact, or that of its sliding state, or with springs; without friction it always slides."""
    kind = kind_of(contact.kind)
    if contact.compliance is not None:
        return kind.yielding
    return kind.slipping if kind.friction_modes and (slips or not has_friction(contact)) else kind


def check_friction(contact: Contact) -> None:
    """Refuse static friction below kinetic friction: the contact would slip as soon as it sticks."""
    kinetic = kinetic_friction(contact)
    static = static_friction(contact)
    if static < kinetic:
        key = f"contacts.{contact.name}.parameters.static_friction"
        expected = f"at least friction = {kinetic:g}"
        raise InputError(key=key, value=static, expected=expected)


def direction_of(slip: ca.SX) -> ca.SX:
    """v / |v|, zero where v is."""
    return slip / (ca.sqrt(ca.sumsqr(slip)) + NO_DIVISION_BY_ZERO)


def magnitudes(a: ca.SX, B: ca.SX, sliding: Sequence[SlidingContact]) -> tuple[ca.SX, ca.SX]:
    """m of all sliding contacts; and the smallest margin to jamming, positive where m is valid.

    The signs start as those of a, which is exact for a single contact, and follow N for as many iterations as there are
    contacts; where they have not converged by then, the margin is negative. One-sided contacts that pull have no
    friction.
    """
    mu = [c.friction for c in sliding]
    N = a
    margin = ca.SX(1)
    signs: list[ca.SX] = []
    for _ in sliding:
        signs = [N[i] > 0 if c.one_sided else ca.sign(N[i]) for i, c in enumerate(sliding)]
        N, margin = _solved(a, B, mu, signs)
    for i, c in enumerate(sliding):
        converged = signs[i] == (N[i] > 0) if c.one_sided else signs[i] * N[i] >= 0
        gain = B[i, i] if c.one_sided else ca.fabs(B[i, i])
        margin = ca.fmin(margin, ca.if_else(converged, 1 - mu[i] * gain, -1))
    return ca.vertcat(*(f * s * N[i] for i, (f, s) in enumerate(zip(mu, signs, strict=True)))), margin


def magnitudes_by_trial(a: Array, B: Array, sliding: Sequence[SlidingContact]) -> Array:
    """The same with numbers, by trial of every choice of signs; `JammedError` unless there is exactly one solution."""
    mu = np.array([c.friction for c in sliding])
    choices = [(1.0, 0.0) if c.one_sided else (1.0, -1.0) for c in sliding]
    jamming = [c.contact for i, c in enumerate(sliding) if any(mu[i] * s * B[i, i] >= 1 for s in choices[i])]
    if jamming:
        raise JammedError(jamming)
    solutions: list[Array] = []
    for signs in itertools.product(*choices):
        K = np.eye(len(a)) - B * (mu * signs)
        if np.linalg.det(K) <= 0:
            continue
        N = np.asarray(np.linalg.solve(K, a), dtype=np.float64)
        if all(s * n >= 0 if s else n <= 0 for s, n in zip(signs, N, strict=True)):
            solutions.append(mu * signs * N)
    if not solutions or any(
        np.abs(m - solutions[0]).max() > FRICTION_ROUNDING * (1 + np.abs(m).max()) for m in solutions
    ):
        raise JammedError([c.contact for c in sliding])
    return solutions[0]


def _solved(a: ca.SX, B: ca.SX, mu: list[float], signs: list[ca.SX]) -> tuple[ca.SX, ca.SX]:
    """(1 - B diag(mu s)) N = a by elimination, and the smallest pivot: all are positive unless a contact jams."""
    n = len(mu)
    K = [[float(i == j) - B[i, j] * (mu[j] * signs[j]) for j in range(n)] for i in range(n)]
    x, least = [a[i] for i in range(n)], ca.SX(1)
    for i in range(n):
        least = ca.fmin(least, K[i][i])
        for j in range(i + 1, n):
            factor = K[j][i] / K[i][i]
            K[j] = [low - factor * high for low, high in zip(K[j], K[i], strict=True)]
            x[j] -= factor * x[i]
    for i in reversed(range(n)):
        x[i] = (x[i] - sum(K[i][j] * x[j] for j in range(i + 1, n))) / K[i][i]
    return ca.vertcat(*x), least
