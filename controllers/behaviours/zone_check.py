"""Paths checked against zones and other modules before they start, continuously between their samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise

import casadi as ca
import numpy as np

from granite.config.errors import InputError
from granite.config.footprints import guarded_pairs, obstacles
from granite.config.records import Array
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import stopping_poses
from granite.kernels.compilation import compile_once
from granite.kernels.kernel import Kernel
from granite.mrds.clearance import Clearances, TimedPose

#: time, position and rates of all coordinates
PathSample = tuple[float, Array, Array]


class ZoneCheck:
    """What stays apart in a testbed; compiled at the start, unless that takes longer than a few paths.

    Parameters
    ----------
    model
        The controller's model.
    compiled
        Whether it pays to compile it.
    without
        Modules that are left out; None: measured obstacles, whose motion is not known before a run.
    """

    def __init__(self, model: ControlModel, *, compiled: bool = True, without: Collection[str] | None = None) -> None:
        bed = model.bed
        self._pairs, self._clearance = guarded_pairs(bed), bed.safety.clearance_m
        without = obstacles(bed) if without is None else without
        if without:
            sides = ((pair, {side.module for side in (pair.first, pair.second) if side}) for pair in self._pairs)
            self._pairs = tuple(pair for pair, modules in sides if not modules & {*without})

        def write() -> list[ca.Function]:
            clearances, end = Clearances(self._pairs, bed.known), ca.SX.sym("end", model.q.numel())
            t, t_end = ca.SX.sym("t"), ca.SX.sym("t_end")
            now, stops = TimedPose(model.q, t), stopping_poses(model)
            way = clearances.along(now, TimedPose(end, t_end))
            brake = clearances.along(now, *(TimedPose(pose.q, t + pose.t) for pose in stops))
            return [ca.Function("kept_apart", [model.q, model.u, end, t, t_end], [way, brake])]

        if self._pairs:
            kernel = compile_once("zones", bed.fingerprint, write)["kept_apart"] if compiled else Kernel(write()[0])
            self._distances = kernel.run

    def refuse(self, samples: Iterable[PathSample], ahead: float = 0.5) -> None:
        """Raise where a path comes too near, or could not be braked before it does.

        A brake must leave the part `ahead` of the clearance; the guard brakes where it would leave less than a half.

        Raises
        ------
        InputError
            With time, body and zone; without a key.
        """
        if not self._pairs:
            return
        rows = list(samples)
        distances = np.array(
            [
                self._distances((q, u, after, np.array([t]), np.array([end])))
                for (t, q, u), (end, after, _) in pairwise([*rows, rows[-1]])
            ]
        )
        along, braked = np.split(distances, 2, axis=1)
        checks = (along, self._clearance, "", "safety.clearance_m"), (
            braked, self._clearance * ahead, "a brake from here would end ", f"{ahead:g} of safety.clearance_m",
        )  # fmt: skip
        for clearances, least, how, source in checks:
            if not clearances.min() >= least:
                k = int(np.argmax(~(clearances.min(axis=1) >= least)))
                i = int(np.argmin(clearances[k]))
                problem = f"at {rows[k][0]:.3g} s {self._pairs[i].name}: {how}{_away(clearances[k, i])}"
                raise InputError(problem, expected=f"at least {1e3 * least:g} mm, {source}")


def _away(distance: float) -> str:
    return f"{1e3 * distance:.3g} mm apart" if distance >= 0 else f"{-1e3 * distance:.3g} mm inside"
