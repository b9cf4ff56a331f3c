"""PD and PID control of each joint by itself, without a model; the integral has anti-windup.

    tau = K_p (q_ref - q) + K_d (u_ref - u) + s          s <- s + K_i (q_ref - q) T

s is bounded, and does not grow while the torque is beyond the motor's limit in the direction of the error (conditional
integration; Astrom and Hagglund, PID Controllers, 1995, section 3.5). Where the arms carry an object, the references
of the joints follow from that of the object (`held_joints.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.errors import InputError, one_of
from granite.config.gains import LiveGain, around
from granite.config.parts import PartTable
from granite.config.records import NOTHING, Array, Demand, Reference, State
from granite.controllers.laws.carrying import arm_grips, carried_object
from granite.controllers.laws.held_joints import joints_of_object, refuse_moments
from granite.controllers.model import ControlModel
from granite.kernels.compilation import compile_once

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

_KEYS = ("stiffness_n_m_rad", "damping_n_m_s_rad", "integral_n_m_rad_s", "integral_limit_n_m")
_TITLES = ("stiffness [N m/rad]", "damping [N m s/rad]", "integral [N m/(rad s)]", "integral limit [N m]")


class JointGain(Table):
    """Gains of a joint; one left out is that of `joints`."""

    stiffness_n_m_rad: Positive | None = None
    damping_n_m_s_rad: Positive | None = None
    #: 0: PD
    integral_n_m_rad_s: NotNegative | None = None
    #: most torque of the integral
    integral_limit_n_m: NotNegative | None = None


class JointPid:
    """The law with the gains of a testbed."""

    class Options(PartTable):
        """Gains by joint, or `joints` for all; the object that the arms carry, if any."""

        gains: dict[str, JointGain] = Field(default_factory=dict)
        #: none where the joints have references of their own
        object: Name | None = None

        def gain(self, joint: str) -> tuple[float, ...]:
            """Stiffness, damping, integral gain and its limit of a joint."""
            usual, found = (10.0, 2.0, 0.0, 1.0), []
            for i, key in enumerate(_KEYS):
                given = [getattr(self.gains[name], key) for name in (joint, "joints") if name in self.gains]
                found.append(next((value for value in given if value is not None), usual[i]))
            return tuple(found)

        def followed(self, bed: Testbed) -> tuple[str, ...]:
            """The object, where there is one."""
            return (self.object,) if self.object else super().followed(bed)

        def columns(self, bed: Testbed) -> dict[str, dict[str, float | str]]:
            """The gains of every joint with a motor."""
            gains = {motor.joint: self.gain(motor.joint) for motor in bed.motors}
            return {title: {name: gain[i] for name, gain in gains.items()} for i, title in enumerate(_TITLES)}

        def live_gains(self, bed: Testbed) -> tuple[LiveGain, ...]:
            """Stiffness of every joint with a motor, then damping, then integral."""
            what = "torque per error", "torque per rate error", "growth of the torque per error"
            return tuple(
                around(f"{motor.joint}_{_KEYS[i].split('_')[0]}", unit, self.gain(motor.joint)[i], f"{what[i]} of it")
                for i, unit in enumerate(("N m/rad", "N m s/rad", "N m/(rad s)"))
                for motor in bed.motors
            )

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:
        """Refuse gains of joints without a motor, bases that float, and objects that the arms can't lead."""
        known = [*(motor.joint for motor in bed.motors), "joints"]
        for name in options.gains:
            if name not in known:
                raise InputError("no motor there", key=f"gains.{name}", expected=one_of(name, known))
        for module in bed.controlled:
            if module.base != "fixed":
                raise InputError(f"'{module.name}' floats", key="kind", value=options.kind, expected="fixed bases")
        if options.object:
            try:
                refuse_moments(arm_grips(bed, carried_object(bed, options.object)))
            except InputError as refusal:
                raise refusal if refusal.key else refusal.within("object") from None

    def __init__(self, options: Options, model: ControlModel) -> None:
        self._n, self._n_wrench = model.n, model.n_wrench
        gains = np.array([options.gain(motor.joint) for motor in model.bed.motors]).reshape(-1, 4)
        #: current gains, which may be changed between two ticks
        self.stiffness, self.damping, self.integral, self.integral_limit = (column.copy() for column in gains.T)
        limit = [motor.torque_limit_n_m for motor in model.bed.motors]
        key = model.bed.fingerprint and f"{model.bed.fingerprint} {options.model_dump_json()}"
        kernels = compile_once("joint_pid", key, lambda: [_function(options, model, limit)])
        self._run, self._split = kernels["joint_pid"].run, kernels["joint_pid"].split
        #: torque of each integral [N m], and the references of all coordinates in the tick before
        self._sum: Array = np.zeros(len(limit))
        self._before: Array | None = None

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`."""
        self.stiffness[:], self.damping[:], self.integral[:] = values.reshape(3, -1)

    def control(self, state: State, reference: Reference) -> Demand:
        """Torques from the errors of the joints."""
        before = state.q if self._before is None else self._before
        force, total, before = self._split(
            self._run(
                (
                    state.q, state.u, reference.q, reference.u, before, self._sum,
                    self.stiffness, self.damping, self.integral, self.integral_limit,
                )
            )
        )  # fmt: skip
        if state.ready:  # else the actuators rest
            self._sum, self._before = total, before
        return Demand(state.t, np.zeros(self._n), force, np.zeros(self._n_wrench), NOTHING)


def _function(options: JointPid.Options, model: ControlModel, limit: list[float]) -> ca.Function:
    """(q, u, reference, coordinates of the last reference, integral, gains) -> force, integral, reference."""
    n, n_m, bed = model.n, len(limit), model.bed
    q_ref, u_ref, before = ca.SX.sym("q_ref", n), ca.SX.sym("u_ref", n), ca.SX.sym("before", n)
    total, *gains = (ca.SX.sym(name, n_m) for name in ("sum", "kp", "kd", "ki", "most"))
    kp, kd, ki, most = gains
    q_wanted, u_wanted = q_ref, u_ref
    if options.object:
        carried = carried_object(bed, options.object)
        grips, own = arm_grips(bed, carried), model.layout.u[carried.name]
        start = ca.SX(before)
        start[own] = q_ref[own]
        q_wanted, u_wanted = joints_of_object(model, carried, grips, start, u_ref[own])
    error = (q_wanted - model.q)[model.driven]
    direct = kp * error + kd * (u_wanted - model.u)[model.driven]
    # The integral of the tick before: what it gets now acts in the next one.
    torque = direct + total
    grows = ca.logic_or(ca.fabs(torque) < ca.DM(limit), torque * error < 0)
    after = ca.fmax(-most, ca.fmin(most, total + ca.if_else(grows, bed.loop.period_s * ki * error, np.zeros(n_m))))
    given = [model.q, model.u, q_ref, u_ref, before, total, *gains]
    return ca.Function("joint_pid", given, [model.torque_force(torque), after, q_wanted])
