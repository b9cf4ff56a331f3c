"""Contacts of the plant over time: closed and opened by command, or by physics."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.contact_set import ContactSet, Label
from granite.mrds.contacts.events import ContactStatus, Event, EventKind
from granite.mrds.contacts.friction import has_friction
from granite.mrds.contacts.switching import Move, Switching
from granite.mrds.energy import Energy
from granite.mrds.system import System
from granite.sim.plant.constrained_plant import ConstrainedPlant
from granite.sim.plant.soft_grips import compliance

#: code of the status of a contact in the log; 3: commanded to close, but out of reach
_CODES = {ContactStatus.OPEN: 0.0, ContactStatus.CLOSED: 1.0, ContactStatus.STUCK: 1.0, ContactStatus.SLIPPING: 2.0}
_REACHING = 3.0


class Contacts:
    """Which contacts are closed, and the impulses and energy of closing them."""

    def __init__(self, bed: Testbed) -> None:
        self._bed = bed
        system = System(bed.modules, bed.contacts)
        by_themselves = {c.name for c in bed.contacts if kind_of(c.kind).one_sided}
        # Where no hold is configured every contact is closed, but for stops.
        sets = [frozenset(closed) for closed in bed.contact_sets]
        if not bed.switches:
            sets = [sets[0] - by_themselves]
        #: whether contacts change by themselves
        self.watches = any(c.name in by_themselves or has_friction(c) for c in bed.contacts)
        _refuse_driven(bed, self.watches, len(sets) > 1)
        _refuse_switched_springs(bed, sets)
        is_soft = compliance(bed) is not None
        if is_soft and self.watches:
            expected = "none where contacts open and close, or slip, by themselves"
            raise InputError(file=bed.name, key="devices.grips.simulated", expected=expected)
        self._switching = Switching(system, sets, is_soft=is_soft)
        #: the contacts that are commanded to be closed
        self.commanded = self._done = sets[0]
        #: those that are in no hold keep their status of the start
        self._always = self.commanded - frozenset(bed.grips)
        self._out_of_reach: set[str] = set()
        self._energy = Energy(bed.modules)
        self._index = {contact.name: i for i, contact in enumerate(bed.contacts)}
        #: sum of the norms of closing impulses so far, for each contact [N s, N m s]
        self.caught: Array = np.zeros(len(bed.contacts))
        #: energy lost in closing so far [J]
        self.lost = 0.0

    @property
    def label(self) -> Label:
        """The contact set in force."""
        return self._switching.active.label

    def sets(self) -> tuple[ContactSet, ...]:
        """Every set that commands and physics can reach."""
        return self._switching.sets()

    def entered(self, q: Array) -> dict[str, float]:
        """The open stops whose sides penetrate each other, and the depth [m]."""
        return self._switching.entered(q)

    @property
    def closed(self) -> Array:
        """Each contact: 0 open, 1 closed, 2 closed and slipping, 3 commanded to close but out of reach."""
        codes = np.array([_CODES[status] for status in self._switching.status.values()])
        codes[[self._index[name] for name in self._out_of_reach]] = _REACHING
        return codes

    def held(self, tick: int) -> Iterator[ConstrainedPlant]:
        """The plant under every set that can be reached."""
        self._switching.prepare(moves=False)
        if self._bed.grips:
            self._energy.prepare()
        for contact_set in self.sets():
            yield ConstrainedPlant(self._bed, contact_set, tick, self.watches)

    def copy(self) -> Contacts:
        """The same contacts in the same status, which change on their own from now on."""
        new = copy(self)
        new._switching, new.caught = self._switching.copy(), self.caught.copy()
        return new

    @property
    def is_switching(self) -> bool:
        """Whether the next step closes or opens contacts, or tries to."""
        return self.commanded != self._done or bool(self._out_of_reach)

    def grip(self, setpoint: Array) -> None:
        """Command the grips of the testbed: from the next step on those with a set point are closed, others open."""
        holding = (name for name, grip in zip(self._bed.grips, setpoint.tolist(), strict=True) if grip)
        self.commanded = self._always | frozenset(holding)

    def gripped(self, q: Array) -> Array:
        """Each grip of the testbed: 1 where it is commanded to be closed and not out of reach at this pose."""
        holding = self.commanded
        if self.is_switching:
            holding = holding.difference(self._switching.missing(sorted(holding), q))
        return np.array([float(name in holding) for name in self._bed.grips])

    def command(self, q: Array, u: Array) -> tuple[Array, Array]:
        """Close the commanded contacts and open the others; a contact out of reach is tried again at the next step."""
        if not self.is_switching:
            return q, u
        self._done, before = self.commanded, self._energy.balance(q, u).energy
        q, u, events = self._switching.command(self.commanded, q, u)
        self._out_of_reach = {event.contact for event in events if event.kind is EventKind.MISSES}
        # The projection that closes gaps changes the energy a little, beside the loss of the impulse.
        drawn = before - self._energy.balance(q, u).energy - sum(event.energy_lost for event in events)
        self._note(events)
        self.lost += drawn
        return q, u

    def settle(self, q: Array, u: Array, force: Array, h: float, move: Move) -> tuple[Array, Array, float]:
        """q and u after the contact events of a step of length h under this force; the change of the work [J]."""
        before = self._switching.work
        q, u, events = self._switching.settle(q, u, force, h, move)
        self._note(events)
        return q, u, self._switching.work - before

    def _note(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self.caught[self._index[event.contact]] += np.linalg.norm(event.impulse)
            self.lost += event.energy_lost


def _refuse_switched_springs(bed: Testbed, sets: list[frozenset[str]]) -> None:
    """Refuse compliance where a contact opens and closes: a grip within reach would pull at once."""
    for contact in bed.contacts:
        if contact.compliance is not None and not all(contact.name in closed for closed in sets):
            expected = "none where the behaviour opens or closes the contact: devices.grips.simulated is for grips"
            raise InputError(file=bed.name, key=f"contacts.{contact.name}.compliance", expected=expected)


def _refuse_driven(bed: Testbed, watches: bool, switches: bool) -> None:
    """Refuse drives where contacts change: the drive at the time of an event is not available."""
    for contact in bed.contacts:
        for key, profiles, unable in (
            ("motion", contact.motion.profiles, watches or switches),
            ("force", contact.force.profiles, watches),
        ):
            if profiles and unable:
                change = "open and close by themselves" if watches else "are switched by the behaviour"
                where, expected = f"contacts.{contact.name}.{key}", f"none where contacts {change}"
                raise InputError(file=bed.name, key=where, expected=expected)
