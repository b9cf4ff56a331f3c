"""Computed torque: the model turns demanded accelerations into generalised forces.

    a = a_ref + K_v (u_ref - u) + K_p (q_ref - q)          (Stanford report, 4.4.4, with erratum E9)
    F = M(q) a + h(q, u) - d - r(u_ref)                    (there, with erratum E10; d is the estimated disturbance)

The printed law misses the map Y from coordinate rates to the report's absolute rates; our u are the rates of q, so Y is
the identity here. Velocities without an actuator follow from the others: their part of a is the one for which their
part of F is zero. r is the resistance of the joints, damping and friction as the testbed has them; the prediction of
the estimator has it too, at the estimated rate, else d would have it once more.

While the reference rests, the gains go to those of `hold` and back at a bounded rate, and d passes a low-pass filter.
Both cost less propellant, because the noise of the estimate opens fewer valves. So do the gains of `coast`, while the
reference moves and needs no thrust: every correction there is paid twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import NotNegative, Positive, Table
from granite.config.errors import InputError, one_of
from granite.config.gains import LiveGain, around
from granite.config.law import LawTable
from granite.config.records import Array
from granite.config.tunable import Tunable
from granite.controllers.loaded_model import loaded
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicLaw
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: gains where a testbed gives none: base, joints (stiffness [1/s^2], damping [1/s])
_USUAL = {"base": (0.64, 1.6), "joints": (16.0, 8.0)}
#: of a moment that counts as a force of coasting
_LEVER_M = 0.1


class Gain(Table):
    """Feedback of the acceleration demand; a gain left out is that of its kind, `base` or `joints`."""

    stiffness_1_s2: NotNegative | None = None  #: acceleration for each metre or radian of error
    damping_1_s: NotNegative | None = None  #: acceleration for each m/s or rad/s of error


class StationKeeping(Table):
    """Gains while the reference rests; those left out are the gains of `law.gains`."""

    gains: dict[str, Gain] = Field(default_factory=dict)  #: by coordinate, or `base` and `joints`
    #: time in which the gains go from one to the other: neither they nor the command jump
    change_s: Annotated[float, Field(ge=0.1, le=100.0)] = 8.0
    #: time constant of the filter of the disturbance in hold
    disturbance_s: Annotated[float, Field(ge=0.1, le=100.0)] = 2.0
    #: the change goes back while the base is further than this from its reference
    error_m: Positive = 0.005
    error_rad: Positive = 0.01  #: the same for its heading


class Coasting(Table):
    """Gains while the reference moves without thrust; those left out are the gains of `law.gains`."""

    gains: dict[str, Gain] = Field(default_factory=dict)  #: by coordinate, or `base` and `joints`
    #: time in which the gains go from one to the other; back four times as fast
    change_s: Annotated[float, Field(ge=0.1, le=100.0)] = 2.0
    #: forces on a base up to this count as none; moments on a lever of 0.1 m
    thrust_n: Positive = 0.15


class ComputedTorque(SymbolicLaw):
    """The law with the gains of a testbed."""

    class Options(LawTable):
        """Gains by coordinate, or `base` and `joints` for all of a kind."""

        arguments: ClassVar[frozenset[str]] = frozenset({"gains", "hold", "coast"})
        gives_joint_accelerations: ClassVar[bool] = True

        gains: dict[str, Gain] = Field(default_factory=dict)  #: by coordinate, or `base` and `joints`
        hold: StationKeeping = StationKeeping()  #: gains while the reference rests
        coast: Coasting | None = None  #: gains while it moves without thrust; none: as elsewhere

        def gain(
            self, coordinate: str, is_joint: bool, *, holds: bool = False, coasts: bool = False
        ) -> tuple[float, float]:
            """Stiffness [1/s^2] and damping [1/s] of a coordinate: its own, or those of its kind."""
            kind = "joints" if is_joint else "base"
            tables = (self.hold.gains, self.gains) if holds else (self.gains,)
            if coasts and self.coast is not None:
                tables = self.coast.gains, self.gains
            gains: list[float] = []
            for i, key in enumerate(("stiffness_1_s2", "damping_1_s")):
                given = [getattr(t[name], key) for t in tables for name in (coordinate, kind) if name in t]
                gains.append(next((value for value in given if value is not None), _USUAL[kind][i]))
            return gains[0], gains[1]

        def holds_by_own_gains(self, coordinate: str, is_joint: bool) -> tuple[bool, bool]:
            """Whether stiffness and damping of a coordinate in hold are given, and not those in motion."""
            given = [self.hold.gains[n] for n in (coordinate, "joints" if is_joint else "base") if n in self.hold.gains]
            return any(g.stiffness_1_s2 is not None for g in given), any(g.damping_1_s is not None for g in given)

        def columns(self, bed: Testbed) -> dict[str, dict[str, float | str]]:
            """Stiffness and damping of every controlled coordinate, and both in hold where these are others."""
            names = [c.name for m in bed.controlled for c in bed.known.velocities[bed.known.u[m.name]]]
            columns: dict[str, dict[str, float | str]] = {
                title: {name: self.gain(name, name in bed.joints)[i] for name in names}
                for i, title in enumerate(("stiffness [1/s2]", "damping [1/s]"))
            }
            own = [name for name in names if any(self.holds_by_own_gains(name, name in bed.joints))]
            if own:
                gains = {name: self.gain(name, name in bed.joints, holds=True) for name in own}
                columns["in hold [1/s2, 1/s]"] = {name: f"{k:g}, {d:g}" for name, (k, d) in gains.items()}
            return columns

        def tunable(self, bed: Testbed) -> tuple[Tunable, ...]:
            """The gains of each kind of coordinate that is controlled, and those of a base in hold."""
            roots = any(module.base == "floating" for module in bed.controlled)
            kinds = {"base": roots, "joints": any(module.joints for module in bed.controlled)}
            tunables: list[Tunable] = []
            for kind in (kind for kind, is_there in kinds.items() if is_there):
                stiffness, damping = _USUAL[kind]
                tunables.append(
                    Tunable(f"gains.{kind}.stiffness_1_s2", stiffness / 20, stiffness * 10, usual=stiffness)
                )
                tunables.append(Tunable(f"gains.{kind}.damping_1_s", damping / 5, damping * 4, usual=damping))
                if kind == "base":
                    stiffer, damped = self.gain(kind, False, holds=True)
                    tunables.append(
                        Tunable("hold.gains.base.stiffness_1_s2", stiffness / 20, stiffness * 10, usual=stiffer)
                    )
                    tunables.append(Tunable("hold.gains.base.damping_1_s", damping / 5, damping * 4, usual=damped))
            return tuple(tunables)

        def live_gains(self, bed: Testbed) -> tuple[LiveGain, ...]:
            """Stiffness of every controlled coordinate, then damping."""
            names = [c.name for module in bed.controlled for c in bed.known.velocities[bed.known.u[module.name]]]
            gains = [self.gain(name, name in bed.joints) for name in names]
            kinds = (("stiffness", "1/s2", "acceleration per error"), ("damping", "1/s", "acceleration per rate error"))
            return tuple(
                around(f"{name}_{kind}", unit, gain[i], f"{what} of {name}")
                for i, (kind, unit, what) in enumerate(kinds)
                for name, gain in zip(names, gains, strict=True)
            )

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:
        """Refuse gains of coordinates that are not controlled."""
        own = [c.name for module in bed.controlled for c in bed.known.velocities[bed.known.u[module.name]]]
        known = [*own, "base", "joints"]
        coast = options.coast.gains if options.coast else {}
        for key, gains in (("gains", options.gains), ("hold.gains", options.hold.gains), ("coast.gains", coast)):
            for name in gains:
                if name not in known:
                    raise InputError("no such coordinate", key=f"{key}.{name}", expected=one_of(name, known))

    def __init__(self, options: Options, model: ControlModel) -> None:
        hold = options.hold.model_dump_json(exclude={"gains"})
        coast = options.coast.model_dump_json(exclude={"gains"}) if options.coast else ""
        key = model.bed.fingerprint and f"{model.bed.fingerprint} {hold} {coast}"
        kernels = compile_once(
            "computed_torque", key, lambda: [computed_torque(model, options.hold, coast=options.coast)]
        )
        memory = {"filtered": np.zeros(model.n), "held": np.zeros(1)}
        memory |= {"coasted": np.zeros(1)} if options.coast else {}
        super().__init__(model.bed, kernels["computed_torque"], motion_gains(options, model), memory)
        self._begin(options, model)

    def _begin(self, options: Options, model: ControlModel) -> None:
        self._model, self._others = model, _without_gains(options)
        self._live = LiveMotionGains(options, model)

    def take_gains(self, options: Options) -> bool:
        """Use the gains of another table; False where it differs in more than gains."""
        if _without_gains(options) != self._others:
            return False
        for name, gains in motion_gains(options, self._model).items():
            self.parameters[name][:] = gains
        self._live = LiveMotionGains(options, self._model)
        return True

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`; those of coordinates without an actuator stay zero."""
        self._live.set(values, self.parameters)


def _without_gains(options: ComputedTorque.Options) -> str:
    return options.model_dump_json(exclude={"gains": True, "hold": {"gains"}, "coast": {"gains"}})


def motion_gains(options: ComputedTorque.Options, model: ControlModel) -> dict[str, Array]:
    """Stiffness and damping of each velocity, in motion and in hold; zero without an actuator."""
    names, active = [c.name for c in model.layout.velocities], set(model.active)
    gains: dict[str, Array] = {}
    for prefix in ("", "hold_", *["coast_"] * (options.coast is not None)):
        asked = {"holds": prefix == "hold_", "coasts": prefix == "coast_"}
        pairs = [options.gain(name, name in model.layout.joints, **asked) for name in names]
        for k, kind in enumerate(("stiffness", "damping")):
            gains[prefix + kind] = np.array([pair[k] if i in active else 0.0 for i, pair in enumerate(pairs)])
    return gains


class LiveMotionGains:
    """Which numbers of `motion_gains` an operator may change."""

    def __init__(self, options: ComputedTorque.Options, model: ControlModel) -> None:
        names, layout = [c.name for c in model.layout.velocities], model.layout
        tuned = [i for module in model.bed.controlled for i in range(*layout.u[module.name].indices(model.n))]
        self._tuned, self._active = np.array(tuned, dtype=int), np.isin(tuned, model.active)
        #: of these, the velocities without gains of their own in hold: their gains in motion hold, too
        held = [options.holds_by_own_gains(names[i], names[i] in layout.joints) for i in tuned]
        self._is_same_in_hold = ~np.array(held, dtype=bool).reshape(-1, 2).T

    def set(self, values: Array, gains: Mapping[str, Array]) -> None:
        """All stiffnesses, then all dampings."""
        rows = np.where(self._active, values.reshape(2, -1), 0.0)
        for kind, row, same in zip(("stiffness", "damping"), rows, self._is_same_in_hold, strict=True):
            gains[kind][self._tuned] = row
            gains[f"hold_{kind}"][self._tuned[same]] = row[same]


def computed_torque(
    model: ControlModel, hold: StationKeeping, modal_gain: ca.SX | None = None, coast: Coasting | None = None
) -> ca.Function:
    """The law as a function of named numbers; the modal gain adds an acceleration per velocity."""
    model = loaded(model)
    q_ref, u_ref, a_ref, kp, kv, kp_hold, kv_hold, disturbance, before = (
        ca.SX.sym(s, model.n) for s in ("q_ref", "u_ref", "a_ref", "kp", "kv", "kp_hold", "kv_hold", "d", "before")
    )
    held_before = ca.SX.sym("held_before")
    wanted = a_ref if modal_gain is None else a_ref + modal_gain @ model.u
    held = _held(model, hold, held_before, q_ref, ca.vertcat(u_ref, wanted))
    coasted_before, kp_coast, kv_coast = ca.SX.sym("coasted"), *(ca.SX.sym(s, model.n) for s in ("kp_c", "kv_c"))
    stiffness, damping = kp, kv
    if coast is not None:
        coasted = _coasted(model, coast, coasted_before, ca.vertcat(u_ref, wanted), wanted)
        stiffness, damping = kp + coasted * (kp_coast - kp), kv + coasted * (kv_coast - kv)
    stiffness, damping = stiffness + held * (kp_hold - stiffness), damping + held * (kv_hold - damping)
    slowness = held * (1 - model.bed.loop.period_s / hold.disturbance_s)
    filtered = disturbance + slowness * (before - disturbance)
    demanded = wanted + damping * (u_ref - model.u) + stiffness * (q_ref - model.q)
    a = model.complete(demanded, ca.SX.zeros(model.n))
    force = model.inverse(a) - filtered
    # At the rate of the reference: that of the estimate is noisy, and would act as negative damping. A yaw wheel
    # follows no reference.
    rate, wheel = ca.SX(u_ref), model.bed.control.allocation.yaw_wheel
    if wheel:
        rate[model.layout.joint_u(wheel.joint)] = model.u[model.layout.joint_u(wheel.joint)]
    force[model.driven] -= model.resistance(rate)[model.driven]
    inputs = {
        "state_q": model.q,
        "state_u": model.u,
        "state_disturbance": disturbance,
        **({"state_payload": model.payload} if model.payload.numel() else {}),
        "reference_q": q_ref,
        "reference_u": u_ref,
        "reference_a": a_ref,
        "parameter_stiffness": kp,
        "parameter_damping": kv,
        "parameter_hold_stiffness": kp_hold,
        "parameter_hold_damping": kv_hold,
        **({} if modal_gain is None else {"parameter_modal_gain": modal_gain}),
        **({} if coast is None else {"parameter_coast_stiffness": kp_coast, "parameter_coast_damping": kv_coast}),
        **({} if coast is None else {"memory_coasted": coasted_before}),
        "memory_filtered": before,
        "memory_held": held_before,
    }
    outputs = {
        "demand_acceleration": a,
        "demand_force": force,
        "demand_wrench": model.wrenches(force),
        **({} if coast is None else {"next_coasted": coasted}),
        "next_filtered": filtered,
        "next_held": held,
    }
    return named_function("computed_torque", inputs, outputs)


def _held(model: ControlModel, hold: StationKeeping, before: ca.SX, q_ref: ca.SX, motion: ca.SX) -> ca.SX:
    """How far the gains are those of a hold: rises while the reference rests and the bases are near it."""
    rests = ca.sumsqr(motion) == 0
    for module in model.floating:
        if module.dimension == "planar":
            x, y, heading = range(*model.layout.root_q(module).indices(model.q.numel()))
            off = ca.hypot(q_ref[x] - model.q[x], q_ref[y] - model.q[y])
            turned = ca.fabs(q_ref[heading] - model.q[heading])
            rests = ca.logic_and(rests, ca.logic_and(off <= hold.error_m, turned <= hold.error_rad))
    step = model.bed.loop.period_s / hold.change_s
    # Back four times as fast: a motion begins.
    return ca.fmin(ca.fmax(before + ca.if_else(rests, step, -4 * step), 0.0), 1.0)


def _coasted(model: ControlModel, coast: Coasting, before: ca.SX, motion: ca.SX, acceleration: ca.SX) -> ca.SX:
    """How far the gains are those of coasting: rises while the reference moves and the bases need no force for it."""
    coasts = ca.sumsqr(motion) > 0
    wrenches = model.wrenches(model.inverse(model.complete(acceleration, ca.SX.zeros(model.n))))
    for module in model.floating:
        if module.dimension == "planar":
            x, y, moment = ca.vertsplit(wrenches[model.wrench_slice(module)])
            is_small = ca.logic_and(ca.hypot(x, y) <= coast.thrust_n, ca.fabs(moment) <= _LEVER_M * coast.thrust_n)
            coasts = ca.logic_and(coasts, is_small)
    step = model.bed.loop.period_s / coast.change_s
    return ca.fmin(ca.fmax(before + ca.if_else(coasts, step, -4 * step), 0.0), 1.0)
