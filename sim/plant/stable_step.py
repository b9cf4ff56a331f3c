"""Limit of the physics step: classical Runge-Kutta is stable while no motion is too fast for it."""

from __future__ import annotations

from granite.config.errors import InputError
from granite.config.testbed import Testbed

#: magnitude of an eigenvalue times step up to which it is stable, if the motion decays
_STABLE = 2.785


def refuse_faster(bed: Testbed, rate: float, problem: str, otherwise: str) -> None:
    """Raise where a motion of this rate [1/s] is too fast for the physics step."""
    step = bed.simulation.physics_step_s
    if rate * step > _STABLE:
        raise InputError(
            problem,
            file=bed.name,
            key="simulation.physics_step_s",
            value=step,
            expected=f"at most {_STABLE / rate:.3g} s, or {otherwise}",
        )
