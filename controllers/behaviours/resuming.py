"""A behaviour that goes on after a pause, or begins again, without a jump of the reference.

**Going on**: its time tau stood still and gets up to speed again, and the offset d between the pose that was held and
its reference fades, both by polynomials of s = (t - t0)/T (minimum jerk for the offset):

    tau' = 3 s^2 - 2 s^3,   f = 1 - 10 s^3 + 15 s^4 - 6 s^5
    q = q_b(tau) + d f,   u = u_b tau' + d f',   a = a_b tau'^2 + u_b tau'' + d f''

**Beginning again**: first back to its first pose by the same f, there for `SETTLING_S`, then the same motion as before;
its time stands still until then, and so do u_b and a_b.

T is so long that both take at most half of the deceleration of the brake.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from granite.config.records import Array, Reference, State
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm, form_of

if TYPE_CHECKING:
    from granite.controllers.stack import RobotBehaviour

#: largest f'' and tau'' for d = 1 and T = 1
_PEAK_OFFSET, _PEAK_TIME = 10 / math.sqrt(3), 1.5
_SHORTEST_S = 1.0
#: at the first pose, so that every repetition begins at rest [s]
SETTLING_S = 2.0


class Resuming:
    """A behaviour after a pause.

    Parameters
    ----------
    behaviour
        As it was before the first pause.
    n_q, n_u
        Coordinates and velocities of the reference.
    """

    def __init__(self, behaviour: RobotBehaviour, n_q: int, n_u: int) -> None:
        self.behaviour = behaviour
        kernels = compile_once("resuming", f"{n_q} {n_u}", lambda: [_time_function(), _blend_function(n_q, n_u)])
        self._time, self._blend = kernels["resuming_time"], kernels["resuming"]
        #: whether it begins again, its time when it was paused, when it went on [s; NaN: not yet], and T [s]
        self._numbers = np.array([0.0, 0.0, math.nan, _SHORTEST_S])
        #: d; before that the pose that was held; largest acceleration of each coordinate, zero: it is not moved
        self._offset, self._held, self._most = np.zeros(n_q), np.zeros(n_q), np.zeros(n_q)

    def begin(self, tau: float, q: Array, most: Array, repeats: bool) -> None:
        """Go on at the time tau of the behaviour, from a pose that was held; `repeats`: begin again there."""
        self._numbers[:] = float(repeats), tau, math.nan, _SHORTEST_S
        self._held[:], self._most[:] = q, most

    def time(self, t: float) -> float:
        """Time of the behaviour."""
        return self._time.run((np.array([t]), self._numbers)).item(0)

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state."""
        decided = self.behaviour.decide(state._replace(t=self.time(state.t)))
        arguments = [np.array([state.t]), self._numbers, self._offset, self._held, self._most]
        motion = [decided.q, decided.u, decided.a, np.array([float(decided.done)])]
        q, u, a, done, self._numbers[:], self._offset[:] = self._blend.split(self._blend.run((*arguments, *motion)))
        return decided._replace(t=state.t, q=q, u=u, a=a, done=bool(done[0]))

    def preview(self, state: State, times: Array) -> list[Reference] | None:
        """The references at later times [s], where the behaviour knows them; nothing is remembered."""
        references = preview(self.behaviour, state, np.array([self.time(t) for t in times.tolist()]))
        arguments = self._numbers, self._offset, self._held, self._most
        blended = []
        for t, one in zip(times.tolist(), references or (), strict=False):
            motion = one.q, one.u, one.a, np.zeros(1)
            q, u, a, *_ = self._blend.split(self._blend.run((np.array([t]), *arguments, *motion)))
            blended.append(one._replace(t=t, q=q, u=u, a=a))
        return blended if references is not None else None

    def compiled_form(self) -> CompiledForm | None:
        """The same in C, where the behaviour has a form in C."""
        form = form_of(self.behaviour, "decide")
        if form is None:
            return None
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"RESUMED_BEHAVIOUR": form.entry},
            memory={
                "resuming_numbers": self._numbers,
                "resuming_offset": self._offset,
                "resuming_held": self._held,
                "resuming_most": self._most,
            },
            kernels={"resuming_time": [self._time], "resuming": [self._blend]},
            entry="resuming_decide",
        )


def preview(behaviour: RobotBehaviour, state: State, times: Array) -> list[Reference] | None:
    """The references of a behaviour at later times [s]; None where it can't know them."""
    method = getattr(behaviour, "preview", None)
    return None if method is None else method(state, times)


def _time_function() -> ca.Function:
    t, numbers = ca.SX.sym("t"), ca.SX.sym("numbers", 4)
    repeats, tau, began, takes = ca.vertsplit(numbers)
    s, since = (t - began) / takes, t - began - takes - SETTLING_S
    going_on = takes * ca.if_else(s < 1, s**3 * (1 - s / 2), s - 0.5)
    passed = ca.if_else(repeats, ca.fmax(0.0, since), going_on)
    has_begun = ca.fabs(began) < math.inf  # not NaN
    return ca.Function("resuming_time", [t, numbers], [tau + ca.if_else(has_begun, passed, 0.0)])


def _blend_function(n_q: int, n_u: int) -> ca.Function:
    """(t, numbers, offset, held pose, largest accelerations, q, u, a, done of the behaviour) -> q, u, a, done, numbers
    and offset after the tick."""
    t, numbers, done = ca.SX.sym("t"), ca.SX.sym("numbers", 4), ca.SX.sym("done")
    offset, held, most, q = (ca.SX.sym(name, n_q) for name in ("offset", "held", "most", "q"))
    u, a = ca.SX.sym("u", n_u), ca.SX.sym("a", n_u)
    repeats, tau, began, takes = ca.vertsplit(numbers)
    starts = ca.logic_not(ca.fabs(began) < math.inf)
    moved = most > 0
    d = ca.if_else(starts, ca.if_else(moved, held - q, 0.0), offset)
    per_offset = ca.if_else(moved, ca.fabs(d) / (most / 2), 0.0)
    # Where there are more velocities than coordinates or fewer, nothing is moved.
    per_rate = ca.if_else(moved, ca.fabs(u) / (most / 2), 0.0) if n_q == n_u else ca.SX.zeros(1)
    far = ca.mmax(ca.vertcat(0.0, per_offset))
    fast = ca.if_else(repeats, 0.0, ca.mmax(ca.vertcat(0.0, per_rate)))
    longest = ca.fmax(_SHORTEST_S, ca.fmax(ca.sqrt(_PEAK_OFFSET * far), _PEAK_TIME * fast))
    t0, T = ca.if_else(starts, t, began), ca.if_else(starts, longest, takes)
    s, rate = ca.fmin((t - t0) / T, 1.0), 1 / T
    waits = ca.logic_and(repeats, t - t0 - T - SETTLING_S <= 0)
    fades = ca.logic_or(s < 1, waits)
    speed = ca.if_else(repeats, 0.0, s * s * (3 - 2 * s))
    gathers = ca.if_else(repeats, 0.0, 6 * s * (1 - s) * rate)
    f = 1 - s**3 * (10 - 15 * s + 6 * s * s)
    f1, f2 = -rate * 30 * s**2 * (1 - s) ** 2, -(rate**2) * 60 * s * (1 - s) * (1 - 2 * s)
    d_u = d if n_q == n_u else ca.SX.zeros(n_u)
    results = [
        ca.if_else(fades, q + d * f, q),
        ca.if_else(fades, u * speed + d_u * f1, u),
        ca.if_else(fades, a * speed**2 + u * gathers + d_u * f2, a),
        ca.if_else(waits, 0.0, done),
        ca.vertcat(repeats, tau, t0, T),
        d,
    ]
    return ca.Function("resuming", [t, numbers, offset, held, most, q, u, a, done], results)
