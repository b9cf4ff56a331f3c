"""Verdict on an audited run: errors of energy, momentum and contacts against their limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from granite.config.audit import audit_values
from granite.config.base import spatial
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.run_summary import AuditCheck, AuditSummary
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.friction import has_friction

#: largest errors of energy and momentum, relative to the largest kinetic energy or work
ENERGY_LIMIT = 1e-8
MOMENTUM_LIMIT = 1e-9
#: largest constraint errors of closed contacts [m, rad], [m/s, rad/s]
GAP_LIMIT = 1e-6
SLIP_LIMIT = 1e-6
#: beyond this condition number contact forces are not unique; the ones of least norm were used
CONDITION_LIMIT = 1e9


class AuditVerdict:
    """Gathers the extremes of an audited run."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._bed, self._columns = bed, channels.columns("/truth", "audit")
        self._closed = channels.columns("/truth", "closed")
        self._at = {value.name: i for i, value in enumerate(audit_values(bed))}
        self._momentum = _MomentumBalance(bed, self._at)
        self._first: Array | None = None
        self._broken = 0  #: rows with something that is not a finite number
        self._least, self._most = (np.full(len(self._at) + 1, fill) for fill in (np.inf, -np.inf))

    def update(self, rows: Array) -> None:
        """Process the next rows."""
        audit = rows[:, self._columns]
        finite = np.isfinite(audit).all(axis=1)
        self._broken += int(np.count_nonzero(~finite))
        audit = audit[finite]
        if not self._at or not len(audit):
            return
        self._momentum.update(audit, rows[finite][:, self._closed])
        self._first = audit[0].copy() if self._first is None else self._first
        # Energy balance: energy minus work is constant.
        audit = np.column_stack((audit, self._without_work(audit) - self._without_work(self._first)))
        self._least = np.minimum(self._least, audit.min(axis=0))
        self._most = np.maximum(self._most, audit.max(axis=0))

    def result(self, deflection: AuditCheck | None = None) -> AuditSummary | None:
        """Each check with its result, and that of the deflection of links; None where nothing was audited."""
        if self._first is None:
            return None
        checks = dict(self._checks())
        if deflection is not None:
            checks["deflection"] = deflection
        return {"held": all(c["held"] for name, c in checks.items() if name != "condition"), "checks": checks}

    def _checks(self) -> Iterator[tuple[str, AuditCheck]]:
        if self._broken:
            yield "finite", _check("rows that are not finite", self._broken, 0)
        at, size = self._at, np.maximum(np.abs(self._least), np.abs(self._most))
        about = max(size[at["kinetic_energy"]], size[at["work"]], np.finfo(float).tiny)
        yield "energy", _check("relative to the largest kinetic energy or work", size[-1] / about, ENERGY_LIMIT)
        if self._momentum.is_known:
            # Scale of momentum: all energy as translation of the total mass; for angular momentum at an arm of 1 m.
            mass = sum(
                b.mass_kg + (b.flexible.mass_kg if b.flexible else 0.0) for m in self._bed.modules for b in m.bodies
            )
            whole = np.sqrt(2 * mass * about)
            for name, most in zip(("momentum", "angular momentum"), self._momentum.swing(), strict=True):
                yield name, _check("relative to sqrt(2 m E)", most / whole, MOMENTUM_LIMIT)
        if self._bed.contacts:
            yield "gap", _check("m, rad", size[at["gap"]], GAP_LIMIT)
            yield "slip", _check("m/s, rad/s", size[at["slip"]], SLIP_LIMIT)
            least = float(self._least[at["independence"]])
            yield "condition", _check("1", 1 / least if least > 0 else np.inf, CONDITION_LIMIT)

    def _without_work(self, audit: Array) -> Array:
        """Energy minus the work that was put in [J]."""
        return np.asarray(audit[..., self._at["energy"]] - audit[..., self._at["work"]])


class _MomentumBalance:
    """Momentum less the impulse of the lab, which is constant while nothing is held by the ground."""

    def __init__(self, bed: Testbed, at: dict[str, int]) -> None:
        kinds = ("", "angular_")
        self._momentum = [at[f"{kind}momentum_{axis}"] for kind in kinds for axis in "xyz"] if at else []
        self._impulse = [at[f"{kind}impulse_{axis}"] for kind in kinds for axis in "xyz"] if at else []
        self._grounded = [i for i, c in enumerate(bed.contacts) if c.first.grounded or c.second.grounded]
        #: whether every impulse is known: not those of fixed bases and of gravity, nor of events within a step
        self.is_known = not (
            any(any(spatial(module.gravity_m_s2)) or module.base == "fixed" for module in bed.modules)
            or (_has_events(bed, range(len(bed.contacts))) and _is_pushed(bed))
            or _has_events(bed, self._grounded)
        )
        self._last: tuple[Array, Array] | None = None
        self._sum = self._least = self._most = np.zeros(6)

    def update(self, audit: Array, closed: Array) -> None:
        """The next rows of the audit, and the status of the contacts."""
        balance = audit[:, self._momentum] - audit[:, self._impulse]
        held = (closed[:, self._grounded] != 0).any(axis=1)
        if self._last is not None:
            balance, held = np.vstack((self._last[0], balance)), np.append(self._last[1], held)
        self._last = balance[-1:], held[-1:]
        change = np.where((held[1:] | held[:-1])[:, np.newaxis], 0.0, np.diff(balance, axis=0))
        path = self._sum + np.cumsum(change, axis=0)
        if len(path):
            self._sum = path[-1]
            self._least, self._most = (
                np.minimum(self._least, path.min(axis=0)),
                np.maximum(self._most, path.max(axis=0)),
            )

    def swing(self) -> tuple[float, float]:
        """Largest change of momentum [N s] and of angular momentum [N m s] that no impulse accounts for."""
        swing = self._most - self._least
        return float(swing[:3].max()), float(swing[3:].max())


def _has_events(bed: Testbed, contacts: Iterable[int]) -> bool:
    """Whether some of these contacts open and close, or stick and slip, by themselves."""
    return any(kind_of(bed.contacts[i].kind).one_sided or has_friction(bed.contacts[i]) for i in contacts)


def _is_pushed(bed: Testbed) -> bool:
    """Whether the lab pushes modules."""
    simulation = bed.simulation
    return bool(bed.thrusters or not simulation.table.ideal or simulation.hoses or simulation.events)


def _check(unit: str, largest: float, limit: float) -> AuditCheck:
    return {"unit": unit, "largest": float(largest), "limit": limit, "held": bool(largest <= limit)}
