"""Computed torque: the model turns demanded accelerations into generalised forces.

    a = a_ref + K_v (u_ref - u) + K_p (q_ref - q)          (Stanford report, 4.4.4, with erratum E9)
    F = M(q) a + h(q, u) - d                               (there, with erratum E10; d is the estimated disturbance)

The printed law misses the map Y from coordinate rates to the report's absolute rates; our u are the rates of q, so Y is
the identity here. Velocities without an actuator follow from the others: their part of a is the one for which their
part of F is zero.

While the reference rests, the gains go to those of `hold` and back at a bounded rate, and d passes a low-pass filter.
Both cost less propellant, because the noise of the estimate opens fewer valves.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import NotNegative, Positive, Table
from granite.config.errors import InputError, one_of
from granite.config.gains import LiveGain, around
from granite.config.parts import PartTable
from granite.config.records import NOTHING, Array, Demand, Reference, State, new
from granite.config.tunable import Tunable
from granite.controllers.model import ControlModel
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: gains where a testbed gives none: base, joints (stiffness [1/s^2], damping [1/s])
_USUAL = {"base": (0.64, 1.6), "joints": (16.0, 8.0)}


class Gain(Table):
    """Feedback of the acceleration demand; a gain left out is that of its kind, `base` or `joints`."""

    stiffness_1_s2: NotNegative | None = None
    damping_1_s: NotNegative | None = None


class StationKeeping(Table):
    """Gains while the reference rests; those left out are the gains of `law.gains`."""

    gains: dict[str, Gain] = Field(default_factory=dict)
    #: time in which the gains go from one to the other: neither they nor the command jump
    change_s: Annotated[float, Field(ge=0.1, le=100.0)] = 8.0
    #: time constant of the filter of the disturbance in hold
    disturbance_s: Annotated[float, Field(ge=0.1, le=100.0)] = 2.0
    #: the change goes back while the base is further than this from its reference
    error_m: Positive = 0.005
    error_rad: Positive = 0.01


class ComputedTorque:
    """The law with the gains of a testbed."""

    class Options(PartTable):
        """Gains by coordinate, or `base` and `joints` for all of a kind."""

        arguments: ClassVar[frozenset[str]] = frozenset({"gains", "hold"})
        gives_joint_accelerations: ClassVar[bool] = True

        gains: dict[str, Gain] = Field(default_factory=dict)
        hold: StationKeeping = StationKeeping()

        def gain(self, coordinate: str, is_joint: bool, *, holds: bool = False) -> tuple[float, float]:
            """Stiffness [1/s^2] and damping [1/s] of a coordinate: its own, or those of its kind."""
            kind = "joints" if is_joint else "base"
            tables = (self.hold.gains, self.gains) if holds else (self.gains,)
            found: list[float] = []
            for i, key in enumerate(("stiffness_1_s2", "damping_1_s")):
                given = [getattr(t[name], key) for t in tables for name in (coordinate, kind) if name in t]
                found.append(next((value for value in given if value is not None), _USUAL[kind][i]))
            return found[0], found[1]

        def holds_by_own_gains(self, coordinate: str, is_joint: bool) -> tuple[bool, bool]:
            """Whether stiffness and damping of a coordinate in hold are given, and not those in motion."""
            given = [self.hold.gains[n] for n in (coordinate, "joints" if is_joint else "base") if n in self.hold.gains]
            return any(g.stiffness_1_s2 is not None for g in given), any(g.damping_1_s is not None for g in given)

        def columns(self, bed: Testbed) -> dict[str, dict[str, float | str]]:
            """Stiffness and damping of every controlled coordinate, and both in hold where these are others."""
            names = [c.name for m in bed.controlled for c in bed.known.velocities[bed.known.u[m.name]]]
            found: dict[str, dict[str, float | str]] = {
                title: {name: self.gain(name, name in bed.joints)[i] for name in names}
                for i, title in enumerate(("stiffness [1/s2]", "damping [1/s]"))
            }
            own = [name for name in names if any(self.holds_by_own_gains(name, name in bed.joints))]
            if own:
                gains = {name: self.gain(name, name in bed.joints, holds=True) for name in own}
                found["in hold [1/s2, 1/s]"] = {name: f"{k:g}, {d:g}" for name, (k, d) in gains.items()}
            return found

        def tunable(self, bed: Testbed) -> tuple[Tunable, ...]:
            """The gains of each kind of coordinate that is controlled, and those of a base in hold."""
            roots = any(module.base == "floating" for module in bed.controlled)
            kinds = {"base": roots, "joints": any(module.joints for module in bed.controlled)}
            found: list[Tunable] = []
            for kind in (kind for kind, is_there in kinds.items() if is_there):
                stiffness, damping = _USUAL[kind]
                found.append(Tunable(f"gains.{kind}.stiffness_1_s2", stiffness / 20, stiffness * 10, usual=stiffness))
                found.append(Tunable(f"gains.{kind}.damping_1_s", damping / 5, damping * 4, usual=damping))
                if kind == "base":
                    stiffer, damped = self.gain(kind, False, holds=True)
                    found.append(
                        Tunable("hold.gains.base.stiffness_1_s2", stiffness / 20, stiffness * 10, usual=stiffer)
                    )
                    found.append(Tunable("hold.gains.base.damping_1_s", damping / 5, damping * 4, usual=damped))
            return tuple(found)

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
        for key, gains in (("gains", options.gains), ("hold.gains", options.hold.gains)):
            for name in gains:
                if name not in known:
                    raise InputError("no such coordinate", key=f"{key}.{name}", expected=one_of(name, known))

    def __init__(self, options: Options, model: ControlModel) -> None:
        names, active = [c.name for c in model.layout.velocities], set(model.active)

        def gains(holds: bool) -> list[Array]:
            """Stiffness and damping of each velocity, zero without an actuator."""
            each = [options.gain(n, n in model.layout.joints, holds=holds) for n in names]
            return [np.array([gain[k] if i in active else 0.0 for i, gain in enumerate(each)]) for k in (0, 1)]

        #: current gains in motion and in hold, which may be changed between two ticks
        (self.stiffness, self.damping), (self.hold_stiffness, self.hold_damping) = gains(False), gains(True)
        own = [i for module in model.bed.controlled for i in range(*model.layout.u[module.name].indices(model.n))]
        self._tuned, self._active = np.array(own, dtype=int), np.isin(own, model.active)
        #: of these, the velocities without gains of their own in hold: their gains in motion hold, too
        held = [options.holds_by_own_gains(names[i], names[i] in model.layout.joints) for i in own]
        self._is_same_in_hold = ~np.array(held, dtype=bool).reshape(-1, 2).T
        hold = options.hold.model_dump_json(exclude={"gains"})
        key = model.bed.fingerprint and f"{model.bed.fingerprint} {hold}"
        kernels = compile_once("computed_torque", key, lambda: [_function(model, options.hold)])
        self._kernel = kernels["computed_torque"]
        self._run = self._kernel.run
        self._n, self._none = model.n, np.zeros(model.n)
        #: filtered disturbance, and how far the gains are those of a hold, 0 to 1
        self._memory: Array = np.zeros(model.n + 1)

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"LAW_MEMORY": len(self._memory)},
            parameters={
                "law_stiffness": self.stiffness,
                "law_damping": self.damping,
                "law_hold_stiffness": self.hold_stiffness,
                "law_hold_damping": self.hold_damping,
            },
            memory={"law_memory": self._memory},
            kernels={"computed_torque": [self._kernel]},
        )

    def adopt(self, memory: Mapping[str, Array]) -> None:
        """Continue from the memory of the compiled form."""
        self._memory = memory["law_memory"].copy()

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`; those of coordinates without an actuator stay zero."""
        gains = np.where(self._active, values.reshape(2, -1), 0.0)
        in_motion, in_hold = (self.stiffness, self.damping), (self.hold_stiffness, self.hold_damping)
        for moving, holding, new_gains, same in zip(in_motion, in_hold, gains, self._is_same_in_hold, strict=True):
            moving[self._tuned] = new_gains
            holding[self._tuned[same]] = new_gains[same]

    def control(self, state: State, reference: Reference) -> Demand:
        """Demanded accelerations and forces from the errors to the reference."""
        n = self._n
        disturbance = state.disturbance if len(state.disturbance) else self._none
        found = self._run(
            (
                state.q, state.u, reference.q, reference.u, reference.a, self.stiffness, self.damping,
                self.hold_stiffness, self.hold_damping, disturbance, self._memory,
            )
        )  # fmt: skip
        self._memory = found[-n - 1 :]
        return new(Demand, (state.t, found[:n], found[n : 2 * n], found[2 * n : -n - 1], NOTHING))


def _function(model: ControlModel, hold: StationKeeping) -> ca.Function:
    q_ref, u_ref, a_ref, kp, kv, kp_hold, kv_hold, disturbance = (
        ca.SX.sym(s, model.n) for s in ("q_ref", "u_ref", "a_ref", "kp", "kv", "kp_hold", "kv_hold", "d")
    )
    memory = ca.SX.sym("memory", model.n + 1)
    held = _held(model, hold, memory[-1], q_ref, ca.vertcat(u_ref, a_ref))
    stiffness, damping = kp + held * (kp_hold - kp), kv + held * (kv_hold - kv)
    slowness = held * (1 - model.bed.loop.period_s / hold.disturbance_s)
    filtered = disturbance + slowness * (memory[:-1] - disturbance)
    demanded = a_ref + damping * (u_ref - model.u) + stiffness * (q_ref - model.q)
    a = model.complete(demanded, ca.SX.zeros(model.n))
    force = model.inverse(a) - filtered
    inputs = [model.q, model.u, q_ref, u_ref, a_ref, kp, kv, kp_hold, kv_hold, disturbance, memory]
    return ca.Function("computed_torque", inputs, [a, force, model.wrenches(force), filtered, held])


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
