"""Catch and carry: all hands take hold of an object that drifts and turns, and carry it, as one state machine.

The bases of the vehicles are brought to their transit velocity, as in `catch.py`, and keep it until the hands hold.
The other states are those of `pick_and_place.py`: the hands follow the grips as estimated and close in the same tick;
then the object is led from its own motion to its goal, and the bases from theirs.
"""

# ruff: noqa: D102 - what the methods of a state do is in its `StateNote`

from __future__ import annotations

from typing import ClassVar

import numpy as np

from granite.config.base import Positive
from granite.config.behaviour import StateNote
from granite.config.errors import InputError
from granite.controllers.behaviours import pick_and_place
from granite.controllers.behaviours.pick_and_place import PickAndPlace
from granite.controllers.behaviours.state_machine import Instant, staying
from granite.controllers.model import ControlModel
from granite.controllers.trajectories.quintic import Quintic

#: how often it is looked whether the object is near [s]
_LOOKS_S = 0.1


class CatchAndCarry(PickAndPlace):
    """All hands of vehicles, and one object that drifts."""

    class Options(PickAndPlace.Options):
        """Those of `pick_and_place`, and the transit."""

        machine: ClassVar[tuple[StateNote, ...]] = (
            StateNote("accelerate", "brings the bases to their transit velocity", {"transit": "after accelerate_s"}),
            StateNote("transit", "waits until the object is near", {"reach": "grips within reach_m"}, 60.0, "halt"),
            *pick_and_place.STATES,
        )
        #: of the bases in transit
        velocity_m_s: tuple[float, float]
        accelerate_s: Positive = 4.0  #: time in which the bases gain that velocity
        #: from the first joint of each arm to its grip
        reach_m: Positive = 0.5

    def __init__(self, options: Options, model: ControlModel) -> None:
        super().__init__(options, model)
        self._transit = options
        longest = self._held.shortest_arm
        if not self._bases:
            raise InputError(key="behaviour.contacts", value=list(options.contacts), expected="hands of vehicles")
        if options.reach_m >= longest:
            straight = f"less than {longest:g}, the length of the straight arm"
            raise InputError(key="behaviour.reach_m", value=options.reach_m, expected=straight)

    def enter_accelerate(self, now: Instant) -> None:
        x, n = now.state.q[self._bases], len(self._held.bases)
        after = np.tile([*self._transit.velocity_m_s, 0.0], n)
        self._station = Quintic.speed_change(now.t, self._transit.accelerate_s, x, np.zeros(3 * n), after)
        self._still = staying(now, self._joints)
        self.sleep(self._station.end_s)

    def leave_accelerate(self, now: Instant) -> str | None:
        return "transit" if now.since >= self._transit.accelerate_s else None

    plan_accelerate = plan_transit = PickAndPlace.plan_release

    def leave_transit(self, now: Instant) -> str | None:
        self.sleep(np.inf, _LOOKS_S)
        _, _, distances = self._seen
        return "reach" if distances.max() < self._transit.reach_m else None

    def enter_reach(self, now: Instant) -> None:
        self._plan_offset(now, self._options.reach_s, self._options.before_m)
