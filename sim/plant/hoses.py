"""Hoses and cables from the lab to a robot: spring beyond a slack, drag, and an anchor that may move."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca
import numpy as np

from granite.config.base import refuse_out_of_plane, spatial
from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.config.simulation import Hose
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.mrds.tree import Tree


def has_moving_hoses(bed: Testbed) -> bool:
    """Whether an anchor moves with time."""
    return any(hose.sway_m > 0 for hose in bed.simulation.hoses)


def hose_forces(
    bed: Testbed, trees: Mapping[str, Tree], time: ca.SX, drawn: Mapping[str, ca.SX]
) -> list[tuple[str, ca.SX, ca.SX]]:
    """Of each hose its module, the velocity of the point that it pulls, and its force in world axes [N]."""
    forces = []
    for i, hose in enumerate(bed.simulation.hoses):
        module, body = _held(bed, i, hose)
        point = trees[module.name].point(body, hose.position_m)
        anchor = ca.SX(ca.DM(_anchor(bed, trees[module.name], body, hose)))
        if hose.anchor_spread_m > 0:
            anchor += ca.vertcat(drawn["hose_anchors"][2 * i : 2 * i + 2], 0)
        if hose.sway_m > 0:
            turned = math.tau / hose.sway_period_s * time + drawn["hose_phases"][i]
            anchor += hose.sway_m * ca.vertcat(ca.cos(turned), ca.sin(turned), 0)
        away = anchor - point.position
        pull = ca.SX(hose.stiffness_n_m)
        if hose.slack_m > 0:
            distance = ca.sqrt(ca.dot(away, away))
            pull *= ca.if_else(distance > hose.slack_m, 1 - hose.slack_m / distance, 0)
        forces.append((module.name, point.velocity, pull * away - hose.drag_n_s_m * point.velocity))
    return forces


def _held(bed: Testbed, i: int, hose: Hose) -> tuple[Module, str]:
    """The module and the body that it pulls."""
    key = f"simulation.hoses.{i}"
    try:
        module = bed.floating_module(hose.module)
    except InputError as error:
        raise error.within(key) from None
    names = [body.name for body in module.bodies]
    if hose.body is not None and hose.body not in names:
        expected = one_of(hose.body, names)
        raise InputError("no such body", key=f"{key}.body", value=hose.body, expected=expected)
    if module.dimension == "planar":
        refuse_out_of_plane(f"{key}.position_m", hose.position_m)
        refuse_out_of_plane(f"{key}.anchor_m", hose.anchor_m or (0.0, 0.0))
    return module, hose.body or module.root.name


def _anchor(bed: Testbed, tree: Tree, body: str, hose: Hose) -> tuple[float, float, float]:
    if hose.anchor_m is not None:
        return spatial(hose.anchor_m)
    q = initial_motion(bed)[0][bed.layout.q[tree.module.name]]
    start = ca.Function("start", [tree.q], [tree.point_position(body, hose.position_m)])(q)
    x, y, z = np.array(start).ravel().tolist()
    return x, y, z
