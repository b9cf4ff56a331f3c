"""Simulated camera: exposes at its own rate, reports late, sometimes not at all, and with noise."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate, islice
from pathlib import Path

import casadi as ca
import numpy as np

from granite.config.devices.vision import SeenTarget, Vision
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm
from granite.kernels.kernel import Kernel
from granite.mrds.kinematics import Kinematics
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.devices.device import SimulatedSensor
from granite.sim.devices.exposures import BLOCK, exposure_blocks, exposures
from granite.sim.plant.plant import Plant

_OK = int(Status.OK)


class SimulatedVision(SimulatedSensor):
    """The pose of a body or target: x [m], y [m], heading [rad], with the time of its exposure."""

    def __init__(self, vision: Vision, plant: Plant, rng: np.random.Generator) -> None:
        self._plant, bed = plant, plant.bed
        target = vision.target(bed)
        self._q = bed.layout.root_q(target.module)
        self._target = None if target.is_root else target_kernel(bed, target)
        self._table, self._perfect = vision, vision.simulated.perfect
        self._exposures = exposures(vision, bed, plant.step_s, rng)
        self._next = next(self._exposures)
        # Arrival, time stamp, pose; first in, first out: none overtakes another or arrives before its exposure.
        self._under_way: deque[tuple[float, float, Array]] = deque()
        self._frame = no_frame(3)
        if not self._perfect:
            self.observe(0, np.concatenate([plant.q, plant.u])[np.newaxis])
            plant.observers.append(self)

    @property
    def rate_hz(self) -> float:
        """Exposures a second."""
        return self._table.rate_hz

    @staticmethod
    def compiled_form(devices: Sequence[SimulatedVision], exposures: int) -> CompiledForm:
        """All devices of this kind in C, for runs of at most so many exposures."""
        ways = [device._most_under_way() for device in devices]
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"SIM_CAMERAS": len(devices)},
            {
                "SIM_CAMERA_IS_PERFECT": [int(device._perfect) for device in devices],
                "SIM_CAMERA_SEES_TARGET": [int(device._target is not None) for device in devices],
                "SIM_CAMERA_Q": [device._q.start for device in devices],
                "SIM_CAMERA_FIRST": [i * exposures for i in range(len(devices))],
                "SIM_CAMERA_WAY": [0, *accumulate(ways)],
            },
            memory={
                "camera_next": np.zeros(len(devices)),
                "camera_waiting": np.zeros(len(devices)),
                "camera_way": np.zeros(5 * sum(ways)),
            },
            kernels={"camera_target": [device._target for device in devices]},
        )

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """The first n - 1 exposures as rows, and one that never comes; `rng` as it is at the start."""
        drawn = exposure_blocks(self._table, self._plant.bed, self._plant.step_s, rng)
        blocks = islice(drawn, -(-(n - 1) // BLOCK))
        planned = np.concatenate([np.column_stack(columns) for columns in blocks])[: n - 1]
        return np.concatenate([planned, [(0.0, np.inf, *np.zeros(8))]])

    def _most_under_way(self) -> int:
        """Exposures that can wait for their arrival."""
        errors, period = self._table.simulated, self._plant.bed.loop.period_s
        longest = self._table.latency_s + errors.latency_jitter_s + errors.latency_wander_s + period
        return int(longest * self._table.rate_hz) + 4

    def observe(self, last: int, path: Array) -> None:
        """Make the exposures that fall into these steps."""
        while self._next.step <= last:
            lost, step, stamp, back, arrival, q, u, error = self._next
            self._next = next(self._exposures)
            if lost:
                continue
            # Back from the end of the step: wrong by less than a step squared times half the acceleration.
            if self._target is not None:
                pose = self._target.run((path[step - last - 1], np.array([back]), np.array(error)))
            else:
                x = path[step - last - 1].tolist()
                pose = np.array([x[q + i] - back * x[u + i] + error[i] for i in range(3)])
            self._under_way.append((arrival, stamp, pose))

    def read(self, t: float) -> Frame:
        """The newest pose that has arrived."""
        self._plant.advance(t)
        if self._perfect:
            if not t <= self._frame.t:
                self._frame = Frame(t, self._frame.number + 1, _OK, self._true_pose())
            return self._frame
        arrived = self._under_way
        while arrived and arrived[0][0] <= t + SAME_TIME_S:
            _, stamp, pose = arrived.popleft()
            self._frame = Frame(stamp, self._frame.number + 1, _OK, pose)
        return self._frame

    def _true_pose(self) -> Array:
        if self._target is None:
            return self._plant.q[self._q]
        x = np.concatenate([self._plant.q, self._plant.u])
        return self._target.run((x, np.zeros(1), np.zeros(3)))


def target_kernel(bed: Testbed, target: SeenTarget) -> Kernel:
    """(q and u of the plant, time before, error) -> the pose of a target then, with the error."""
    motion = Kinematics(bed, bed.layout)
    n_q, n_u = len(bed.positions), len(bed.velocities)

    def write() -> list[ca.Function]:
        pose = ca.Function("pose", [motion.trees[target.module.name].q], [motion.planar_pose(*_named(target))])
        x, back, error = ca.SX.sym("x", n_q + n_u), ca.SX.sym("back"), ca.SX.sym("error", 3)
        q, u = bed.layout.q[target.module.name], bed.layout.u[target.module.name]
        seen = pose(x[q] - back * x[n_q + u.start : n_q + u.stop]) + error
        return [ca.Function("target", [x, back, error], [seen])]

    modules = [module.model_dump_json() for module in bed.modules]
    return compile_once("target", repr((modules, _named(target))), write)["target"]


def _named(target: SeenTarget) -> tuple[str, str, tuple[float, ...]]:
    return target.module.name, target.body, target.position_m
