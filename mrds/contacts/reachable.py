"""The contact sets that a run can reach: each command with stops open or closed, and friction stuck or slipping."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from granite.config.contacts import Contact
from granite.config.errors import InputError, one_of
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.events import ContactStatus
from granite.mrds.contacts.friction import has_friction

#: contact sets that one run may reach: each is compiled before the run
MOST_SETS = 64


def at_rest(contact: Contact) -> ContactStatus:
    """Status of a closed contact at rest."""
    return ContactStatus.STUCK if has_friction(contact) else ContactStatus.CLOSED


def moving(contact: Contact) -> ContactStatus:
    """Status of a closed contact that moves along its surface, if it can."""
    return ContactStatus.SLIPPING if has_friction(contact) else ContactStatus.CLOSED


def reachable(contacts: dict[str, Contact], commanded: Sequence[frozenset[str]]) -> list[dict[str, ContactStatus]]:
    """The status of all contacts, in every combination; `InputError` where these are too many to compile."""
    _check(contacts, commanded)
    sets = with_misses(commanded)
    choices = [{name: _choices(contact, name in closed) for name, contact in contacts.items()} for closed in sets]
    count = sum(math.prod(len(c) for c in choice.values()) for choice in choices)
    if count > MOST_SETS:
        many = [name for name in contacts if any(len(choice[name]) > 1 for choice in choices)]
        raise InputError(
            f"contacts {named(many)} open, stick and slip by themselves in {count} combinations",
            expected=f"at most {MOST_SETS}",
        )
    return [dict(zip(c, combined, strict=True)) for c in choices for combined in itertools.product(*c.values())]


def with_misses(commanded: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """The commanded sets, and those that are left where some of the grips to close miss."""
    sets = list(dict.fromkeys(commanded))
    for before in sets:  # grows on the way
        for wanted in commanded:
            kept, new = before & wanted, sorted(wanted - before)
            for n in range(len(new)):
                for met in itertools.combinations(new, n):
                    if (reached := kept.union(met)) not in sets:
                        sets.append(reached)
    return sets


def named(names: Iterable[str]) -> str:
    """Names for a message."""
    return ", ".join(f"'{name}'" for name in sorted(names)) or "nothing"


def _choices(contact: Contact, closed: bool) -> tuple[ContactStatus, ...]:
    ways = tuple(dict.fromkeys((at_rest(contact), moving(contact))))
    if kind_of(contact.kind).one_sided:
        return (ContactStatus.OPEN, *ways)
    return ways if closed else (ContactStatus.OPEN,)


def _check(contacts: dict[str, Contact], commanded: Sequence[frozenset[str]]) -> None:
    if not commanded:
        expected = "at least one, and it may be empty"
        raise InputError("none is given", key="commanded contact sets", expected=expected)
    for name in sorted(frozenset().union(*commanded)):
        if name not in contacts:
            raise InputError(f"commanded contact set names '{name}'", expected=one_of(name, contacts))
        kind = contacts[name].kind
        if kind_of(kind).one_sided:
            raise InputError(
                f"commanded contact set names '{name}' of kind {kind}, which opens and closes by itself",
                expected="grips only",
            )
