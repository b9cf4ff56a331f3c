"""Options of every behaviour: contacts to close over time, and torques where there is no controller."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.contacts import Moment
from granite.config.errors import InputError
from granite.config.parts import PartTable

if TYPE_CHECKING:
    from granite.config.coordinates import Coordinate
    from granite.config.testbed import Testbed


#: sets of names
Groups = tuple[tuple[Name, ...], ...]


class TorqueProfile(Moment):
    """The moment of a motor, from `from_s` until `until_s`; zero elsewhere."""

    from_s: NotNegative = 0.0  #: begin of the moment
    until_s: Positive | None = None  #: end of the moment; none: the end of the run

    def at(self, t: float) -> float:
        """The torque at a time [N m]."""
        if t < self.from_s or (self.until_s is not None and t >= self.until_s):
            return 0.0
        swing = math.sin(2 * math.pi * t / self.period_s + self.phase_rad) if self.period_s else 0.0
        return self.offset_n_m + self.amplitude_n_m * swing


class Hold(Table):
    """From `from_s` on these contacts are to be closed, and no others."""

    from_s: NotNegative  #: time from which it holds
    closed: tuple[Name, ...]  #: contacts by name; empty: none is closed


class StateNote(NamedTuple):
    """A state of a state machine: for its run, its drawing and its events."""

    name: str
    doing: str  #: one clause for people
    leads_to: dict[str, str]  #: the states that can follow, each with its condition in words
    timeout_s: float | None = None
    on_timeout: str | None = None  #: the state that follows the time-out
    fails: bool = False  #: the behaviour did not do what it should: the summary and the exit code say so
    thrusters: bool = True  #: they may fire; otherwise the vehicles coast


class Behaviour(PartTable):
    """The options that every behaviour has; without torques and without a controller everything moves freely."""

    #: where there is no controller, by joint
    torques: dict[str, TorqueProfile] = Field(default_factory=dict)
    #: which contacts are closed when; none: all of them, all the time
    holds: tuple[Hold, ...] = ()
    #: sets of contacts that a state machine closes, the first at the start; none: it switches no contacts
    contact_sets: Groups = ()

    def states(self) -> tuple[StateNote, ...]:
        """The states of a state machine; none of any other behaviour."""
        return ()

    def goals(self, bed: Testbed) -> tuple[Coordinate, ...]:
        """The coordinates that goals may name while it runs; none of a behaviour that takes no goals."""
        return ()

    def actions(self, bed: Testbed) -> tuple[str, ...]:
        """What an operator may ask it to do, by name: `grip left`, `leap`."""
        return ()

    @model_validator(mode="after")
    def _one_way_to_switch(self) -> Behaviour:
        if self.holds and self.contact_sets:
            raise InputError(key="holds", value=len(self.holds), expected="none beside contact_sets")
        return self

    @model_validator(mode="after")
    def _holds_follow_each_other(self) -> Behaviour:
        for i, hold in enumerate(self.holds):
            key, value = f"holds.{i}.from_s", hold.from_s
            if i == 0 and value != 0:
                raise InputError(key=key, value=value, expected="0, because the run begins with it")
            if i > 0 and value <= self.holds[i - 1].from_s:
                before = self.holds[i - 1].from_s
                raise InputError(key=key, value=value, expected=f"more than {before}, when the last began")
        return self


class OpaqueBehaviour(Behaviour):
    """A behaviour as recorded in a log."""

    model_config = ConfigDict(extra="allow")

    @model_serializer(mode="wrap")
    def _as_it_stood(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without keys that the log does not have: the behaviour itself may not know them."""
        return {key: value for key, value in handler(self).items() if key in self.model_fields_set}
