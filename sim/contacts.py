"""The contacts of the plant over time: closed and opened by command, or by physics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.contact_set import ContactSet, Label
from granite.mrds.contacts.events import Event, Status, What
from granite.mrds.contacts.friction import rubs
from granite.mrds.contacts.switching import Switching
from granite.mrds.energy import Energy
from granite.mrds.system import System
from granite.sim.held import Held

#: how the status of a contact stands in the log; 3: told to take hold, but what it should hold is out of reach
_CODES = {Status.OPEN: 0.0, Status.CLOSED: 1.0, Status.STUCK: 1.0, Status.SLIPPING: 2.0}
_REACHING = 3.0


class Contacts:
    """Which contacts are closed, and what closing them took."""

    def __init__(self, bed: Testbed) -> None:
        self._bed = bed
        system = System(bed.modules, bed.contacts)
        by_themselves = {c.name for c in bed.contacts if KINDS[c.kind].one_sided}
        # Where no hold is named every contact is closed, but for those that decide themselves.
        sets = [frozenset(closed) for closed in bed.contact_sets]
        if not bed.holds:
            sets = [sets[0] - by_themselves]
        #: whether contacts change by themselves
        self.watches = any(c.name in by_themselves or rubs(c) for c in bed.contacts)
        _refuse_driven(bed, self.watches, len(sets) > 1)
        self._switching = Switching(system, sets)
        #: the contacts that are to be closed, as far as they obey commands
        self.told = self._done = sets[0]
        self._out_of_reach: set[str] = set()
        self._energy = Energy(bed.modules)
        self._index = {contact.name: i for i, contact in enumerate(bed.contacts)}
        #: size of the impulses of taking hold so far, for each contact [N s, N m s]
        self.caught: Array = np.zeros(len(bed.contacts))
        #: energy that taking hold took so far [J]
        self.lost = 0.0

    @property
    def label(self) -> Label:
        """The contact set in force."""
        return self._switching.active.label

    def sets(self) -> tuple[ContactSet, ...]:
        """Every set that commands and physics can reach."""
        return self._switching.sets()

    def entered(self, q: Array) -> dict[str, float]:
        """The stops that are open although their sides are in each other, and how far [m]."""
        return self._switching.entered(q)

    @property
    def closed(self) -> Array:
        """Each contact: 0 open, 1 closed, 2 closed and slipping, 3 told to close but out of reach."""
        codes = np.array([_CODES[status] for status in self._switching.status.values()])
        codes[[self._index[name] for name in self._out_of_reach]] = _REACHING
        return codes

    def held(self, tick: int) -> Iterator[Held]:
        """The plant under every set that can be reached."""
        self._switching.prepare()
        if self._bed.grips:
            self._energy.prepare()
        for contact_set in self.sets():
            yield Held(self._bed, contact_set, tick)

    def command(self, q: Array, u: Array) -> tuple[Array, Array]:
        """Close what is to be closed and open the rest; what is out of reach is tried again."""
        if self.told == self._done and not self._out_of_reach:
            return q, u
        self._done, before = self.told, self._energy.balance(q, u).energy
        q, u, events = self._switching.command(self.told, q, u)
        self._out_of_reach = {event.contact for event in events if event.what is What.MISSES}
        # Parts that are drawn together change their inertia a little, beside what the impulse takes.
        drawn = before - self._energy.balance(q, u).energy - sum(event.energy_lost for event in events)
        self._note(events)
        self.lost += drawn
        return q, u

    def settle(self, q: Array, u: Array, force: Array, h: float) -> tuple[Array, Array]:
        """What contacts do by themselves after a step of length h under this force of the lab."""
        q, u, events = self._switching.settle(q, u, force, h)
        self._note(events)
        return q, u

    def _note(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self.caught[self._index[event.contact]] += np.linalg.norm(event.impulse)
            self.lost += event.energy_lost


def _refuse_driven(bed: Testbed, watches: bool, switches: bool) -> None:
    """Taking hold of what is moved, and touching under a force over time, would need the time of the event."""
    for contact in bed.contacts:
        for key, profiles, unable in (
            ("motion", contact.motion.profiles, watches or switches),
            ("force", contact.force.profiles, watches),
        ):
            if profiles and unable:
                raise InputError(
                    f"{bed.name}: contacts.{contact.name}.{key}: expected none where contacts "
                    f"{'open and close by themselves' if watches else 'are switched by behaviour.holds'}"
                )
