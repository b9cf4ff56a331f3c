"""The controllers of a testbed, wired: what stands between a sample and a command."""

from __future__ import annotations

from dataclasses import dataclass

from config.testbed import Testbed
from controllers.behaviours.move import Move
from controllers.distribution.actuation import Actuation
from controllers.estimation.estimator import Estimator
from controllers.laws.computed_torque import ComputedTorque


@dataclass(frozen=True)
class Stack:
    """One object per step of the tick."""

    estimator: Estimator
    behaviour: Move
    law: ComputedTorque
    actuation: Actuation


def build_stack(bed: Testbed) -> Stack:
    """Fresh controllers in their starting state, everything compiled."""
    return Stack(Estimator(bed), Move(bed), ComputedTorque(bed), Actuation(bed))
