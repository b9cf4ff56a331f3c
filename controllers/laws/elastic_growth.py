"""Does a law leave a stable motion of flexible links? Eigenvalues of the closed loop about rest at the start.

    q' = u          M u' = S f(q, u) - h(q, u)          f: the law with a reference at rest, S: what actuators act on

A law that leads a point on a flexible link by the torques of its joints inverts a non-minimum-phase system, and the
modes diverge (Sun 1996, section 3.4, Example 3.1). The state is taken as known; contacts are not counted.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.errors import InputError
from granite.config.records import Array, Reference, State
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicLaw

#: of the central differences, in all coordinates
_STEP = 1e-6
#: growth below this part of the fastest eigenvalue is an error of the differences
_NOTHING = 1e-4


def refuse_growth(law: SymbolicLaw, model: ControlModel) -> None:
    """Raise where modes of flexible links grow under the law; nothing without flexible links, or with contacts."""
    flexible = any(amplitudes(module) for module in model.bed.controlled)
    if not flexible or model.closed or len(model.layout.positions) != model.n:
        return
    growth, fastest = _growth(law, model)
    if growth > _NOTHING * fastest:
        raise InputError(
            f"the modes of flexible links grow by {growth:.3g} 1/s under it", key="controller.law.kind",
            value=model.bed.control.law.kind, expected="a law that leads joints, not a point on a flexible link",
        )  # fmt: skip


def _growth(law: SymbolicLaw, model: ControlModel) -> tuple[float, float]:
    """Largest real part and largest size of the eigenvalues [1/s]."""
    n, initial = model.n, model.bed.simulation.initial
    q = np.array([initial.get(c.key, 0.0) for c in model.layout.positions])
    rest = np.zeros(n)
    reference = Reference(0.0, q, rest, rest, False)
    terms = ca.Function("terms", [model.q, model.u], [ca.densify(model.mass_matrix), ca.densify(model.bias)])

    def acceleration(x: Array) -> Array:
        state = State(0.0, True, x[:n], x[n:], np.zeros(n), np.zeros(len(model.bed.sensors)))
        demanded = law.evaluate(state=state, reference=reference)["demand_force"]
        force = np.zeros(n)
        force[model.active] = demanded[model.active]
        M, h = (part.full() for part in terms(x[:n], x[n:]))
        answer: Array = np.linalg.solve(M, force - h.ravel())
        return answer

    x0 = np.concatenate([q, rest])
    steps = _STEP * np.eye(2 * n)
    columns = [(acceleration(x0 + step) - acceleration(x0 - step)) / (2 * _STEP) for step in steps]
    A = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), np.column_stack(columns)])
    eigenvalues = np.linalg.eigvals(A)
    return float(eigenvalues.real.max()), float(np.abs(eigenvalues).max())
