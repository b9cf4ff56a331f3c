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
from granite.config.law import LawTable
from granite.config.records import Array
from granite.controllers.laws.carrying import arm_grips, carried_object
from granite.controllers.laws.held_joints import joints_of_object, refuse_moments
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicLaw
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

_KEYS = ("stiffness_n_m_rad", "damping_n_m_s_rad", "integral_n_m_rad_s", "integral_limit_n_m")
_TITLES = ("stiffness [N m/rad]", "damping [N m s/rad]", "integral [N m/(rad s)]", "integral limit [N m]")


class JointGain(Table):
    """Gains of a joint; one left out is that of `joints`."""

    stiffness_n_m_rad: Positive | None = None  #: torque for each radian of error
    damping_n_m_s_rad: Positive | None = None  #: torque for each rad/s of error
    #: 0: PD
    integral_n_m_rad_s: NotNegative | None = None
    #: most torque of the integral
    integral_limit_n_m: NotNegative | None = None


class JointPid(SymbolicLaw):
    """The law with the gains of a testbed."""

    class Options(LawTable):
        """Gains by joint, or `joints` for all; the object that the arms carry, if any."""

        gains: dict[str, JointGain] = Field(default_factory=dict)  #: by joint, or `joints`
        #: none where the joints have references of their own
        object: Name | None = None

        def gain(self, joint: str) -> tuple[float, ...]:
            """Stiffness, damping, integral gain and its limit of a joint."""
            usual, gains = (10.0, 2.0, 0.0, 1.0), []
            for i, key in enumerate(_KEYS):
                given = [getattr(self.gains[name], key) for name in (joint, "joints") if name in self.gains]
                gains.append(next((value for value in given if value is not None), usual[i]))
            return tuple(gains)

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
        gains = np.array([options.gain(motor.joint) for motor in model.bed.motors]).reshape(-1, 4)
        names = "stiffness", "damping", "integral", "integral_limit"
        parameters = {name: column.copy() for name, column in zip(names, gains.T, strict=True)}
        limit = [motor.torque_limit_n_m for motor in model.bed.motors]
        key = model.bed.fingerprint and f"{model.bed.fingerprint} {options.model_dump_json()}"
        kernels = compile_once("joint_pid", key, lambda: [_function(options, model, limit)])
        # Torque of each integral [N m], references of all coordinates in the tick before, and whether there are any.
        memory = {"sum": np.zeros(len(limit)), "before": np.zeros(model.n), "started": np.zeros(1)}
        super().__init__(model.bed, kernels["joint_pid"], parameters, memory)

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`."""
        for name, row in zip(("stiffness", "damping", "integral"), values.reshape(3, -1), strict=True):
            self.parameters[name][:] = row


def _function(options: JointPid.Options, model: ControlModel, limit: list[float]) -> ca.Function:
    n, n_m, bed = model.n, len(limit), model.bed
    q_ref, u_ref, last = ca.SX.sym("q_ref", n), ca.SX.sym("u_ref", n), ca.SX.sym("last", n)
    total, *gains = (ca.SX.sym(name, n_m) for name in ("sum", "kp", "kd", "ki", "most"))
    ready, started = ca.SX.sym("ready"), ca.SX.sym("started")
    kp, kd, ki, most = gains
    before = ca.if_else(started, last, model.q)
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
    within = ca.fabs(model.motor_torque(torque)) < ca.DM(limit)
    if bed.transmission is not None:  # all motors that act on the joint
        within = ca.logic_not((bed.transmission != 0).astype(float) @ ca.logic_not(within))
    grows = ca.logic_or(within, torque * error < 0)
    after = ca.fmax(-most, ca.fmin(most, total + ca.if_else(grows, bed.loop.period_s * ki * error, np.zeros(n_m))))
    inputs = {
        "state_ready": ready,
        "state_q": model.q,
        "state_u": model.u,
        "reference_q": q_ref,
        "reference_u": u_ref,
        "parameter_stiffness": kp,
        "parameter_damping": kd,
        "parameter_integral": ki,
        "parameter_integral_limit": most,
        "memory_sum": total,
        "memory_before": last,
        "memory_started": started,
    }
    outputs = {
        "demand_force": model.torque_force(model.motor_torque(torque)),
        # While the state is not ready, the actuators rest.
        "next_sum": ca.if_else(ready, after, total),
        "next_before": ca.if_else(ready, q_wanted, last),
        "next_started": ca.if_else(ready, 1.0, started),
    }
    return named_function("joint_pid", inputs, outputs)
