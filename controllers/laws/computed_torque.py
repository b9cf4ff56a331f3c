"""Computed torque: the model turns demanded accelerations into generalised forces.

    a = a_ref + K_v (u_ref - u) + K_p (q_ref - q)          (Stanford report, 4.4.4, with erratum E9)
    F = M(q) a + h(q, u)                                   (there, with erratum E10)

The printed law misses the map Y from coordinate rates to the report's absolute rates; our u are the rates of q, so Y is
the identity here. Velocities without an actuator follow from the others: their part of a is the one for which their
part of F is zero.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import NotNegative, Table
from granite.config.errors import InputError, one_of
from granite.config.gains import LiveGain, around
from granite.config.parts import PartTable
from granite.config.records import NOTHING, Array, Demand, Reference, State, new
from granite.config.tunable import Tunable
from granite.controllers.model import ControlModel
from granite.mrds.compilation import compile_once
from granite.mrds.compiled_form import CompiledForm

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: gains where a testbed gives none: base, joints (stiffness [1/s^2], damping [1/s])
_USUAL = {"base": (0.64, 1.6), "joints": (16.0, 8.0)}


class Gain(Table):
    """Feedback of the acceleration demand; a gain left out is that of its kind, `base` or `joints`."""

    stiffness_1_s2: NotNegative | None = None
    damping_1_s: NotNegative | None = None


class ComputedTorque:
    """The law with the gains of a testbed."""

    class Options(PartTable):
        """Gains by coordinate, or `base` and `joints` for all of a kind."""

        arguments: ClassVar[frozenset[str]] = frozenset({"gains"})

        gains: dict[str, Gain] = Field(default_factory=dict)

        def gain(self, coordinate: str, is_joint: bool) -> tuple[float, float]:
            """Stiffness [1/s^2] and damping [1/s] of a coordinate: its own, or those of its kind."""
            kind = "joints" if is_joint else "base"
            found: list[float] = []
            for i, key in enumerate(("stiffness_1_s2", "damping_1_s")):
                given = [getattr(self.gains[name], key) for name in (coordinate, kind) if name in self.gains]
                found.append(next((value for value in given if value is not None), _USUAL[kind][i]))
            return found[0], found[1]

        def columns(self, bed: Testbed) -> dict[str, dict[str, float]]:
            """Stiffness and damping of every controlled coordinate."""
            gains = {
                c.name: self.gain(c.name, c.name in bed.joints)
                for module in bed.controlled
                for c in bed.known.velocities[bed.known.u[module.name]]
            }
            titles = ("stiffness [1/s2]", "damping [1/s]")
            return {title: {name: gain[i] for name, gain in gains.items()} for i, title in enumerate(titles)}

        def tunable(self, bed: Testbed) -> tuple[Tunable, ...]:
            """The gains of each kind of coordinate that is controlled."""
            roots = any(module.base == "floating" for module in bed.controlled)
            kinds = {"base": roots, "joints": any(module.joints for module in bed.controlled)}
            found: list[Tunable] = []
            for kind in (kind for kind, is_there in kinds.items() if is_there):
                stiffness, damping = _USUAL[kind]
                found.append(Tunable(f"gains.{kind}.stiffness_1_s2", stiffness / 20, stiffness * 10, usual=stiffness))
                found.append(Tunable(f"gains.{kind}.damping_1_s", damping / 5, damping * 4, usual=damping))
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
        for name in options.gains:
            if name not in known:
                raise InputError("no such coordinate", key=f"gains.{name}", expected=one_of(name, known))

    def __init__(self, options: Options, model: ControlModel) -> None:
        names, active = [c.name for c in model.layout.velocities], set(model.active)
        gains = np.array(
            [options.gain(n, n in model.layout.joints) if i in active else (0.0, 0.0) for i, n in enumerate(names)]
        ).reshape(-1, 2)
        #: current gains, which may be changed between two ticks
        self.stiffness, self.damping = gains[:, 0].copy(), gains[:, 1].copy()
        own = [i for module in model.bed.controlled for i in range(*model.layout.u[module.name].indices(model.n))]
        self._tuned, self._active = np.array(own, dtype=int), np.isin(own, model.active)
        kernels = compile_once("computed_torque", model.bed.fingerprint, lambda: [_function(model)])
        self._kernel = kernels["computed_torque"]
        self._run = self._kernel.run
        self._n = model.n

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            parameters={"law_stiffness": self.stiffness, "law_damping": self.damping},
            kernels={"computed_torque": [self._kernel]},
        )

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`; those of coordinates without an actuator stay zero."""
        stiffness, damping = np.where(self._active, values.reshape(2, -1), 0.0)
        self.stiffness[self._tuned], self.damping[self._tuned] = stiffness, damping

    def control(self, state: State, reference: Reference) -> Demand:
        """Demanded accelerations and forces from the errors to the reference."""
        n = self._n
        found = self._run((state.q, state.u, reference.q, reference.u, reference.a, self.stiffness, self.damping))
        return new(Demand, (state.t, found[:n], found[n : 2 * n], found[2 * n :], NOTHING))


def _function(model: ControlModel) -> ca.Function:
    q_ref, u_ref, a_ref, kp, kv = (ca.SX.sym(s, model.n) for s in ("q_ref", "u_ref", "a_ref", "kp", "kv"))
    a = model.complete(a_ref + kv * (u_ref - model.u) + kp * (q_ref - model.q), ca.SX.zeros(model.n))
    force = model.inverse(a)
    inputs = [model.q, model.u, q_ref, u_ref, a_ref, kp, kv]
    return ca.Function("computed_torque", inputs, [a, force, model.wrenches(force)])
