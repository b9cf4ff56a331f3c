"""The steps of a testbed without a controller: torques over time, or none at all, through the same tick."""

from __future__ import annotations

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.records import NOTHING, Array, Command, Demand, Reference, Sample, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.holds import Holds


class NoEstimate:
    """Without a controller nothing is estimated, and no sensor is waited for."""

    def __init__(self, bed: Testbed) -> None:
        self._unknown = np.full(sum(len(device.signals(bed)) for device in bed.sensors.values()), np.nan)

    def estimate(self, sample: Sample) -> State:
        """An empty state."""
        ages = np.array([sample.t - frame.t for frame in sample.frames])
        return State(sample.t, True, NOTHING, NOTHING, NOTHING, ages, self._unknown, bias=self._unknown)


class HoldsOnly:
    """A behaviour without a target: grips close and open contacts."""

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
    """Every motor follows its profile; those without one stay at zero."""

    def __init__(self, bed: Testbed) -> None:
        self._bed, self._half = bed, 0.5 * bed.loop.period_s
        self._direct = list(bed.direct_actuators)

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """The torque at the middle of the period: under zero-order hold it does the same work to second order."""
        middle = state.t + self._half
        setpoints: list[Array] = []
        for name, device in self._bed.actuators.items():
            if isinstance(device, Motors):
                profiles = (self._bed.torques.get(motor.joint) for motor in device.units)
                setpoints.append(np.array([profile.at(middle) if profile else 0.0 for profile in profiles]))
            else:
                setpoints.append(reference.direct[self._direct.index(name)])
        return Command(state.t, tuple(setpoints), NOTHING)
