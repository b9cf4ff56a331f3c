"""The path as a nonlinear programme: multiple shooting in momentum coordinates, for IPOPT.

Thrusts and joint accelerations are linear between nodes, the state follows by one step of fourth order, and

    minimise   weighted impulse, duration and squared joint accelerations, + 100 * slack
    subject to thrusts, joints, rates and table within their limits, and at every node
               (d^2 - R^2) / 2 R + slack >= 0 for the distance d of each disc of the robot from a disc of radius R,
               smooth distance + slack >= 0 from a polygon.

Discs of obstacles that go on after it count for where the robot would rest if it braked at the node; still ones, too,
where a path that was checked could not be braked.

Start, goal, discs and weights are parameters: a problem is built once for a robot and a number of discs. A disc has a
place of its own at each node, and so it may be a part of another robot that moves along its plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from granite.config.convex import HalfPlane
from granite.config.footprints import footprints
from granite.config.records import Array
from granite.controllers.planning.momentum import MomentumModel
from granite.controllers.run_modes.decelerations import SHORTEST_BRAKE_S, braked

#: sharpness of the smooth largest distance from the half-planes of a polygon [1/m]
_SHARPNESS = 200.0
#: distance from limits of the table and of joints between start and goal [m, rad]
_INSIDE = 0.01
_IPOPT = {
    "print_level": 0, "sb": "yes", "tol": 1e-3, "constr_viol_tol": 1e-7, "acceptable_iter": 0, "max_iter": 200,
    "linear_solver": "mumps", "mu_strategy": "adaptive",
}  # fmt: skip


class PathLimits(NamedTuple):
    """Limits of a path beside those of `safety`."""

    thrust_ratio: float
    joint_rate_rad_s: float
    joint_acceleration_rad_s2: float


class PathTask(NamedTuple):
    """What a path is to do."""

    start: Array  #: q at rest
    goal: Array
    duration_s: tuple[float, float]  #: least and greatest
    impulse_weight: float
    time_weight: float
    joint_weight: float = 1e-2  #: of squared joint accelerations, so that arms move smoothly


class PathNodes(NamedTuple):
    """A solution or a guess at the nodes, one column each."""

    states: Array
    controls: Array
    duration: float


class PathSolution(NamedTuple):
    """The result of a solve."""

    nodes: PathNodes
    impulse: float  #: [N s]
    slack: float  #: largest depth in a zone with its margin [m]
    status: str  #: of IPOPT

    @property
    def holds(self) -> bool:
        """Whether the solver met all limits."""
        return self.status == "Solve_Succeeded" and self.slack < 1e-4


class PathObstacles(NamedTuple):
    """What the robot stays clear of."""

    still: int = 0  #: discs that stay where they are
    moving: int = 0  #: discs with places of their own at each node
    ahead: int = 0  #: discs where they will be when a brake has ended
    polygons: Sequence[Sequence[HalfPlane]] = ()
    brakes: bool = False  #: whether a brake must end clear of discs and polygons that stay


class PathProblem:
    """The programme of one robot."""

    def __init__(self, model: MomentumModel, limits: PathLimits, nodes: int, around: PathObstacles) -> None:
        self.model, self.limits, self.nodes = model, limits, nodes
        polygons, discs, every = around.polygons, around.still + around.moving, sum(around[:3])
        n, m, N = model.n, model.n_controls, nodes
        x, before, after, h = ca.SX.sym("x", n), ca.SX.sym("before", m), ca.SX.sym("after", m), ca.SX.sym("h")
        thrust, bending = slice(model.n_thrusters), slice(model.n_thrusters, m)
        first, last = (ca.vertcat(model.directions @ u[thrust], u[bending]) for u in (before, after))
        self.step = ca.Function("step", [x, before, after, h], [model.step(x, first, last, h)])
        before, after = ca.SX.sym("before", 3 + model.n_joints), ca.SX.sym("after", 3 + model.n_joints)
        step = ca.Function("of_efforts", [x, before, after, h], [model.step(x, before, after, h)])
        slack, margin = ca.SX.sym("slack"), ca.SX.sym("margin")
        zones, stopped = ca.SX.sym("zones", 3, every), _stopped(model, x)
        distances = _distances(model, model.pose(x), zones[:, :discs], polygons, margin)
        distances += _distances(model, stopped, zones[:, discs:], (), margin)
        if around.brakes:
            distances += _distances(model, stopped, zones[:, : around.still], polygons, margin)
        apart = [distance + slack for distance in distances]
        kept = ca.vertcat(model.pose(x)[:2], model.twist(x)[:3], *apart)
        self._n_kept = kept.numel()
        at_node = ca.Function("node", [x, slack, zones, margin], [kept])

        X, C, S, T = ca.MX.sym("X", n, N + 1), ca.MX.sym("C", m, N + 1), ca.MX.sym("S", 1, N + 1), ca.MX.sym("T")
        # Wrenches are unknowns too: they are fewer than thrusts, and all that is not linear has them alone.
        W = ca.MX.sym("W", 3, N + 1)
        Z, margins = ca.MX.sym("Z", 3, every * (N + 1)), ca.MX.sym("margins", 1, N + 1)
        weights = ca.MX.sym("weights", 3)
        interval = T / N
        pushes, turns = C[thrust, :], C[bending, :]
        E = ca.vertcat(W, turns)
        gaps = step.map(N)(X[:, :-1], E[:, :-1], E[:, 1:], ca.repmat(interval, 1, N)) - X[:, 1:]
        at_nodes = at_node.map(N + 1)(X, S, Z, margins)
        impulse = interval * ca.sum1(ca.sum2(pushes))  # no thrust at the ends
        cost = weights[0] * impulse + weights[1] * T + weights[2] * interval * ca.sumsqr(turns) + 1e2 * ca.sum2(S)
        unknowns = ca.vertcat(ca.vec(X), ca.vec(C), ca.vec(S), T, ca.vec(W))
        programme = {
            "x": unknowns,
            "f": cost,
            "g": ca.vertcat(ca.vec(gaps), ca.vec(model.directions @ pushes - W), ca.vec(at_nodes)),
            "p": ca.vertcat(ca.vec(Z), ca.vec(margins), weights),
        }
        # Expanded, an iteration takes half of the time; building does ten times as long, and pays with zones only.
        options: dict[str, Any] = {"print_time": False, "expand": bool(every or polygons), "ipopt": _IPOPT}
        self._solver = ca.nlpsol("path", "ipopt", programme, options)
        self._impulse = ca.Function("impulse", [unknowns], [impulse])

    def solve(self, task: PathTask, discs: Array, margins: Array, guess: PathNodes) -> PathSolution:
        """Solve from a guess; discs are x, y and radius, one row each, of each node where they move; so are margins."""
        n, m, N = self.model.n, self.model.n_controls, self.nodes
        at_nodes = np.broadcast_to(discs, (N + 1, *discs.shape[-2:]))
        lower, upper = self._bounds(task)
        least, most = self._kept()
        given = np.concatenate([at_nodes.ravel(), margins, task[-3:]])
        wrenches = np.array(self.model.directions) @ guess.controls[: self.model.n_thrusters]
        start = np.concatenate([guess.states.ravel("F"), guess.controls.ravel("F"), np.zeros(N + 1), [guess.duration]])
        start, gaps = np.append(start, wrenches.ravel("F")), np.zeros(n * N + wrenches.size)
        bounds = {"lbx": lower, "ubx": upper, "lbg": np.append(gaps, least), "ubg": np.append(gaps, most)}
        solution = np.array(self._solver(x0=start, p=given, **bounds)["x"]).ravel()
        states, controls, slack, duration, _ = np.split(solution, np.cumsum([n * (N + 1), m * (N + 1), N + 1, 1]))
        nodes = PathNodes(states.reshape(n, -1, order="F"), controls.reshape(m, -1, order="F"), float(duration[0]))
        status = str(self._solver.stats()["return_status"])
        return PathSolution(nodes, float(self._impulse(solution)), float(slack.max()), status)

    def _bounds(self, task: PathTask) -> tuple[Array, Array]:
        """Of states, controls, slack, duration and wrenches."""
        model, limits, N = self.model, self.limits, self.nodes
        rest, first = np.zeros(model.q.numel()), 6 + model.n_joints
        lower, upper = (np.full((model.n, N + 1), sign * np.inf) for sign in (-1, 1))
        # Between nodes a joint may be further by a h^2 / 8.
        inside = _INSIDE + limits.joint_acceleration_rad_s2 * (task.duration_s[1] / N) ** 2 / 8
        joints = {joint.joint: joint for joint in model.model.bed.safety.joints}
        for i, coordinate in enumerate(model.model.layout.positions[model.part][3:]):
            rate = limits.joint_rate_rad_s
            if (joint := joints.get(coordinate.name)) is not None:
                lower[3 + i], upper[3 + i] = joint.lower_rad + inside, joint.upper_rad - inside
                rate = min(rate, joint.rate_rad_s)
            lower[first + i], upper[first + i] = -rate, rate
        for column, q in ((0, task.start), (-1, task.goal)):
            lower[:, column] = upper[:, column] = np.array(model.state(q, rest)).ravel()
        most = np.zeros((model.n_controls, N + 1))
        most[: model.n_thrusters] = limits.thrust_ratio * model.thrust[:, None]
        most[model.n_thrusters :] = limits.joint_acceleration_rad_s2
        most[:, [0, -1]] = 0.0
        least = -most
        least[: model.n_thrusters] = 0.0
        slack, free = np.zeros(N + 1), np.full(3 * (N + 1), np.inf)
        return (
            np.concatenate([lower.ravel("F"), least.ravel("F"), slack, [task.duration_s[0]], -free]),
            np.concatenate([upper.ravel("F"), most.ravel("F"), slack + np.inf, [task.duration_s[1]], free]),
        )

    def _kept(self) -> tuple[Array, Array]:
        """Bounds of what is kept at every node: position and rates of the base, and distances."""
        safety = self.model.model.bed.safety
        least, most = np.zeros((self._n_kept, self.nodes + 1)), np.full((self._n_kept, self.nodes + 1), np.inf)
        x_min, y_min, x_max, y_max = safety.table_m or (-np.inf, -np.inf, np.inf, np.inf)
        speed, rate = (safety.base_speed_m_s or np.inf) / np.sqrt(2), safety.base_rate_rad_s or np.inf
        most[:5] = np.array([x_max - _INSIDE, y_max - _INSIDE, speed, speed, rate])[:, None]
        least[:5] = np.array([x_min + _INSIDE, y_min + _INSIDE, -speed, -speed, -rate])[:, None]
        least[:, [0, -1]], most[:, [0, -1]] = -np.inf, np.inf  # start and goal are checked by themselves
        return least.ravel("F"), most.ravel("F")


def _stopped(model: MomentumModel, x: ca.SX) -> ca.SX:
    """The pose at rest after a brake (`stopping_poses`), smooth and a little further."""
    whole, q, u = model.model, model.pose(x), model.twist(x)
    reaction, inertia = whole.bed.safety.braking.reaction_s, ca.diag(whole.mass_matrix)[model.part]
    ways = ca.SX(u)
    for group in braked(whole):
        indices = [i - model.part.start for i in group.indices if i in range(whole.n)[model.part]]
        if indices:
            most = group.deceleration or group.effort / ca.substitute(inertia[indices[0]], model.q, q)
            ways[indices] *= reaction + ca.sqrt(ca.sumsqr(u[indices] / most) + SHORTEST_BRAKE_S**2) / 2
    return q + ways


def _distances(
    model: MomentumModel,
    pose: ca.SX,
    zones: ca.SX,
    polygons: Sequence[Sequence[HalfPlane]],
    margin: ca.SX,
) -> list[ca.SX]:
    """Of every disc of the robot from every disc and polygon, less the margin; smooth."""
    bed = model.model.bed
    tree, distances = model.model.trees[model.module.name], []
    for body in footprints(bed, model.module):
        for position_x, position_y, radius in body.discs:
            centre = tree.point_position(body.body, (position_x, position_y))[:2]
            p = ca.substitute(centre, model.q, pose)
            for i in range(zones.shape[1]):
                away, R = p - zones[:2, i], zones[2, i] + radius + margin
                distances.append((ca.dot(away, away) - R**2) / (2 * R))
            for planes in polygons:
                beyond = ca.vertcat(*(nx * p[0] + ny * p[1] - offset for nx, ny, offset in planes))
                largest = ca.logsumexp(_SHARPNESS * beyond) / _SHARPNESS - np.log(len(planes)) / _SHARPNESS
                distances.append(largest - radius - margin)
    return distances
