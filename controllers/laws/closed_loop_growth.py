"""Is the closed loop stable about rest at the start? Eigenvalues with flexible links and closed contacts.

    q' = Q u          M u' + h = S f(q, u) - D u + J^T w,   J u = 0          f: the law with a reference at rest
    dq = Q N x, du = N x',  J N = 0:          z' = A z + B K z,  z = (x, x')
    in ticks of T:                            z <- (e^(A T) + int_0^T e^(A s) ds B K) z

A law that leads a point on a flexible link by the torques of its joints inverts a non-minimum-phase system, and the
modes diverge (Sun 1996, section 3.4, Example 3.1); torques that wait for the next tick make fast modes diverge too. The
state is taken as known. Integrals are at zero, friction and contacts that open by themselves are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import casadi as ca
import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.errors import InputError
from granite.config.records import Array, Reference, State
from granite.config.start import initial_motion
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import record_sizes

#: of the central differences, in all coordinates
_STEP = 1e-6
#: growth below this part of the fastest eigenvalue is an error of the differences
_NOTHING = 1e-4
#: by the ticks alone: growth below this part may last for a run, as that of modes without damping
_SLOW = 1e-2
#: fastest eigenvalue that counts [1/s]: without feedback all of them are errors
_SLOWEST = 10.0


@runtime_checkable
class ProbedLaw(Protocol):
    """A law that answers outside a run."""

    def force_at(self, state: State, reference: Reference) -> Array:
        """The generalised force of its demand; nothing is remembered."""


class Growth(NamedTuple):
    """Rates at which the closed loop grows [1/s]; negative where it decays."""

    continuous: float
    in_ticks: float
    fastest: float  #: largest size of an eigenvalue


def refuse_growth(law: object, model: ControlModel) -> None:
    """Raise where the motion of flexible links, or under closed contacts, grows under the law.

    Laws that follow the tasks of a state machine are not checked: their contacts open and close.
    """
    bed, options = model.bed, model.bed.control.law
    is_bent = any(amplitudes(module) for module in bed.controlled)
    if not (is_bent or model.contacts_under(model.contact_sets[0])) or not isinstance(law, ProbedLaw):
        return
    if options.follows_tasks or options.allow_unstable:
        return
    growth = growth_under(law, model)
    key, what = "controller.law.kind", "the modes of flexible links grow" if is_bent else "motion under contacts grows"
    if growth.continuous > _NOTHING * growth.fastest:
        problem, expected = f"{what} by {growth.continuous:.3g} 1/s under it", "joints led, not a point on a link, "
    elif growth.in_ticks > _SLOW * growth.fastest:
        problem = f"{what} by {growth.in_ticks:.3g} 1/s under it in ticks of {bed.loop.period_s:g} s"
        expected = "a shorter loop.period_s, "
    else:
        return
    expected += "other gains, another distribution, or allow_unstable = true"
    raise InputError(problem, key=key, value=options.kind, expected=expected)


def growth_under(law: ProbedLaw, model: ControlModel) -> Growth:
    """How fast the closed loop grows about rest at the start."""
    bed, n, gripped = model.bed, model.n, model.contact_sets[0]
    start = dict(zip((c.key for c in bed.positions), initial_motion(bed)[0], strict=True))
    q, rest = np.array([start[c.key] for c in model.layout.positions]), np.zeros(n)
    sizes = record_sizes(bed)
    state = State(**{f: np.zeros(sizes[f"state_{f}"]) for f in State._fields[2:]}, t=0.0, ready=True)
    reference = Reference(0.0, q, rest, rest, False)
    rates = ca.vertcat(*(tree.q_dot for tree in model.trees.values()))
    J = model.constraint_jacobian(model.contacts_under(gripped))
    linear = ca.Function("linear", [model.q], [ca.densify(x) for x in (J, ca.jacobian(rates, model.u))])
    N, QN = (part.full() for part in linear(q))
    N = _null_space(N)
    QN, m = QN @ N, N.shape[1]
    moved, damping = model.motion_under(gripped), model.damping

    def force(q: Array, u: Array) -> Array:
        answer = np.zeros(n)
        answer[model.active] = law.force_at(state._replace(q=q, u=u), reference).ravel()[model.active]
        return answer

    def motion(q: Array, u: Array, f: Array) -> Array:
        along: Array = N.T @ moved(q, u, f - damping * u).full().ravel()
        return along

    def about_rest(what: Callable[[Array, Array], Array]) -> Array:
        """Derivatives by x, then by x'."""
        deviations = [(_STEP * QN[:, i], rest) for i in range(m)] + [(0 * q, _STEP * N[:, i]) for i in range(m)]
        columns = [(what(q + dq, du) - what(q - dq, -du)) / (2 * _STEP) for dq, du in deviations]
        return np.column_stack(columns)

    held = force(q, rest)
    P, K = about_rest(lambda q, u: motion(q, u, held)), about_rest(force)
    free = motion(q, rest, rest)
    G = np.column_stack([motion(q, rest, unit) - free for unit in np.eye(n)])  # the motion is affine in the force
    A = np.vstack([np.eye(m, 2 * m, m), P])
    BK = np.vstack([np.zeros((m, 2 * m)), G @ K])
    both = np.block([[A, BK], [np.zeros((2 * m, 4 * m))]])
    if not m or not np.isfinite(both).all():  # nothing can move, or the law has no answer: the guard ends such a run
        return Growth(0.0, 0.0, _SLOWEST)
    ahead = _exponential(both * bed.loop.period_s)[: 2 * m]
    continuous = np.linalg.eigvals(A + BK)
    in_ticks = np.abs(np.linalg.eigvals(ahead[:, : 2 * m] + ahead[:, 2 * m :])).max()
    fastest = max(_SLOWEST, float(np.abs(continuous).max()))
    return Growth(float(continuous.real.max()), math.log(in_ticks) / bed.loop.period_s, fastest)


def _null_space(J: Array) -> Array:
    if not len(J):
        return np.eye(J.shape[1])
    _, sizes, V = np.linalg.svd(J)
    N: Array = V[int((sizes > 1e-9 * sizes[0]).sum()) :].T
    return N


def _exponential(A: Array) -> Array:
    """e^A by scaling and squaring; SciPy's would take a quarter of a second to import."""
    halvings = max(0, math.ceil(math.log2(max(np.abs(A).sum(axis=1).max(), 1.0)))) + 2
    part, term, total = A / 2**halvings, np.eye(len(A)), np.eye(len(A))
    for i in range(1, 12):
        term = term @ part / i
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total
