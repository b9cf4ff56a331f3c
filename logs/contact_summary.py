"""Loads of the contacts of a run, and when they opened and closed."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.contact_changes import ContactChanges
from granite.logs.run_summary import ContactChange, Metrics

#: unit of the internal force: one norm of forces and moments, a moment counts as the force on a lever of 1 m
SQUEEZE_UNIT = "N, N m/m"


#: changes that a summary lists; the log has an event for each
_LISTED = 10_000


class ContactSummary:
    """Gathers the largest forces and the changes."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._bed, self._columns = bed, {e: channels.columns("/truth", e) for e in ("closed", "wrench", "squeeze")}
        n = len(bed.contacts)
        self._linear = 2 if bed.planar else 3
        self._force, self._moment, self._closed = np.zeros(n), np.zeros(n), np.zeros(n)
        self._squeeze, self._squares, self._n = np.zeros(len(bed.squeezed)), np.zeros(len(bed.squeezed)), 0
        self._changes = ContactChanges(bed, channels)
        self._events: list[ContactChange] = []
        self._not_listed = 0

    def update(self, rows: Array) -> None:
        """Process the next rows."""
        if not self._bed.contacts:
            return
        wrench = np.nan_to_num(rows[:, self._columns["wrench"]]).reshape(len(rows), len(self._force), -1)
        sizes = (np.linalg.norm(part, axis=2).max(axis=0) for part in np.split(wrench, [self._linear], axis=2))
        self._force, self._moment = (np.maximum(x, y) for x, y in zip((self._force, self._moment), sizes, strict=True))
        # 1 closed, 2 slipping; 3 is out of reach
        self._closed += np.isin(rows[:, self._columns["closed"]], (1, 2)).sum(axis=0)
        squeeze = np.nan_to_num(rows[:, self._columns["squeeze"]])
        self._squeeze = np.maximum(self._squeeze, squeeze.max(axis=0))
        self._squares = np.cumsum(np.vstack((self._squares, np.square(squeeze))), axis=0)[-1]
        self._n += len(rows)
        for change in self._changes.look(rows):
            if len(self._events) == _LISTED:
                self._not_listed += 1
                continue
            self._events.append(
                {
                    "t_s": change.t,
                    "contact": change.contact,
                    "what": change.what,
                    "impulse": change.impulse,
                    "energy_lost_j": change.energy_lost,
                }
            )

    def add_to(self, metrics: Metrics) -> None:
        """Loads, internal forces and changes by name; nothing where there are no contacts."""
        if not self._bed.contacts:
            return
        period = self._bed.loop.period_s
        borne = zip(self._bed.contacts, self._force, self._moment, self._closed, strict=True)
        metrics["contacts"] = {
            contact.name: {
                "force": {"unit": "N", "max": float(force)},
                "moment": {"unit": "N m", "max": float(moment)},
                "closed_s": float(ticks) * period,
            }
            for contact, force, moment, ticks in borne
        }
        metrics["squeeze"] = {
            name: {"unit": SQUEEZE_UNIT, "max": float(size), "rms": float(np.sqrt(squares / max(self._n, 1)))}
            for name, size, squares in zip(self._bed.squeezed, self._squeeze, self._squares, strict=True)
        }
        metrics["switching"] = self._events
        if self._not_listed:
            metrics["switching_not_listed"] = self._not_listed
