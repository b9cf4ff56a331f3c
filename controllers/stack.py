"""The controllers of a testbed, wired: what stands between a sample and a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from granite.config.parts import build
from granite.config.records import Command, Demand, Reference, Sample, State
from granite.config.testbed import Testbed
from granite.controllers.distribution.actuation import Actuation
from granite.controllers.model import ControlModel
from granite.controllers.open_loop import HoldsOnly, NoDemand, NoEstimate, TorqueProfiles


class Estimates(Protocol):
    """What was measured becomes a state."""

    def estimate(self, sample: Sample) -> State: ...  # noqa: D102


class Decides(Protocol):
    """A state becomes a reference."""

    def decide(self, state: State) -> Reference: ...  # noqa: D102


class Controls(Protocol):
    """State and reference become a demand."""

    def control(self, state: State, reference: Reference) -> Demand: ...  # noqa: D102


class Allocates(Protocol):
    """A demand becomes a command."""

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command: ...  # noqa: D102


@dataclass(frozen=True)
class Stack:
    """One object per step of the tick."""

    estimator: Estimates
    behaviour: Decides
    law: Controls
    actuation: Allocates


def build_stack(bed: Testbed) -> Stack:
    """Fresh controllers in their starting state, everything compiled.

    Raises
    ------
    InputError
        Where a part refuses its options or the testbed.
    """
    if bed.controller is None:
        return Stack(NoEstimate(), HoldsOnly(bed), NoDemand(), TorqueProfiles(bed))
    model = ControlModel(bed)
    return Stack(
        build("estimator", bed.control.estimator, model),
        build("behaviour", bed.behaviour, model),
        build("law", bed.control.law, model),
        Actuation(model),
    )
