"""Linear model predictive control of a free-flyer's thrusts, with keep-out rows; joints by computed torque.

Over N steps of h, with the mass matrix of now and thrusters turned by the headings of the reference to come,

    a_k = W_k f_k + b_k,   W_k = M_bb^-1 J'(heading_k) D,   b_k = M_bb^-1 (d - h - M_bj a_j,k)
    p_k = p + k h v + sum_i c_ki a_i,   v_k = v + h sum_{i<k} a_i
    min over f   sum_k |p_k - p_ref,k|^2_P + |v_k - v_ref,k|^2_V + r |f_k|^2 + c 1' f_k        0 <= f_k <= thrust

subject to soft rows at every step: the table, and of each zone the half-plane that separates it from the base now. A
dense quadratic programme of N thrusts, solved by DAQP every `solve_s`; between two solves the acceleration of the base
stays. (Condensed form: Maciejowski, Predictive control with constraints, 2002, 3.1.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, NamedTuple

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import NotNegative, Positive
from granite.config.convex import half_planes
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.footprints import footprints
from granite.config.law import LawTable
from granite.config.records import NOTHING, Array, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.config.tunable import Tunable
from granite.controllers.distribution.quadratic_program import QuadraticProgram, Solution
from granite.controllers.laws.task_space import TaskGain
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.kernels.compilation import compile_once

#: DAQP's mark for a row that may be violated at a cost, and the inverse of that cost
_SOFT, _SOFTNESS = 8, 1e-6

#: the references of these times [s], or None where a behaviour does not know them
Preview = Callable[[Array], list[Reference] | None]


class Prediction(NamedTuple):
    """A programme with what it was made of."""

    programme: QuadraticProgram
    W: Array  #: (steps, 3, thrusters)
    b: Array  #: (steps, 3)


class PredictiveControl:
    """The law of one free-flyer in the plane."""

    class Options(LawTable):
        """Horizon and weights."""

        gives_joint_accelerations: ClassVar[bool] = True

        steps: Annotated[int, Field(ge=2, le=60)] = 12  #: of the horizon
        step_s: Positive = 0.25  #: length of a step
        #: time between two solves
        solve_s: Positive = 0.05
        #: weights of errors of the base, of squared thrusts and of the impulse
        position_1_m2: Positive = 1000.0
        heading_1_rad2: Positive = 300.0  #: weight of the heading's error
        velocity_s2_m2: NotNegative = 2000.0  #: weight of the velocity's error
        rate_s2_rad2: NotNegative = 500.0  #: weight of the error of the rate of turn
        thrust_1_n2: Positive = 0.01  #: weight of squared thrusts
        propellant_1_n: NotNegative = 0.01  #: weight of the impulse
        #: gains of the joints, by computed torque
        joints: TaskGain = TaskGain(stiffness_1_s2=16.0, damping_1_s=8.0)

        def tunable(self, bed: Testbed) -> tuple[Tunable, ...]:
            """The weights, within two decades each way; that of the thrusts is the unit."""
            names = ("position_1_m2", "heading_1_rad2", "velocity_s2_m2", "rate_s2_rad2", "propellant_1_n")
            fields = type(self).model_fields
            return tuple(Tunable(name, fields[name].default / 100, fields[name].default * 100) for name in names)

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed = model.bed
        _refuse_others(bed)
        (device,) = bed.devices_of(Thrusters).values()
        (module,) = bed.controlled
        N, h = options.steps, options.step_s
        self._options, self._n, self._period = options, model.n, bed.loop.period_s
        self._inverse = model.compile_inverse()
        kernels = compile_once("predictive", bed.fingerprint, lambda: _functions(model))
        self._inertia, self._resistance = kernels["inertia"].run, kernels["resistance"].run
        self._matrix: Array = thruster_matrix(device, "planar")
        self._thrust: Array = available_thrust(device)
        k, i = np.arange(1, N + 1)[:, None], np.arange(N)[None, :]
        #: c_ki, and the same of velocities
        self._by_position: Array = np.where(i < k, (k - i - 0.5) * h * h, 0.0)
        self._by_velocity: Array = np.where(i < k, h, 0.0)
        self._P = np.array([options.position_1_m2] * 2 + [options.heading_1_rad2])
        self._V = np.array([options.velocity_s2_m2] * 2 + [options.rate_s2_rad2])
        self._table, self._clearance = bed.safety.table_m, bed.safety.clearance_m
        base = next((body for body in footprints(bed, module) if body.body == module.root.name), None)
        self._radius = max((math.hypot(x, y) + r for x, y, r in base.discs), default=0.0) if base else 0.0
        zones = [zone for zone in bed.safety.keep_out if zone.module is None]
        self._discs = [(np.array(z.disc.position_m), z.disc.radius_m) for z in zones if z.disc]
        self._polygons = [half_planes(z.polygon_m) for z in zones if z.polygon_m]
        #: acceleration of the base, and when it was solved for [s]
        self._acceleration, self._solved = np.zeros(3), math.nan

    def control(self, state: State, reference: Reference) -> Demand:
        """The demand where the reference to come is unknown: it goes on at its rate."""
        return self.control_ahead(state, reference, lambda times: None)

    def control_ahead(self, state: State, reference: Reference, preview: Preview) -> Demand:
        """The demand for the reference and those to come."""
        if not state.ready:
            none = np.zeros(self._n)
            return Demand(state.t, none, none, np.zeros(3), NOTHING)
        gain, options = self._options.joints, self._options
        a = reference.a.copy()
        a[3:] += gain.damping_1_s * (reference.u[3:] - state.u[3:]) + gain.stiffness_1_s2 * (
            reference.q[3:] - state.q[3:]
        )
        if not 0.0 <= state.t - self._solved < options.solve_s - self._period / 2:
            prediction = self.predict(state, reference, preview)
            solution = prediction.programme.solve(rho_soft=_SOFTNESS)
            thrust = solution.x[: len(self._thrust)] if solution.is_optimal else np.full(len(self._thrust), np.nan)
            # No thrust is known where it is not solved: the guard ends the run, because the demand is not finite.
            self._acceleration, self._solved = prediction.W[0] @ thrust + prediction.b[0], state.t
        a[:3] = self._acceleration
        d = state.disturbance if len(state.disturbance) else np.zeros(self._n)
        acceleration, force, wrench = self._inverse(state.q, state.u, a, d)
        force = force - self._resistance((reference.u,))  # as computed torque does
        return Demand(state.t, acceleration, force, wrench, NOTHING)

    def solve(self, state: State, reference: Reference, preview: Preview) -> Solution:
        """The solution of the programme of a state."""
        return self.predict(state, reference, preview).programme.solve(rho_soft=_SOFTNESS)

    def predict(self, state: State, reference: Reference, preview: Preview) -> Prediction:
        """The programme of a state."""
        options, N, h = self._options, self._options.steps, self._options.step_s
        times: Array = state.t + h * np.arange(1.0, N + 1)
        ahead = preview(times)
        if ahead is None:
            rest = np.zeros(self._n)
            ahead = [reference._replace(q=reference.q + (t - state.t) * reference.u, a=rest) for t in times]
        q_ref, u_ref = (np.array([getattr(one, name)[:3] for one in ahead]) for name in "qu")
        bending = np.array([one.a[3:] for one in (reference, *ahead[:-1])])
        headings = np.concatenate([[state.q[2]], q_ref[:-1, 2]])
        inertia, bias, coupling = np.split(self._inertia((state.q, state.u)), [9, 12])
        M = inertia.reshape(3, 3, order="F")
        d = state.disturbance[:3] if len(state.disturbance) else np.zeros(3)
        loads = d - bias - bending @ coupling.reshape(3, -1, order="F").T
        c, s, zero, one = np.cos(headings), np.sin(headings), np.zeros(N), np.ones(N)
        turns = np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]).transpose(2, 0, 1)
        W: Array = np.linalg.solve(M, turns @ self._matrix).astype(np.float64, copy=False)
        b: Array = np.linalg.solve(M, loads.T).T.astype(np.float64, copy=False)
        free_p = state.q[:3] + h * np.arange(1, N + 1)[:, None] * state.u[:3] + self._by_position @ b
        free_v = state.u[:3] + self._by_velocity @ b
        n = N * W.shape[2]
        G_p, G_v = (np.einsum("ki,ica->kcia", C, W).reshape(3 * N, n) for C in (self._by_position, self._by_velocity))
        P, V = np.tile(self._P, N), np.tile(self._V, N)
        H = (G_p.T * P) @ G_p + (G_v.T * V) @ G_v + options.thrust_1_n2 * np.eye(n)
        f = G_p.T @ (P * (free_p - q_ref).ravel()) + G_v.T @ (V * (free_v - u_ref).ravel())
        f += options.propellant_1_n / 2
        rows, lower, upper = self._rows(state.q[:2], G_p.reshape(N, 3, n), free_p)
        most = np.tile(self._thrust, N)
        sense = np.concatenate([np.zeros(n, dtype=np.int32), np.full(len(rows), _SOFT, dtype=np.int32)])
        bounds = np.concatenate([most, upper]), np.concatenate([np.zeros(n), lower])
        return Prediction(QuadraticProgram(np.ascontiguousarray(H), f, rows, *bounds, sense), W, b)

    def _rows(self, here: Array, G: Array, free: Array) -> tuple[Array, Array, Array]:
        """The rows of table and zones on the positions of all steps, and their bounds."""
        rows, lower, upper = [np.zeros((0, G.shape[2]))], [NOTHING], [NOTHING]
        if self._table is not None:
            for axis in (0, 1):
                rows.append(G[:, axis])
                lower.append(self._table[axis] - free[:, axis])
                upper.append(self._table[2 + axis] - free[:, axis])
        for normal, offset in self._separating(here):
            rows.append(G[:, 0] * normal[0] + G[:, 1] * normal[1])
            least = offset + self._radius + self._clearance
            lower.append(least - free[:, :2] @ normal)
            upper.append(np.full(len(free), np.inf))
        return np.vstack(rows), np.concatenate(lower), np.concatenate(upper)

    def _separating(self, here: Array) -> list[tuple[Array, float]]:
        """Of each zone a half-plane n . p >= offset in which the base is now, or nearly so."""
        planes = []
        for centre, radius in self._discs:
            away = here - centre
            normal = away / max(float(np.linalg.norm(away)), 1e-9)
            planes.append((normal, float(normal @ centre) + radius))
        for sides in self._polygons:
            nx, ny, offset = max(sides, key=lambda side: side[0] * here[0] + side[1] * here[1] - side[2])
            planes.append((np.array([nx, ny]), float(offset)))
        return planes


def _functions(model: ControlModel) -> list[ca.Function]:
    """(q, u) -> M_bb, h_b and M_bj, column by column; (u) -> resistance of the joints."""
    M, on_joints = model.mass_matrix, ca.SX.zeros(model.n)
    on_joints[model.driven] = model.resistance(model.u)[model.driven]
    parts = ca.vertcat(ca.vec(M[:3, :3]), model.bias[:3], ca.vec(M[:3, 3:]))
    return [
        ca.Function("inertia", [model.q, model.u], [ca.densify(parts)]),
        ca.Function("resistance", [model.u], [ca.densify(on_joints)]),
    ]


def _refuse_others(bed: Testbed) -> None:
    """Raise where the law does not know the motion: it is for one free-flyer in the plane without contacts."""
    modules = bed.known.modules
    problems = {
        f"the controller knows {len(modules)} modules": len(modules) != 1,
        "the testbed is spatial": not bed.planar,
        "the base is fixed": any(module.base == "fixed" for module in modules),
        f"it has {len(bed.devices_of(Thrusters))} devices of thrusters": len(bed.devices_of(Thrusters)) != 1,
        "contacts touch it": not bed.explains_motion,
    }
    for problem, is_true in problems.items():
        if is_true:
            expected = "one free-flyer in the plane, without contacts"
            raise InputError(problem, key="controller.law.kind", value="predictive", expected=expected)
