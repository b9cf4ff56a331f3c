"""Computed torque that damps flexible links: the joint at the root of a link gives way to its vibration.

    a_j = (computed torque) + k c_j'          c_j: curvature at the root of the link, about the axis of its joint

With the hub turned so, the bending w of a uniform beam follows w_tt + A w + k' x <x, A w_t> = 0, because <x, A w> is
the curvature at the root times EI/rho, A w = EI/rho w'''': its energy <w_t, A w_t> + <A w, A w> can only fall (direct
strain feedback; Luo, IEEE Trans. Automatic Control 38, 1993). Amplitudes and their rates are those of the state:
measured by strain gauges where these determine them, else predicted by the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.base import NotNegative, spatial
from granite.config.errors import InputError, one_of
from granite.config.layout import Layout
from granite.config.records import Array
from granite.controllers.laws.computed_torque import ComputedTorque, computed_torque, motion_gains
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicLaw
from granite.kernels.compilation import compile_once
from granite.mrds.flexible.curvature import curvature

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class VibrationDamping(ComputedTorque):
    """The law with the gains of a testbed."""

    class Options(ComputedTorque.Options):
        """Gains of computed torque, and of the damping by joint."""

        #: acceleration of the joint per rate of curvature, k; 0: none
        damping_m_s: dict[str, NotNegative] = Field(min_length=1)

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:  # type: ignore[override]
        """Refuse a joint that carries no flexible link or has no motor."""
        ComputedTorque.check(options, bed)
        motors = {motor.joint for motor in bed.motors}
        known = [joint for joint in _links_by_joint(bed.known) if joint in motors]
        for joint, gain in options.damping_m_s.items():
            if joint not in known:
                expected = one_of(joint, known) if known else "a driven joint at the root of a flexible link"
                problem = "no driven joint with a flexible link on it"
                raise InputError(problem, key=f"damping_m_s.{joint}", value=gain, expected=expected)

    def __init__(self, options: Options, model: ControlModel) -> None:
        key = model.bed.fingerprint and f"{model.bed.fingerprint} {options.hold.model_dump_json(exclude={'gains'})}"

        def write() -> list[ca.Function]:
            return [computed_torque(model, options.hold, ca.SX.sym("modal_gain", model.n, model.n))]

        kernels = compile_once("vibration_damping", key, write)
        gains = {**motion_gains(options, model), "modal_gain": _modal_gain(options, model)}
        memory = {"filtered": np.zeros(model.n), "held": np.zeros(1)}
        SymbolicLaw.__init__(self, model.bed, kernels["computed_torque"], gains, memory)
        self._begin(options, model)


def _modal_gain(options: VibrationDamping.Options, model: ControlModel) -> Array:
    """(n_u x n_u) acceleration per velocity."""
    layout, carried = model.layout, _links_by_joint(model.layout)
    modal_gain: Array = np.zeros((model.n, model.n))
    for joint, gain in options.damping_m_s.items():
        link, (_, about_y, about_z) = carried[joint]
        # Deflection along y turns the link about z, deflection along z about -y.
        bent = about_z * curvature(layout, link, "y", 0.0) - about_y * curvature(layout, link, "z", 0.0)
        modal_gain[layout.joint_u(joint)] = gain * bent
    return modal_gain


def _links_by_joint(layout: Layout) -> dict[str, tuple[str, tuple[float, float, float]]]:
    """Of each joint that carries a flexible link: the name of the link, and the joint's axis."""
    links = {}
    for module in layout.modules:
        flexible = {body.name for body in module.bodies if body.flexible is not None}
        for joint in module.joints_in_tree_order():
            if joint.child in flexible and joint.kind == "revolute":
                axis = (0.0, 0.0, 1.0) if module.dimension == "planar" else spatial(joint.axis)
                links[layout.name(module, joint.name)] = layout.name(module, joint.child), axis
    return links
