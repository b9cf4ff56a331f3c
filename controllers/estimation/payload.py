"""Payload in the hand from what the model does not explain: a Kalman filter on mass, first moments and inertia.

The disturbance observer has the force that commands and model do not explain, M du / T + d (`disturbance.py`). Without
the model's own estimate of the payload it is

    w = M du / T + d - Y p^ = d_other - Y p        Y(q, u, a): `loaded_model.py`, a = (u - u of the last tick) / T

and linear in p = [m; m c; I] (the regressor of momentum observers, De Luca and Mattone 2003). w and Y pass the same
two filters: a low-pass, because the rates are noisy, and a slow high-pass, which takes away what does not change:
slopes, and Coulomb friction while a joint goes on in one direction. So p follows from accelerations alone, and stays as
it is without. Each row of the filtered Y is a measurement of the filtered w with the noise

    base: a part of its weakest thruster          joint: parts of its friction and of its motor's limit

Noise of the rates is in w and in Y, and alone would show that robot and payload weigh nothing. The acceleration a^ that
was predicted does not have it. So Y of a^, behind the same filters, is an instrument (Soederstroem and Stoica, System
Identification, 1989, chapter 8): with h a row of Y and g that of the instrument, a row counts by

    r = clip(2 h^T P g / (h^T P h) - 1, 0, 1)

which is 1 where the robot accelerates, and 0 where only its estimate does.

P forgets towards what is known before anything is learned, p stays within the bounds of the table (0 <= m,
|c| <= radius, m |c|^2 <= I <= m radius^2), and where w is far from its prediction all of P is forgotten at once: a load
was taken up or laid down.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.controllers.estimation.disturbance import joint_frictions, motor_torques, weakest_thrust
from granite.controllers.loaded_model import N_PARAMETERS, LoadedModel, reported

#: time constants of the low-pass, and of the high-pass behind it [s]
_FAST_S, _SLOW_S = 1.0, 10.0
#: noise of w, one sigma: in thrusts of the weakest thruster; in frictions of a joint, and in limits of its motor
_OF_THRUST, _OF_FRICTION, _OF_TORQUE = 0.04, 0.5, 0.003
#: so many deviations from its prediction w may be, before P is forgotten; and how often that may happen
_FAR, _AGAIN_S = 5.0, 5.0
#: so long after the observer velocities are known well enough [s]
_LATER_S = 1.5


class PayloadFilter:
    """The filter of a testbed.

    The memory is p (4), P (4 x 4, column by column), u of the last tick (n), w, Y and the instrument behind the
    low-pass (n, 4n, 4n) and their slow parts, the time since P was forgotten [s], and `State.payload`.
    """

    def __init__(self, model: LoadedModel) -> None:
        bed, n = model.bed, model.n
        table = bed.control.payload
        assert table is not None
        self._table, self._model, self._n, self._period = table, model, n, bed.loop.period_s
        mass, radius = table.mass_kg / 2, table.radius_m
        self._first = np.diag([mass, mass * radius, mass * radius, mass * radius**2]) ** 2
        frictions = joint_frictions(bed)
        #: of each velocity that an actuator acts on
        self._noise = {i: _OF_THRUST * thrust for i, thrust in weakest_thrust(bed).items()}
        for i, torque in motor_torques(bed).items():
            self._noise[i] = _OF_TORQUE * torque + _OF_FRICTION * frictions.get(i, (0.0, 0.0))[0]
        n_Y = N_PARAMETERS * n
        self._sizes = [N_PARAMETERS, N_PARAMETERS**2, n, *(n + 2 * n_Y,) * 2, 1, len(table.recorded(bed))]

    @property
    def memory(self) -> Array:
        """What it starts with: no payload."""
        memory = np.zeros(sum(self._sizes))
        memory[N_PARAMETERS : N_PARAMETERS + N_PARAMETERS**2] = self._first.ravel()
        memory[sum(self._sizes[:5])] = -_LATER_S
        return memory

    @property
    def n_reported(self) -> int:
        """How many numbers at the end of the memory are `State.payload`."""
        return self._sizes[-1]

    def expression(
        self, memory: ca.SX, q: ca.SX, u: ca.SX, correction: ca.SX, unexplained: ca.SX, observes: ca.SX
    ) -> ca.SX:
        """The memory with velocity correction and unexplained force of the last tick; p and P unchanged unless
        `observes`."""
        n, T, ends = self._n, self._period, np.cumsum([0, *self._sizes]).tolist()
        p, P, last, fast, slow, since, _ = ca.vertsplit(memory, ends)
        # The first time, P may be forgotten at once.
        since = ca.if_else(ca.logic_and(since < 0, since + T >= 0), _AGAIN_S, since) + T * observes
        observes = ca.logic_and(observes, since >= 0)
        before, P = p, ca.reshape(P, N_PARAMETERS, N_PARAMETERS)
        symbols, motion = ca.vertcat(self._model.q, self._model.u), ca.vertcat(q, u)
        Y, predicted = (
            ca.substitute(self._model.regressor(change / T), symbols, motion)
            for change in (u - last, u - last - correction)
        )
        now = ca.vertcat(unexplained - Y @ p, ca.vec(Y), ca.vec(predicted))
        observes = ca.logic_and(observes, ca.sumsqr(now) < math.inf)
        fast += ca.if_else(observes, (1 - math.exp(-T / _FAST_S)) * (now - fast), 0.0)
        slow += ca.if_else(observes, (1 - math.exp(-T / _SLOW_S)) * (fast - slow), 0.0)
        z, H, G = self._parts(fast - slow)

        far = ca.SX(0)
        for i, noise in self._noise.items():
            h = -H[i, :].T
            far = ca.logic_or(far, (z[i] - h.T @ p) ** 2 > _FAR**2 * (h.T @ P @ h + noise**2))
        forgets = ca.logic_and(ca.logic_and(far, since >= _AGAIN_S), observes)
        since = ca.if_else(forgets, 0.0, since)
        kept = ca.if_else(forgets, 0.0, math.exp(-T / self._table.memory_s))
        kept = ca.if_else(observes, kept, 1.0)
        first = ca.DM(self._first)
        P = first + kept * (P - first)
        for i, noise in self._noise.items():
            # Values within the low-pass repeat each other: each counts for its part of 2 time constants.
            h, g, R = -H[i, :].T, -G[i, :].T, noise**2 * 2 * _FAST_S / T
            part = 2 * h.T @ P @ g / ca.fmax(h.T @ P @ h, 1e-20) - 1
            h *= ca.fmin(ca.fmax(part, 0.0), 1.0)
            K = ca.if_else(observes, P @ h / (h.T @ P @ h + R), 0.0)
            p, P = p + K * (z[i] + H[i, :] @ p), P - K @ (h.T @ P)
        P, p = (P + P.T) / 2, self._bounded(p)
        p = ca.if_else(observes, p, before)
        _, Y_now, _ = self._parts(fast)
        forces = ca.vertcat(*(ca.sqrt(ca.fmax(Y_now[i, :] @ P @ Y_now[i, :].T, 0.0)) for i in range(n)))
        mass, moment = (ca.sqrt(ca.fmax(variance, 0.0)) for variance in (P[0, 0], ca.fmax(P[1, 1], P[2, 2])))
        centre = ca.fmin(moment / ca.fmax(p[0], 1e-12), self._table.radius_m)
        state = ca.vertcat(reported(p), mass, centre, forces)
        return ca.vertcat(p, ca.vec(P), u, fast, slow, since, state)

    def explained(self, before: ca.SX, after: ca.SX) -> ca.SX:
        """What a change of p from one memory to the next explains of the unexplained force, behind the low-pass."""
        at, p = sum(self._sizes[:3]), slice(0, N_PARAMETERS)
        _, Y, _ = self._parts(after[at : at + self._sizes[3]])
        return Y @ (after[p] - before[p])

    def _parts(self, filtered: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """w, Y, and Y of the predicted acceleration."""
        n, n_Y = self._n, self._n * N_PARAMETERS
        w, *rows = ca.vertsplit(filtered, [0, n, n + n_Y, n + 2 * n_Y])
        Y, predicted = (ca.reshape(part, n, N_PARAMETERS) for part in rows)
        return w, Y, predicted

    def _bounded(self, p: ca.SX) -> ca.SX:
        """p within the bounds of the table, where also a body is possible."""
        radius = self._table.radius_m
        mass = ca.fmin(ca.fmax(p[0], 0.0), self._table.mass_kg)
        length = ca.sqrt(ca.sumsqr(p[1:3]) + 1e-30)
        moments = p[1:3] * ca.fmin(1.0, mass * radius / length)
        least = ca.sumsqr(moments) / ca.fmax(mass, 1e-12)
        return ca.vertcat(mass, moments, ca.fmax(ca.fmin(p[3], mass * radius**2), least))
