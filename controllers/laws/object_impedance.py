"""Object impedance after Hogan (Impedance control, ASME J. Dyn. Syst. Meas. Control 107, 1985), for any number of arms.

The object answers to an external force as a mass with spring and damper about its reference; its inertia is its own, so
that no force has to be measured. An integral removes what motors and friction leave:

    a = a_ref + K_d (u_ref - u) + K_p e + K_i int e dt            e = q_ref - q; in space a rotation vector, body axes

The bases of vehicles among the arms are led in the same way, without an integral: a_b = a_ref + K_d (u_ref - u) + K_p
(q_ref - q). There the integral of the object stands for wrong motors and friction, which act inside a vehicle, and
belongs to the torques alone: the thrusters would push against a reaction that is not there.

    tau = ... + J_j^T A1^+ M_o i          i = K_i int e dt, A1 the grasp matrix, M_o the object's inertia

Joints are not fed back: their offsets would become squeeze. The model turns a into the accelerations of the arms and
the wrench that the object needs (`carrying.py`); the force distribution chooses the grasp wrenches and with them the
torques. The integral stops while the distribution can't keep its limits, and its part of a is bounded. With force
gauges the internal force has an integral of its own (`grip_forces.py`). Modes of flexible links are quasi-static, or
move by inverse dynamics: then the elastic plant that the distribution leaves is checked at the start pose
(`stability.py`), and one that diverges is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.coordinates import Coordinate
from granite.config.distribution import ForceDistributionTable, refuse_contradictions
from granite.config.errors import InputError
from granite.config.gains import LiveGain, around
from granite.config.law import LawTable
from granite.config.modules import Module
from granite.config.parts import RecordedLimit
from granite.config.records import Array, Demand, Reference, State
from granite.config.tunable import Tunable
from granite.controllers.distribution.force_distribution import (
    DistributedForce,
    DistributionOutcome,
    ForceDistribution,
)
from granite.controllers.distribution.grasp import Grasp
from granite.controllers.laws.carrying import (
    ArmGrip,
    GraspSymbols,
    arm_grips,
    carried_object,
    grasp_in_symbols,
    grasp_shape,
    reference_rates,
    vehicles,
)
from granite.controllers.laws.grip_forces import (
    Friction,
    InternalForce,
    friction_excess,
    in_world,
    internal,
    local,
    measured_grips,
    measured_wrenches,
    n_gauge_signals,
)
from granite.controllers.laws.pose_error import pose_error
from granite.controllers.model import ControlModel
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm
from granite.mrds.dynamics import force_on_root, solve

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: fields of a grasp that the compiled function gives, in its order
_GIVEN = tuple(name for name in Grasp._fields if name in GraspSymbols._fields)
_JUDGED = Struct("6d").pack
#: of the bases of vehicles, after them
_LIVE_BASE = (
    ("stiffness_1_s2", "1/s2", "acceleration of the bases per error"),
    ("damping_1_s", "1/s", "acceleration of the bases per rate error"),
)
#: gains of each kind of coordinates that may change in a run, in the order of the compiled function
_LIVE = (
    ("stiffness_1_s2", "1/s2", "acceleration of the object per error"),
    ("damping_1_s", "1/s", "acceleration of the object per rate error"),
    ("integral_1_s3", "1/s3", "growth of the object's acceleration per error"),
)
#: fields of a grasp that are in the law's memory, as its C code numbers them
_REMEMBERED = {"previous_torque": -1, "ramp": -2}
_OPTIMAL, _FAILED = int(DistributionOutcome.OPTIMAL), int(DistributionOutcome.FAILED)


class Impedance(Table):
    """Feedback of the object's acceleration along its coordinates of one kind."""

    stiffness_1_s2: Positive = 16.0  #: acceleration for each metre or radian of error
    damping_1_s: Positive = 8.0  #: acceleration for each m/s or rad/s of error
    integral_1_s3: NotNegative = 0.0  #: acceleration for each m s or rad s of error
    #: most acceleration of the integral [m/s^2, rad/s^2]
    integral_limit: NotNegative = 1.0


class BaseGains(Table):
    """Feedback of the acceleration of the bases of vehicles, translation and rotation alike."""

    stiffness_1_s2: Positive = 0.64  #: acceleration for each metre or radian of error
    damping_1_s: Positive = 1.6  #: acceleration for each m/s or rad/s of error


class ObjectImpedance:
    """The law with the gains and the distribution of a testbed."""

    class Options(LawTable):
        """The object, its impedance, the distribution of forces among the arms, and what their gauges are used for."""

        arguments: ClassVar[frozenset[str]] = frozenset({"translation", "rotation", "base"})

        #: may be left out where the controller knows one object
        object: Name | None = None
        translation: Impedance = Impedance()  #: impedance of the object's position
        rotation: Impedance = Impedance()  #: impedance of its attitude
        #: where arms are on vehicles
        base: BaseGains = BaseGains()
        #: feedback and set points of forces grow from nothing in this time: the first poses correct the velocities
        ramp_s: NotNegative = 0.0
        internal_force: InternalForce = InternalForce()  #: feedback of the measured internal force
        #: none: grips that can't slip
        friction: Friction | None = None
        #: of flexible links: without accelerations of their own, or by inverse dynamics (Sun, chapter 3)
        modes: Literal["quasi_static", "inverse_dynamics"] = "quasi_static"
        #: of the object's wrench among the grips
        distribution: ForceDistributionTable = Field(
            default_factory=lambda: ForceDistributionTable.model_validate(
                {"objective": ["joint_load_sharing"], "limit": ["torque"]}
            )
        )

        @property
        def reads_gauges(self) -> bool:
            """Whether it needs force gauges at all grips."""
            return self.internal_force.integral_1_s > 0 or self.friction is not None

        def followed(self, bed: Testbed) -> tuple[str, ...]:
            """The object and the bases of vehicles: the joints of the arms follow from them."""
            carried = carried_object(bed, self.object)
            return (*(vehicle.name for vehicle in self._vehicles(bed)), carried.name)

        def unfollowed(self, bed: Testbed) -> frozenset[str]:
            """The joints of vehicles."""
            joints = (bed.known.name(m, joint.name) for m in self._vehicles(bed) for joint in m.joints)
            return frozenset(joints)

        def _vehicles(self, bed: Testbed) -> tuple[Module, ...]:
            return vehicles(bed, self._grips(bed))

        def _grips(self, bed: Testbed) -> tuple[ArmGrip, ...]:
            return arm_grips(bed, carried_object(bed, self.object), may_float=True)

        def gain_values(self, bed: Testbed) -> list[float]:
            """Those of `live_gains`."""
            kinds: list[tuple[Table, Sequence[tuple[str, str, str]]]] = [
                (self.translation, _LIVE),
                (self.rotation, _LIVE),
            ]
            if self._vehicles(bed):
                kinds.append((self.base, _LIVE_BASE))
            return [getattr(kind, key) for kind, live in kinds for key, _, _ in live]

        def tunable(self, bed: Testbed) -> tuple[Tunable, ...]:
            """The feedback of both kinds of coordinates."""
            return tuple(
                tunable
                for kind in ("translation", "rotation")
                for tunable in (
                    Tunable(f"{kind}.stiffness_1_s2", 0.8, 160.0),
                    Tunable(f"{kind}.damping_1_s", 1.6, 32.0),
                    Tunable(f"{kind}.integral_1_s3", 0.0, 100.0, "linear"),
                )
            )

        def live_gains(self, bed: Testbed) -> tuple[LiveGain, ...]:
            """Stiffness, damping and integral of both kinds of coordinates; stiffness and damping of bases."""
            named = [
                (f"{kind}_{key.split('_')[0]}", unit, f"{what} of its {kind}")
                for kind in ("translation", "rotation")
                for key, unit, what in _LIVE
            ]
            named += [(f"base_{key.split('_')[0]}", unit, what) for key, unit, what in _LIVE_BASE]
            values = self.gain_values(bed)
            return tuple(
                around(name, unit, value, what) for (name, unit, what), value in zip(named, values, strict=False)
            )

        def columns(self, bed: Testbed) -> dict[str, dict[str, float | str]]:
            """Stiffness and damping of the object, and of the bases of vehicles."""
            held = carried_object(bed, self.object)
            own = bed.known.velocities[bed.known.u[held.name]]
            turned = len(own) // 2 + len(own) % 2  # translations, then rotations
            tables: list[tuple[str, Impedance | BaseGains]] = [
                (c.name, self.translation if i < turned else self.rotation) for i, c in enumerate(own)
            ]
            roots = (c for vehicle in self._vehicles(bed) for c in bed.known.velocities[bed.known.root_u(vehicle)])
            tables += [(c.name, self.base) for c in roots]
            return {
                "stiffness [1/s2]": {name: table.stiffness_1_s2 for name, table in tables},
                "damping [1/s]": {name: table.damping_1_s for name, table in tables},
            }

        def recorded(self, bed: Testbed) -> tuple[Coordinate, ...]:
            """Wrenches of the grips, demanded and measured, and how good the answer of the distribution is."""
            signals: list[Coordinate] = []
            grips = self._grips(bed)
            for prefix in ("", "measured_") if self.reads_gauges else ("",):
                for grip in grips:
                    units = [(axis, "N" if axis.startswith("f") else "N m") for axis in grip.components]
                    signals += [Coordinate(f"{grip.contact.name}_{prefix}{axis}", unit) for axis, unit in units]
            if self.friction is not None:
                for what in ("push", "friction_excess"):
                    signals += [Coordinate(f"{grip.contact.name}_{what}", "N") for grip in grips]
            judged = ("status", "outcome", "iterations", "primal_residual", "dual_residual", "gap")
            return (*signals, *(Coordinate(f"distribution_{name}", "1") for name in judged))

        def judged(self, bed: Testbed) -> tuple[RecordedLimit, ...]:
            """No answer of the distribution ends the run; limits not kept, grips that slip or let go are warnings."""
            limits = [
                RecordedLimit("distribution_status", "DISTRIBUTION_FAILED", 1.0, math.inf),
                RecordedLimit("distribution_outcome", "DISTRIBUTION_RELAXED", -math.inf, _OPTIMAL),
            ]
            if self.friction is not None:
                for grip in self._grips(bed):
                    name, least = grip.contact.name, self.friction.least_n
                    limits.append(RecordedLimit(f"{name}_push", "CONTACT_LOST", least, math.inf))
                    limits.append(RecordedLimit(f"{name}_friction_excess", "GRIP_SLIPS", -math.inf, 0.0))
            return tuple(limits)

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:
        """Refuse an object that the arms do not hold, or that they could not lead, and gauges that are missing."""
        grips = options._grips(bed)
        _refuse_reach(options, bed)
        try:
            refuse_contradictions(options.distribution)
        except InputError as refusal:
            raise refusal.within("distribution") from None
        gain, most = options.internal_force.integral_1_s, 1 / bed.loop.period_s
        if gain > most:  # the reading shows the torque of the tick before
            expected = f"at most 1 / loop.period_s = {most:g}, else it overshoots"
            raise InputError(key="internal_force.integral_1_s", value=gain, expected=expected)
        if options.reads_gauges:
            measured_grips(bed, grips, "friction" if options.friction else "internal_force.integral_1_s")

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed, self._n = model.bed, model.n
        carried = carried_object(bed, options.object)
        grips = arm_grips(bed, carried, may_float=True)
        moves = options.modes == "inverse_dynamics"
        stiffness = _flexible().stiffness(model, grips) if moves else np.zeros((0, 0))
        try:
            self.distribution = ForceDistribution(options.distribution, grasp_shape(bed, grips, stiffness))
        except InputError as refusal:
            raise refusal.within("controller.law.distribution") from refusal.__cause__
        if moves and not options.allow_unstable:
            _flexible().refuse_divergence(self.distribution, model, carried, grips)
        self._driven = model.driven
        self._n_u = model.layout.u[carried.name].stop - model.layout.u[carried.name].start
        #: acceleration by the integral so far
        self._integral = np.zeros(self._n_u)
        n_w = self.distribution.shape.n_wrench
        #: what the integral of the internal force adds, in the axes of the grips
        self._correction = np.zeros(n_w)
        #: wrenches and torques of the tick before, and whether they kept all limits
        self._wrench, self._torque, self._is_steady = np.zeros(n_w), np.zeros(len(self._driven)), np.zeros(1)
        #: part of the feedback that is in force, and what a tick adds to it
        self._ramp = np.array([0.0 if options.ramp_s else 1.0])
        self._ramp_step = np.array([bed.loop.period_s / options.ramp_s if options.ramp_s else 1.0])
        kinds = options.translation, options.rotation
        #: current gains as in `_LIVE` of translation, rotation, then of bases, which may be changed between two ticks
        self.gains: Array = np.array(options.gain_values(bed))
        self._bed, self._begins = bed, self._ramp.copy()
        self._most: Array = np.array([kind.integral_limit for kind in kinds])
        self._others = options.model_dump_json(exclude=set(options.arguments))
        self._gain, self._no_gain = np.array([options.internal_force.integral_1_s * bed.loop.period_s]), np.zeros(1)
        #: the last answer without forces, with its problem and the solver's status
        self.failure: DistributedForce | None = None

        def write() -> list[ca.Function]:
            return [_function(options, model), _demand(options, model)]

        key = bed.fingerprint and f"{bed.fingerprint} {options.model_dump_json(exclude=set(options.arguments))}"
        kernels = compile_once("object_impedance", key, write)
        kernel = kernels["object_impedance"]
        self._demand = kernels["object_demand"]
        ends = np.cumsum([0, *(kernel.function.numel_out(i) for i in range(kernel.function.n_out()))]).tolist()
        self._kernel, self._ends = kernel, ends
        self._run, self._parts = kernel.run, [slice(first, last) for first, last in pairwise(ends)]

    def restart(self) -> None:
        """Begin a grasp: integrals at zero, and no forces of a tick before."""
        for numbers in (self._integral, self._correction, self._wrench, self._torque, self._is_steady):
            numbers[:] = 0.0
        self._ramp[:] = self._begins

    def force_at(self, state: State, reference: Reference) -> Array:
        """The generalised force with all feedback in force, but for integrals; the law is at its start afterwards."""
        self.restart()
        self._ramp[0] = 1.0
        force = self.control(state, reference).force
        self.restart()
        return force

    def compiled_form(self) -> CompiledForm:
        """The same in C, for ticks in which no limit of the distribution is active."""
        shared, n_given = self.distribution.compiled_form(), self._kernel.function.n_out() - len(_GIVEN)
        measured = self._parts[n_given - 1]
        return CompiledForm(
            (*shared.sources, Path(__file__).with_suffix(".c")),
            {
                **shared.sizes,
                "LAW_RESULT_NUMBERS": self._ends[-1],
                "LAW_RESULTS": len(self._parts),
                "LAW_JOINTS": len(self._driven),
                "LAW_OUTPUTS": len(self._driven) + self.distribution.shape.n_base,
                "LAW_INTEGRALS": len(self._integral),
                "LAW_GRIP_NUMBERS": len(self._wrench),
                "LAW_MEASURED": measured.stop - measured.start,
            },
            {
                "LAW_RESULT": self._ends,
                # Of each field of a grasp its index among the results; the others are in the memory.
                "LAW_GRASP": [
                    n_given + _GIVEN.index(name) if name in _GIVEN else _REMEMBERED[name]
                    for name in self.distribution.fields
                ],
            },
            parameters={
                "law_gains": self.gains,
                "law_integral_limits": self._most,
                "law_force_gain": np.concatenate([self._gain, self._no_gain]),
                "law_ramp_step": self._ramp_step,
            },
            memory={
                "law_integral": self._integral,
                "law_correction": self._correction,
                "law_wrench": self._wrench,
                "law_torque": self._torque,
                "law_is_steady": self._is_steady,
                "law_ramp": self._ramp,
                **shared.memory,
            },
            kernels={**shared.kernels, "object_impedance": [self._kernel], "object_demand": [self._demand]},
            entry="object_impedance_control",
        )

    def take_gains(self, options: Options) -> bool:
        """Use the gains of another table; False where it differs in more than gains."""
        if options.model_dump_json(exclude=set(options.arguments)) != self._others:
            return False
        self.gains[:] = options.gain_values(self._bed)
        self._most[:] = [kind.integral_limit for kind in (options.translation, options.rotation)]
        return True

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`."""
        self.gains[:] = values

    def control(self, state: State, reference: Reference) -> Demand:
        """Accelerations of the modules, torques of the arms, and the grasp wrenches they come with."""
        ready = state.ready
        force_gain = self._gain if ready and self._is_steady[0] else self._no_gain
        results = self._run(
            (
                state.q, state.u, reference.q, reference.u, reference.a, self._integral,
                state.gauges, self._correction, self._wrench, force_gain,
                self.gains, self._most, self._ramp,
            )
        )  # fmt: skip
        motion, integral, correction, measured, *grasp = (results[part] for part in self._parts)
        self._correction[:] = correction
        # Matrices are flat: the distribution takes their bytes.
        answer = self.distribution.solve(
            Grasp(**dict(zip(_GIVEN, grasp, strict=True)), previous_torque=self._torque, ramp=self._ramp)
        )
        self._is_steady[0] = answer.outcome == _OPTIMAL
        if ready:  # else the actuators rest
            self._wrench[:] = answer.wrench
            self._ramp[0] = min(1.0, self._ramp.item(0) + self._ramp_step.item(0))
            if self._is_steady[0]:
                self._integral[:] = integral
        self._torque[:] = answer.torque
        outputs = np.concatenate((answer.torque, answer.base))
        if answer.outcome == _FAILED:  # no torques are known: the guard ends the run
            self.failure, outputs[:] = answer, np.nan
        force, wrench = np.split(self._demand.run((state.q, outputs)), [self._n])
        judged = _JUDGED(
            answer.status, answer.outcome, answer.iterations, answer.primal_residual, answer.dual_residual, answer.gap
        )
        numbers: tuple[Any, ...] = (answer.wrench, measured, judged)
        recorded = np.frombuffer(b"".join(numbers))
        return Demand(state.t, motion, force, wrench, recorded)


def _flexible() -> Any:
    """Only where modes move: it imports SciPy."""
    from granite.controllers.laws import flexible_grasp

    return flexible_grasp


def _function(options: ObjectImpedance.Options, model: ControlModel) -> ca.Function:
    """(q, u, reference, integral; gauges, correction and wrenches of the tick before, gain of the internal force; gains
    as in `_LIVE` and limits of the integral, of translation and rotation; ramp) -> accelerations, integral and
    correction after the tick, measured numbers, grasp."""
    bed = model.bed
    carried = carried_object(bed, options.object)
    grips = arm_grips(bed, carried, may_float=True)
    floating = vehicles(bed, grips)
    own_q, own_u = model.layout.q[carried.name], model.layout.u[carried.name]
    reference = [ca.SX.sym("q_ref", model.q.numel()), ca.SX.sym("u_ref", model.n), ca.SX.sym("a_ref", model.n)]
    n_w, n = sum(len(grip.rows) for grip in grips), own_u.stop - own_u.start
    integral, gauges = ca.SX.sym("integral", n), ca.SX.sym("gauges", n_gauge_signals(bed))
    correction, wrenches, gain = ca.SX.sym("correction", n_w), ca.SX.sym("w", n_w), ca.SX.sym("gain")
    error, slower = pose_error(model.q[own_q], reference[0][own_q], model.u[own_u], reference[1][own_u])
    kinds = [0] * (n // 2 + n % 2) + [1] * (n // 2)  # translation, rotation
    gains, limits = ca.SX.sym("gains", len(options.gain_values(bed))), ca.SX.sym("limits", 2)
    stiffness, damping, growing = (gains[[len(_LIVE) * kind + i for kind in kinds]] for i in range(len(_LIVE)))
    ramp = ca.SX.sym("ramp")
    part = ramp if options.ramp_s else 1.0
    demanded = reference[2][own_u] + part * (damping * slower + stiffness * error)
    if floating:
        bases = {one.name: _base_acceleration(model, one, reference, gains[2 * len(_LIVE) :], part) for one in floating}
        grasp = grasp_in_symbols(model, carried, grips, demanded, bases)
        # Wrong motors and friction act inside a vehicle: what the integral has found is no load of the thrusters.
        At, M_o = grasp.matrix, model.dynamics[carried.name].mass_matrix
        lifted = At @ solve(At.T @ At, M_o @ integral)
        rates = reference_rates(model, carried, grips, reference[1])
        inside = grasp.torque_map.T @ lifted - model.motor_torque(model.resistance(rates)[model.driven])
        grasp = grasp._replace(free_torque=grasp.free_torque + inside)
    else:
        grasp = grasp_in_symbols(model, carried, grips, demanded + integral)
    if options.modes == "inverse_dynamics":
        grasp = _flexible().with_modes(model, carried, grips, demanded, grasp)
    most = limits[kinds]
    growth = bed.loop.period_s * growing * error
    next_integral = ca.fmax(-most, ca.fmin(most, integral + growth))
    after, numbers = correction, ca.SX(0, 1)
    if options.reads_gauges:
        measured = measured_wrenches(model, measured_grips(bed, grips, "internal_force"), gauges)
        lacking = ca.vertcat(*local(grips, grasp.axes, internal(grasp, wrenches - measured)))
        bound = options.internal_force.integral_limit
        after = ca.fmax(-bound, ca.fmin(bound, correction + gain * lacking))
        added = internal(grasp, in_world(grips, grasp.axes, after))
        grasp = grasp._replace(
            free_torque=grasp.free_torque + grasp.torque_map.T @ added,
            free_base=grasp.free_base + grasp.base_map.T @ added,
        )
        numbers = measured
        if options.friction is not None:
            forces = [part[: grasp.axes.shape[0]] for part in local(grips, grasp.axes, measured)]
            # Nothing is judged before the first forces are demanded.
            grips_now, least = ca.dot(wrenches, wrenches) > 0, options.friction.least_n
            push = (ca.if_else(grips_now, force[0], least) for force in forces)
            excess = (friction_excess(force, options.friction.coefficient) for force in forces)
            numbers = ca.vertcat(numbers, *push, *(ca.if_else(grips_now, value, 0.0) for value in excess))
    given = [model.q, model.u, *reference, integral, gauges, correction, wrenches, gain, gains, limits, ramp]
    outputs = [grasp.acceleration, next_integral, after, numbers]
    return ca.Function(
        "object_impedance", given, [ca.densify(x) for x in (*outputs, *(getattr(grasp, name) for name in _GIVEN))]
    )


def _base_acceleration(
    model: ControlModel, vehicle: Module, reference: list[ca.SX], gains: ca.SX, ramp: ca.SX | float
) -> ca.SX:
    """a_ref + K_d (u_ref - u) + K_p (q_ref - q) of a planar base."""
    root_q, root_u = model.layout.root_q(vehicle), model.layout.root_u(vehicle)
    error, slower = reference[0][root_q] - model.q[root_q], reference[1][root_u] - model.u[root_u]
    return reference[2][root_u] + ramp * (gains[1] * slower + gains[0] * error)


def _demand(options: ObjectImpedance.Options, model: ControlModel) -> ca.Function:
    """(q, torques and wrenches of the bases) -> generalised force, wrenches on all roots that float."""
    grips = arm_grips(model.bed, carried_object(model.bed, options.object), may_float=True)
    floating, n = vehicles(model.bed, grips), len(model.driven)
    outputs = ca.SX.sym("outputs", n + 3 * len(floating))
    force, wrench = model.torque_force(outputs[:n]), ca.SX.zeros(model.n_wrench)
    for i, vehicle in enumerate(floating):
        own = outputs[n + 3 * i : n + 3 * i + 3]
        force[model.layout.u[vehicle.name]] += force_on_root(model.trees[vehicle.name], own)
        wrench[model.wrench_slice(vehicle)] = own
    return ca.Function("object_demand", [model.q, outputs], [ca.densify(force), ca.densify(wrench)])


def _refuse_reach(options: ObjectImpedance.Options, bed: Testbed) -> None:
    """Refuse the reach of thrusters with a sharing that does not reach so far, and a yaw wheel on a vehicle."""
    allocation = bed.control.allocation
    for i, limit in enumerate(options.distribution.limit):
        if limit.kind == "thrusters" and allocation.sharing.kind != "least_propellant":
            problem = f"sharing = '{allocation.sharing.kind}' reaches less than that"
            expected = "controller.allocation.sharing = 'least_propellant' with it"
            raise InputError(problem, key=f"distribution.limit.{i}", value=limit.kind, expected=expected)
    if allocation.yaw_wheel is not None:
        problem = "the wheel is no part of the distribution of forces"
        raise InputError(problem, key="object", expected="no controller.allocation.yaw_wheel")
