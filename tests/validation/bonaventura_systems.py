"""Systems of Bonaventura 2002, chapter 8, in `mrds`: untruncated flexible modules joined by revolute contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from granite.config.contacts import Contact, Side
from granite.config.modules import Module
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.system import System
from tests.support.flexible_arms import Array, flexible, planar_arm
from tests.support.random_systems import Referee, split
from tests.validation.bonaventura_tables import Modes

#: System 6a, both arms: shoulder, elbow, amplitudes. Its pose is not printed: bases 2 m apart, first links upright,
#: second links level
UPRIGHT = np.radians([90.0, -90.0, 0.0, 0.0, 0.0, 0.0, 90.0, 90.0, 0.0, 0.0, 0.0, 0.0])
#: drift feedback on contact forces (section 6.4): K_v [N s/m], K_p [N/m]
GAINS = (0.2, 0.1)


def mobile_link(name: str, length: float, modes: int) -> Module:
    """A link with a free base; without modes it is rigid."""
    points = [
        {"name": end, "body": "link1", "position_m": [x, 0.0]} for end, x in (("base", 0.0), ("tip", length))
    ]  # fmt: skip
    body = {"name": "link1", "flexible": flexible(length, modes)}
    return Module.model_validate(
        {"name": name, "dimension": "planar", "base": "floating", "bodies": [body], "points": points}
    )


def revolute(E: tuple[str, str] | None, P: tuple[str, str]) -> Contact:
    """Of P against E; without E on the ground at the origin."""
    first = Side() if E is None else Side(module=E[0], point=E[1])
    return Contact(name=f"at_{P[0]}", kind="revolute", first=first, second=Side(module=P[0], point=P[1]))


class Path(NamedTuple):
    """A run: one row for each step."""

    t: Array
    q: Array
    u: Array


class Series:
    """Modules one after the other: the first on the ground, then mobile links, each held at the tip before."""

    def __init__(self, lengths: Sequence[float], modes: Sequence[int], fixed: int = 2) -> None:
        links = list(zip(lengths, modes, strict=True))
        first = planar_arm([flexible(L, n) for L, n in links[:fixed]], name="module1")
        rest = [mobile_link(f"module{k}", L, n) for k, (L, n) in enumerate(links[fixed:], start=2)]
        modules = [first, *rest]
        contacts = [revolute((a.name, "tip"), (b.name, "base")) for a, b in pairwise(modules)]
        self.lengths, self.modes, self.fixed = list(lengths), list(modes), fixed
        self.system = System(modules, contacts)
        self.closed = self.system.contact_set()

    def straight(self) -> Array:
        """Along x, unbent."""
        parts = [np.zeros(self.fixed + sum(self.modes[: self.fixed]))]
        for k in range(self.fixed, len(self.lengths)):
            parts.append(np.concatenate([[sum(self.lengths[:k])], np.zeros(2 + self.modes[k])]))
        return np.concatenate(parts)

    def run(self, torques: Callable[[float], Array], duration: float, h: float = 1e-3) -> Path:
        """From rest, straight. Joints inside the first module are driven there, the others in their contacts."""
        force, n = np.zeros(self.system.n_u), self.fixed

        def drive(t: float) -> tuple[Array, Array]:
            tau = torques(t)
            force[:n] = tau[:n]
            return force, tau[n:]

        q = self.straight()
        return run(self.closed, q, np.zeros(self.system.n_u), drive, duration, h)

    def angles(self, path: Path) -> Array:
        """Of the links at their bases, from the world's x axis [rad]."""
        return self._turned(path.q, "q")[0]

    def tip(self, path: Path) -> Array:
        """Of the last link, a mobile one [m]."""
        q = list(split(self.system, path.q.T, "q").values())[-1]
        m = Modes(self.lengths[-1], self.modes[-1])
        along, across = m.L - np.einsum("ik,ij,jk->k", q[3:], m.slopes, q[3:]) / 2, m.tip @ q[3:]
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([q[0] + along * c - across * s, q[1] + along * s + across * c]).T

    def worst_gap(self, path: Path, every: int = 10) -> float:
        """The greatest distance in any contact [m]."""
        return worst_gap(self.closed, path, every)

    def energy(self, path: Path) -> float:
        """At the end [J]."""
        return Referee(self.system, self.closed).energy(path.q[-1], path.u[-1])

    def work(self, path: Path, torques: Callable[[float], Array]) -> float:
        """Of all joint torques [J]: each against the rate of its link less that of the section before it."""
        at_base, at_tip = self._turned(path.u, "u")
        rates = at_base - np.hstack([np.zeros((len(path.t), 1)), at_tip[:, :-1]])
        power = [torques(t) @ rate for t, rate in zip(path.t, rates, strict=True)]
        return float(np.trapezoid(power, path.t))

    def _turned(self, stacked: Array, of: str) -> tuple[Array, Array]:
        """Angles at the bases and tips of all links, or their rates: both add up along the arm."""
        first, *others = split(self.system, stacked.T, of).values()
        at_base, at_tip = arm_angles(first.T, self.lengths[: self.fixed], self.modes[: self.fixed])
        bases, tips = [*at_base.T], [*at_tip.T]
        for q, L, n in zip(others, self.lengths[self.fixed :], self.modes[self.fixed :], strict=True):
            bases.append(q[2])
            tips.append(q[2] + Modes(L, n).tip_slope @ q[3:])
        return np.array(bases).T, np.array(tips).T


def arm_angles(q: Array, lengths: Sequence[float], modes: Sequence[int]) -> tuple[Array, Array]:
    """Of the links of an arm on the ground, at their bases and tips, from the world's x axis: rows of q as `mrds` has
    them, each joint from the section that carries it."""
    bases, tips, at, first = [], [], np.zeros(len(q)), len(lengths)
    for k, (L, n) in enumerate(zip(lengths, modes, strict=True)):
        at = at + q[:, k]
        bases.append(at)
        at = at + q[:, first : first + n] @ Modes(L, n).tip_slope
        tips.append(at)
        first += n
    return np.array(bases).T, np.array(tips).T


def run(
    closed: ContactSet,
    q: Array,
    u: Array,
    drive: Callable[[float], tuple[Array, Array]],
    duration: float,
    h: float = 1e-3,
    feedback: tuple[float, float] = (0.0, 0.0),
) -> Path:
    """Classical Runge and Kutta in planar coordinates; `drive` gives force and free force, asked at every stage."""
    n, steps = len(q), round(duration / h)
    x = np.concatenate([q, u])
    path = np.empty((steps + 1, len(x)))

    def push(t: float) -> tuple[Array, Array]:
        force, free = drive(t)
        return force.copy(), free

    def rate(x: Array, force: Array, free: Array) -> Array:
        motion = closed.accelerate(x[:n], x[n:], force, free_force=free, feedback=feedback)
        return np.concatenate([x[n:], motion.acceleration])

    path[0], end = x, push(0.0)
    for k in range(steps):
        start, middle, end = end, push((k + 0.5) * h), push((k + 1) * h)
        k1 = rate(x, *start)
        k2 = rate(x + h / 2 * k1, *middle)
        k3 = rate(x + h / 2 * k2, *middle)
        k4 = rate(x + h * k3, *end)
        path[k + 1] = x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return Path(h * np.arange(steps + 1), path[:, :n], path[:, n:])


def worst_gap(closed: ContactSet, path: Path, every: int = 10) -> float:
    """The greatest distance in any contact over a run [m]."""
    rows = range(0, len(path.t), every)
    return max(float(np.abs(closed.errors(path.q[k], path.u[k])[0]).max()) for k in rows)


def parallel_arms(lengths: tuple[float, float], distance: float, modes: int = 2) -> ContactSet:
    """System 6: two arms of two links, so far apart, tips joined by an unpowered revolute contact."""
    arms = [
        planar_arm([flexible(L, modes) for L in lengths], name=name, placement_m=[x, 0.0])
        for name, x in (("left", 0.0), ("right", distance))
    ]
    sides = [Side(module=name, point="tip") for name in ("left", "right")]
    hold = Contact(name="hold", kind="revolute", first=sides[0], second=sides[1])
    return System(arms, [hold]).contact_set()


def shoulders_and_elbows(torques: Callable[[float], Array], modes: int = 2) -> Callable[[float], tuple[Array, Array]]:
    """Joint torques of both arms of system 6 as their generalised force; none in the contact."""
    force, nothing, n = np.zeros(2 * (2 + 2 * modes)), np.zeros(1), 2 + 2 * modes

    def drive(t: float) -> tuple[Array, Array]:
        force[[0, 1, n, n + 1]] = torques(t)
        return force, nothing

    return drive
