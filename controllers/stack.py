"""The controllers of a testbed: the steps of the tick from a sample to a command.

Each contract is one method. It is called once in each tick, does not block and reads no clock; time is in the records.
Equal inputs give equal outputs, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from granite.config.devices.gauge import Gauge
from granite.config.devices.grips import Grips
from granite.config.devices.pressure import Pressure
from granite.config.devices.thrusters import Thrusters
from granite.config.parts import build, is_built_in
from granite.config.records import Command, Demand, Reference, Sample, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.resuming import preview
from granite.controllers.checked_parts import checked_behaviour, checked_estimator, checked_law
from granite.controllers.distribution.actuation import Actuation
from granite.controllers.estimation.gauges import GaugeReadings
from granite.controllers.laws.closed_loop_growth import refuse_growth
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.open_loop import HoldsOnly, NoDemand, NoEstimate, TorqueProfiles
from granite.controllers.symbolic import SymbolicBehaviour, SymbolicEstimator, SymbolicLaw
from granite.kernels.compiled_form import form_of


class Estimator(Protocol):
    """The contract of an estimator."""

    def estimate(self, sample: Sample) -> State:
        """The estimate at the time of the sample; `ready` once it has everything that it needs."""


class RobotBehaviour(Protocol):
    """The contract of a behaviour."""

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state, and the set points of grips."""


class ControlLaw(Protocol):
    """The contract of a control law."""

    def control(self, state: State, reference: Reference) -> Demand:
        """Demanded accelerations, the generalised force for them, and its part on each floating root."""


class ControlAllocation(Protocol):
    """The contract of the allocation."""

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """A set point for each actuator, and the thrust expected until the next tick."""


@dataclass(frozen=True)
class Stack:
    """One object per step of the tick."""

    estimator: Estimator
    behaviour: RobotBehaviour
    law: ControlLaw
    actuation: ControlAllocation

    def control(self, state: State, reference: Reference) -> Demand:
        """The demand of the law; one with `control_ahead` may ask the behaviour for references to come."""
        ahead = getattr(self.law, "control_ahead", None)
        if ahead is None:
            return self.law.control(state, reference)
        demand: Demand = ahead(state, reference, partial(preview, self.behaviour, state))
        return demand


def build_stack(bed: Testbed) -> Stack:
    """Build the controllers of a testbed, compiled and in their initial state.

    Parameters
    ----------
    bed
        The testbed; without a controller it gets the steps of `open_loop`.

    Raises
    ------
    InputError
        Where a part refuses its options or the testbed.
    """
    if bed.controller is None:
        return Stack(NoEstimate(bed), HoldsOnly(bed), NoDemand(), TorqueProfiles(bed))
    model = ControlModel(bed)
    estimator, behaviour, law = bed.control.estimator, bed.behaviour, bed.control.law
    stack = Stack(
        build("estimator", estimator, model),
        build("behaviour", behaviour, model),
        build("law", law, model),
        Actuation(model),
    )
    refuse_growth(stack.law, model)
    n_q, n_u = len(model.layout.positions), model.n
    # What is one function of named numbers was checked when it was built.
    if not is_built_in(estimator.kind) and not _is_function(stack.estimator, SymbolicEstimator, "estimate"):
        grips = next((i for i, d in enumerate(bed.actuators.values()) if isinstance(d, Grips)), None)
        signals = sum(len(device.signals(bed)) for device in bed.sensors.values())
        supplies = len(bed.devices_of(Thrusters)) if bed.devices_of(Pressure) else 0
        sizes = n_q, n_u, len(bed.sensors), signals, len(bed.thrusters), supplies
        checked = checked_estimator(stack.estimator, estimator.kind, *sizes, grips)
        stack = replace(stack, estimator=checked)
    if bed.devices_of(Gauge):
        stack = replace(stack, estimator=GaugeReadings(stack.estimator, bed))
    if not is_built_in(behaviour.kind) and not _is_function(stack.behaviour, SymbolicBehaviour, "decide"):
        direct = [len(device.signals(bed)) for device in bed.direct_actuators.values()]
        n_task = len(behaviour.recorded(bed))
        checked = checked_behaviour(stack.behaviour, behaviour.kind, n_q, n_u, direct, n_task)
        stack = replace(stack, behaviour=checked)
    if not is_built_in(law.kind) and not _is_function(stack.law, SymbolicLaw, "control"):
        stack = replace(stack, law=checked_law(stack.law, law.kind, n_u, model.n_wrench))
    return stack


def _is_function(part: object, kind: type, verb: str) -> bool:
    """Whether a part is one function, and has no method of its own instead."""
    return isinstance(part, kind) and form_of(part, verb) is not None
