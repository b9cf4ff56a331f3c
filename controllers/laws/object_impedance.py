"""Object impedance after Hogan (Impedance control, ASME J. Dyn. Syst. Meas. Control 107, 1985), for any number of arms.

The object answers to an external force as a mass with spring and damper about its reference; its inertia is its own, so
that no force has to be measured. An integral removes what motors and friction leave:

    a = a_ref + K_d (u_ref - u) + K_p (q_ref - q) + K_i int (q_ref - q) dt

Joints are not fed back: their offsets would become squeeze. The model turns a into the accelerations of the arms and
the wrench that the object needs (`carrying.py`); the force distribution chooses the grasp wrenches and with them the
torques. The integral stops while the distribution can't keep its limits, and its part of a is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.coordinates import Coordinate
from granite.config.distribution import ForceDistributionTable
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.config.records import Demand, Reference, State
from granite.config.tunable import Tunable
from granite.controllers.distribution.force_distribution import DistributionOutcome, ForceDistribution
from granite.controllers.distribution.grasp import Grasp
from granite.controllers.laws.carrying import arm_grips, carried_object, grasp_in_symbols, grasp_shape
from granite.controllers.model import ControlModel
from granite.mrds.compilation import compile_once

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: fields of a grasp that this law gives, in the order of the compiled function
_GIVEN = ("matrix", "load", "free_torque", "torque_map", "positions", "axes")


class Impedance(Table):
    """Feedback of the object's acceleration along its coordinates of one kind."""

    stiffness_1_s2: Positive = 16.0
    damping_1_s: Positive = 8.0
    integral_1_s3: NotNegative = 0.0
    #: most acceleration of the integral [m/s^2, rad/s^2]
    integral_limit: NotNegative = 1.0


class ObjectImpedance:
    """The law with the gains and the distribution of a testbed."""

    class Options(PartTable):
        """The object, its impedance, and the distribution of forces among the arms."""

        #: may be left out where the controller knows one object
        object: Name | None = None
        translation: Impedance = Impedance()
        rotation: Impedance = Impedance()
        distribution: ForceDistributionTable = Field(
            default_factory=lambda: ForceDistributionTable.model_validate(
                {"objective": ["joint_load_sharing"], "limit": ["torque"]}
            )
        )

        def followed(self, bed: Testbed) -> tuple[str, ...]:
            """The object: the joints of the arms follow from it."""
            return (carried_object(bed, self.object).name,)

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

        def recorded(self, bed: Testbed) -> tuple[Coordinate, ...]:
            """Wrenches of the grips, and how good the answer of the distribution is."""
            found: list[Coordinate] = []
            for grip in arm_grips(bed, carried_object(bed, self.object)):
                name = grip.contact.name
                found += [Coordinate(f"{name}_fx", "N"), Coordinate(f"{name}_fy", "N")]
                found += [Coordinate(f"{name}_mz", "N m")] if grip.has_moment else []
            judged = ("outcome", "iterations", "primal_residual", "dual_residual", "gap")
            return (*found, *(Coordinate(f"distribution_{name}", "1") for name in judged))

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:
        """Refuse an object that the arms do not hold, or that they could not lead."""
        arm_grips(bed, carried_object(bed, options.object))

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed, self._n, self._n_wrench = model.bed, model.n, model.n_wrench
        carried = carried_object(bed, options.object)
        grips = arm_grips(bed, carried)
        try:
            self.distribution = ForceDistribution(options.distribution, grasp_shape(bed, grips))
        except InputError as refusal:
            raise refusal.within("controller.law.distribution") from refusal.__cause__
        self._own, self._driven = model.layout.u[carried.name], model.driven
        kinds = (options.translation, options.translation, options.rotation)
        self._limit = np.array([kind.integral_limit for kind in kinds])
        self._rate = np.array([kind.integral_1_s3 for kind in kinds]) * bed.loop.period_s
        #: acceleration by the integral so far
        self._integral = np.zeros(3)

        def write() -> list[ca.Function]:
            reference = [ca.SX.sym(name, model.n) for name in ("q_ref", "u_ref", "a_ref")]
            integral = ca.SX.sym("integral", 3)
            q, u, a = (part[self._own] for part in reference)
            error = q - model.q[self._own]
            stiffness, damping = (
                ca.DM([getattr(kind, key) for kind in kinds]) for key in ("stiffness_1_s2", "damping_1_s")
            )
            demanded = a + damping * (u - model.u[self._own]) + stiffness * error + integral
            motion, grasp = grasp_in_symbols(model, carried, grips, demanded)
            given = [model.q, model.u, *reference, integral]
            return [ca.Function("object_impedance", given, [motion, error, *grasp])]

        key = bed.fingerprint and f"{bed.fingerprint} {options.model_dump_json()}"
        kernel = compile_once("object_impedance", key, write)["object_impedance"]
        self._run, self._split = kernel.run, kernel.split
        nothing, n_w = np.zeros(0), self.distribution.shape.n_wrench
        self._torque = np.zeros(len(model.driven))
        self._rest = {"free_elastic": nothing, "elastic_map": np.zeros((0, n_w)), "elastic": nothing}

    def control(self, state: State, reference: Reference) -> Demand:
        """Accelerations of the modules, torques of the arms, and the grasp wrenches they come with."""
        motion, error, *given = self._split(
            self._run((state.q, state.u, reference.q, reference.u, reference.a, self._integral))
        )
        arrays = dict(zip(_GIVEN, (part.T for part in given), strict=True))
        grasp = Grasp(**arrays, **self._rest, elastic_rate=self._rest["elastic"], previous_torque=self._torque)
        answer = self.distribution.solve(grasp)
        if answer.outcome == DistributionOutcome.OPTIMAL and state.ready:
            self._integral = np.clip(self._integral + self._rate * error, -self._limit, self._limit)
        self._torque = answer.torque
        force = np.zeros(self._n)
        # No torques are known: the guard ends the run, because the demand is not finite.
        force[self._driven] = np.nan if answer.outcome == DistributionOutcome.FAILED else answer.torque
        judged = (answer.outcome, answer.iterations, answer.primal_residual, answer.dual_residual, answer.gap)
        return Demand(state.t, motion, force, np.zeros(self._n_wrench), np.array([*answer.wrench, *judged]))
