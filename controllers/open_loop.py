"""Controllers that look at nothing: torques over time, or none at all. They fill the same steps of the tick."""

from __future__ import annotations

import numpy as np

from granite.config.records import NOTHING, Command, Demand, Reference, Sample, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.holds import Holds


class NoEstimate:
    """Of a testbed without a controller nothing is estimated, and nothing has to be waited for."""

    def estimate(self, sample: Sample) -> State:
        """An empty state."""
        return State(sample.t, True, NOTHING, NOTHING, NOTHING, 0.0, 0.0)


class HoldsOnly:
    """Nothing is to be reached, but grips take hold and let go."""

    def __init__(self, bed: Testbed) -> None:
        self._holds = Holds(bed)

    def decide(self, state: State) -> Reference:
        """A reference of grips alone."""
        return Reference(state.t, NOTHING, NOTHING, NOTHING, False, self._holds.at(state.t))


class NoDemand:
    """Nothing is demanded."""

    def control(self, state: State, reference: Reference) -> Demand:
        """An empty demand."""
        return Demand(state.t, NOTHING, NOTHING, NOTHING)


class TorqueProfiles:
    """Every motor follows its profile; those without one rest."""

    def __init__(self, bed: Testbed) -> None:
        profiles = bed.behaviour.torques
        self._motors = [(i, profiles[m.joint]) for i, m in enumerate(bed.devices.motors) if m.joint in profiles]
        self._n, self._half = len(bed.devices.motors), 0.5 * bed.loop.period_s

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """The torque of the middle of the period: held until the next tick, it does the same work to second order."""
        torque = np.zeros(self._n)
        for i, profile in self._motors:
            torque[i] = profile.at(state.t + self._half)
        return Command(state.t, torque, NOTHING, NOTHING, reference.grip)
