"""Coulomb's friction, exact while a contact slips: its force depends on the pressing force, which depends on it.

The pressing forces N of all slipping contacts are linear in the magnitudes m of the friction: N = a + B m, with
m = mu |N|. So N - B diag(mu) |N| = a, one small system for each choice of signs (one contact:
N = a / (1 - mu s B)). Where mu |B| reaches 1, friction presses harder than it is pressed: no motion fits,
or more than one (Painlevé 1895). Such contacts jam, and that has a name.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.contacts import Contact
from granite.config.errors import InputError
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.kind import Kind
from granite.mrds.kernel import Array


class JammedError(Exception):
    """Contacts that slip, but no single motion fits their friction."""

    def __init__(self, contacts: Sequence[str]) -> None:
        self.contacts = tuple(contacts)
        names = " and ".join(f"'{name}'" for name in contacts)
        super().__init__(
            f"contact {names} jams: its friction presses harder than it is pressed (Painlevé), "
            "expected less friction or that it sticks"
        )


class Rub(NamedTuple):
    """A contact that slips, among all contacts of a set."""

    contact: str
    friction: float
    one_sided: bool
    normal: int  #: where its pressing force stands among the holding forces
    slip: slice  #: where its slip directions stand among the free modes
    direction: ca.SX  #: of the slip, of unit length; zero where it does not move


def kinetic_friction(contact: Contact) -> float:
    """The coefficient while it slips."""
    return contact.parameters.get("friction", 0.0)


def static_friction(contact: Contact) -> float:
    """The coefficient while it sticks."""
    return contact.parameters.get("static_friction", kinetic_friction(contact))


def rubs(contact: Contact) -> bool:
    """Whether it can stick."""
    return bool(KINDS[contact.kind].rubbing) and static_friction(contact) > 0


def form(contact: Contact, slips: bool) -> Kind:
    """The kind of a contact as it is now; without friction it always slips."""
    kind = KINDS[contact.kind]
    return kind.slipping if kind.rubbing and (slips or not rubs(contact)) else kind


def check_friction(contact: Contact) -> None:
    """Refuse a contact that would slip as soon as it sticks."""
    kinetic, static = kinetic_friction(contact), static_friction(contact)
    if static < kinetic:
        raise InputError(
            f"contacts.{contact.name}.parameters.static_friction = {static:g}, expected at least friction = {kinetic:g}"
        )


def direction_of(slip: ca.SX) -> ca.SX:
    """v / |v|, zero where v is."""
    return slip / (ca.sqrt(ca.sumsqr(slip)) + 1e-300)


def magnitudes(a: ca.SX, B: ca.SX, rubbing: Sequence[Rub]) -> tuple[ca.SX, ca.SX]:
    """m of all slipping contacts; and the least of the margins to jamming, positive where m is right.

    The signs start with those of a, which is right for a single contact, and follow N for as many rounds as there are
    contacts; where they have not settled by then, the margin says so. One-sided contacts that pull do not rub.
    """
    mu, N, margin = [r.friction for r in rubbing], a, ca.SX(1)
    signs: list[ca.SX] = []
    for _ in rubbing:
        signs = [N[i] > 0 if r.one_sided else ca.sign(N[i]) for i, r in enumerate(rubbing)]
        N, margin = _solved(a, B, mu, signs)
    for i, r in enumerate(rubbing):
        settled = signs[i] == (N[i] > 0) if r.one_sided else signs[i] * N[i] >= 0
        against = B[i, i] if r.one_sided else ca.fabs(B[i, i])
        margin = ca.fmin(margin, ca.if_else(settled, 1 - mu[i] * against, -1))
    return ca.vertcat(*(f * s * N[i] for i, (f, s) in enumerate(zip(mu, signs, strict=True)))), margin


def magnitudes_by_trial(a: Array, B: Array, rubbing: Sequence[Rub]) -> Array:
    """The same with numbers and every choice of signs; raises `JammedError` where not exactly one of them fits."""
    mu = np.array([r.friction for r in rubbing])
    choices = [(1.0, 0.0) if r.one_sided else (1.0, -1.0) for r in rubbing]
    stubborn = [r.contact for i, r in enumerate(rubbing) if any(mu[i] * s * B[i, i] >= 1 for s in choices[i])]
    if stubborn:
        raise JammedError(stubborn)
    fitting: list[Array] = []
    for signs in itertools.product(*choices):
        K = np.eye(len(a)) - B * (mu * signs)
        if np.linalg.det(K) <= 0:
            continue
        N = np.asarray(np.linalg.solve(K, a), dtype=np.float64)
        if all(s * n >= 0 if s else n <= 0 for s, n in zip(signs, N, strict=True)):
            fitting.append(mu * signs * N)
    if not fitting or any(np.abs(m - fitting[0]).max() > 1e-9 * (1 + np.abs(m).max()) for m in fitting):
        raise JammedError([r.contact for r in rubbing])
    return fitting[0]


def _solved(a: ca.SX, B: ca.SX, mu: list[float], signs: list[ca.SX]) -> tuple[ca.SX, ca.SX]:
    """(1 - B diag(mu s)) N = a by elimination, and the least pivot: all are positive unless something jams."""
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
