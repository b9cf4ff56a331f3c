"""First guesses of a path: a straight line, a way around zones on a grid, and the same with a folded arm."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import casadi as ca
import numpy as np

from granite.config.footprints import footprints
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.planning.momentum import MomentumModel
from granite.controllers.planning.problem import PathNodes

#: of the grid [m]
_CELL = 0.05
#: poses of the arm that are looked at for a folded one
_POSES = 400

#: distance of a point from all zones, less than zero inside [m]
Distance = Callable[[float, float], float]


def along_line(model: MomentumModel, nodes: int, start: Array, goal: Array, duration: float) -> PathNodes:
    """All coordinates straight from start to goal, faster in the middle."""
    return _through(model, nodes, duration, np.array([start, goal]))


def around_zones(
    model: MomentumModel, nodes: int, start: Array, goal: Array, duration: float, distance: Distance, *, folds: bool
) -> PathNodes | None:
    """The base on the shortest way of a grid on which its disc is outside of all zones; None where there is none."""
    bed = model.model.bed
    table = bed.safety.table_m
    radius = base_radius(bed, model.module)
    if table is None:
        both = np.array([start[:2], goal[:2]])
        table = (*(both.min(axis=0) - 2.0), *(both.max(axis=0) + 2.0))
    way = _shortest(start[:2], goal[:2], table, lambda x, y: distance(x, y) - radius)
    if way is None:
        return None
    parts = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    parts /= parts[-1]
    poses = start + parts[:, None] * (goal - start)
    poses[:, :2] = way
    if folds:
        middle = (parts > 0.2) & (parts < 0.8)
        poses[middle, 3:] = folded(model)
    return _through(model, nodes, duration, poses, parts)


def base_radius(bed: Testbed, module: Module) -> float:
    """Radius of the disc about the base's origin that holds the base [m]; none without a shape."""
    bodies = (body for body in footprints(bed, module) if body.body == module.root.name)
    return max((math.hypot(x, y) + r for body in bodies for x, y, r in body.discs), default=0.0)


def aside(model: MomentumModel, nodes: int, start: Array, goal: Array, duration: float, offset: float) -> PathNodes:
    """Along a line that is bent to one side by an offset, to let others pass."""
    along = (goal - start)[:2]
    across = np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-9)
    middle = (start + goal) / 2
    middle[:2] += offset * across
    return _through(model, nodes, duration, np.array([start, middle, goal]))


def folded(model: MomentumModel) -> Array:
    """Joint angles with the least reach of all discs from the base, of some within their limits."""
    layout, safety = model.model.layout, model.model.bed.safety
    limits = {joint.joint: (joint.lower_rad, joint.upper_rad) for joint in safety.joints}
    ranges = np.array([limits.get(c.name, (-math.pi, math.pi)) for c in layout.positions[model.part][3:]]).reshape(
        -1, 2
    )
    tree = model.model.trees[model.module.name]
    discs = [(body.body, disc) for body in footprints(model.model.bed, model.module) for disc in body.discs]
    centres = [tree.point_position(body, (x, y))[:2] for body, (x, y, _) in discs]
    reach = ca.Function("reach", [model.q], [ca.mmax(ca.vertcat(*(ca.norm_2(centre) for centre in centres)))])
    poses = np.zeros((3 + len(ranges), _POSES))
    poses[3:] = np.random.default_rng(0).uniform(ranges[:, :1], ranges[:, 1:], (len(ranges), _POSES))
    best = int(np.argmin(np.array(reach(poses)).ravel()))
    return poses[3:, best]


def _through(model: MomentumModel, nodes: int, duration: float, poses: Array, parts: Array | None = None) -> PathNodes:
    """From rest to rest through poses at these parts of the way."""
    parts = np.linspace(0.0, 1.0, len(poses)) if parts is None else parts
    tau = np.linspace(0.0, 1.0, nodes + 1)
    progress = tau**2 * (3 - 2 * tau)
    q = np.array([np.interp(progress, parts, column) for column in poses.T])
    if len(poses) > 2:  # corners of the grid are rounded
        kernel = np.ones(7) / 7
        padded = np.pad(q, ((0, 0), (3, 3)), mode="edge")
        q[:, 1:-1] = np.array([np.convolve(row, kernel, "valid") for row in padded])[:, 1:-1]
    u = np.gradient(q, duration / nodes, axis=1)
    u[:, [0, -1]] = 0.0
    controls = np.zeros((model.n_controls, nodes + 1))
    controls[: model.n_thrusters, 1:-1] = 0.1 * model.thrust[:, None]
    return PathNodes(np.array(model.state(q, u)), controls, duration)


def _shortest(start: Array, goal: Array, table: tuple[float, ...], distance: Distance) -> Array | None:
    """A* on a grid of eight neighbours."""
    x0, y0, x1, y1 = table
    columns, rows = (math.ceil((high - low) / _CELL) + 1 for low, high in ((x0, x1), (y0, y1)))
    free = np.array([[distance(x0 + i * _CELL, y0 + j * _CELL) > 0 for j in range(rows)] for i in range(columns)])

    def cell(p: Array) -> tuple[int, int]:
        i, j = round((p[0] - x0) / _CELL), round((p[1] - y0) / _CELL)
        return min(max(i, 0), columns - 1), min(max(j, 0), rows - 1)

    first, last = cell(start), cell(goal)
    free[first] = free[last] = True
    steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    cost, came = {first: 0.0}, {first: first}
    queue = [(math.dist(first, last), first)]
    while queue:
        _, here = heapq.heappop(queue)
        if here == last:
            break
        for i, j in steps:
            there = here[0] + i, here[1] + j
            if not (0 <= there[0] < columns and 0 <= there[1] < rows) or not free[there]:
                continue
            further = cost[here] + math.hypot(i, j)
            if further < cost.get(there, math.inf):
                cost[there], came[there] = further, here
                heapq.heappush(queue, (further + math.dist(there, last), there))
    if last not in came:
        return None
    way = [last]
    while way[-1] != first:
        way.append(came[way[-1]])
    points = np.array([(x0 + i * _CELL, y0 + j * _CELL) for i, j in reversed(way)])
    return np.vstack((start, points[1:-1], goal))
