"""Collisions of solid bodies with each other and with zones: penalty forces with restitution and friction.

Where a corner of one shape is at a depth d inside the other, with closing speed v, they push each other apart with

    N = k d ((1 + c)/2 + (1 - c)/2 s),    s = v / sqrt(v^2 + (w d/10)^2),    w = sqrt(k/m),

so k d while they approach and c k d while they part (Walton and Braun 1986): that returns c of the energy, whatever the
speed and the mass, where the factor of Hunt and Crossley depends on both. s is smooth about the turning point, which
changes the restitution a little: c is solved for.
Friction is mu N v_t / sqrt(v_t^2 + v_0^2). The stiffness is at most what the physics step resolves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import casadi as ca

from granite.config.convex import convex_hull
from granite.config.footprints import Footprint, SolidPair, plant_pairs
from granite.config.testbed import Testbed
from granite.mrds.tree import Tree
from granite.sim.plant.table_forces import generalised

#: most angle of the oscillation of a contact in one step [rad]
_MOST_A_STEP = 0.25
#: part of the oscillation over which approaching changes to parting
_TURNING = 0.1
#: speed of sliding from which friction is about that of Coulomb [m/s]
_SLIDING = 0.01
#: forces are looked for where bounding discs are nearer than this [m]
_NEAR = 0.05
_TINY = 1e-12


class _Side(NamedTuple):
    """A solid shape where it is: corners in its own axes, its frame and motion in world axes."""

    corners: tuple[tuple[float, float], ...]
    radius: float
    origin: ca.SX
    R: ca.SX
    v: ca.SX
    w: ca.SX
    mass: float


class _Touch(NamedTuple):
    """A corner of one side at the other side."""

    point: ca.SX  #: in world axes
    normal: ca.SX  #: away from the side that is entered
    depth: ca.SX


def collision_function(bed: Testbed) -> ca.Function | None:
    """(q, u) -> generalised force of all collisions, and of each pair normal force, closing speed, depth; None without.

    Far from each other it is zero without further computation.
    """
    pairs = plant_pairs(bed)
    if not pairs:
        return None
    trees = {module.name: Tree(module) for module in bed.modules}
    q, u = (ca.vertcat(*(getattr(tree, name) for tree in trees.values())) for name in ("q", "u"))
    bodies = dict.fromkeys(body for pair in pairs for body in (pair.first, pair.second) if body)
    sides = {body: _side(trees[body.module], body) for body in bodies}
    wrenches = {body: ca.SX.zeros(3) for body in bodies}
    normals, speeds, depths = [], [], []
    for pair in pairs:
        pushed, speed, depth = ca.SX(0), ca.SX(0), ca.SX(0)
        first, second = sides[pair.first], sides[pair.second] if pair.second else _fixed(pair)
        for touch, sign in _touches(first, second):
            force, size, closing = _force(bed, touch, first, second, sign)
            wrenches[pair.first] += _wrench(first, touch.point, force)
            if pair.second:
                wrenches[pair.second] += _wrench(second, touch.point, -force)
            pushed += size
            speed = ca.fmax(speed, ca.if_else(touch.depth > 0, closing, 0.0))
            depth = ca.fmax(depth, touch.depth)
        normals.append(pushed)
        speeds.append(speed)
        depths.append(depth)
    total = {name: ca.SX.zeros(tree.u.numel()) for name, tree in trees.items()}
    for body, wrench in wrenches.items():
        tree, side = trees[body.module], sides[body]
        total[body.module] += generalised(tree, side.v, wrench[:2]) + generalised(tree, side.w, wrench[2])
    outputs = [ca.densify(ca.vertcat(*parts)) for parts in (total.values(), normals, speeds, depths)]
    touching = ca.Function("touching", [q, u], outputs)
    apart = ca.Function("apart", [q, u], [ca.SX.zeros(*output.shape) for output in outputs])
    near = ca.Function("near", [q], [_any_near(pairs, sides)])
    either = ca.Function.if_else("collide", touching, apart)
    q_, u_ = ca.MX.sym("q", q.numel()), ca.MX.sym("u", u.numel())
    return ca.Function("collisions", [q_, u_], either.call([near(q_), q_, u_]))


def _side(tree: Tree, body: Footprint) -> _Side:
    frame = tree.point(body.body, (0.0, 0.0))
    mass = next(mass for mass in tree.bodies if mass.name == body.body).mass
    R, v = frame.rotation[:2, :2], frame.velocity[:2]
    return _Side(body.corners, body.radius, frame.position[:2], R, v, frame.angular_velocity[2], float(mass))


def _fixed(pair: SolidPair) -> _Side:
    assert pair.zone is not None
    disc = pair.zone.disc
    corners = (disc.position_m,) if disc else tuple(convex_hull(pair.zone.polygon_m))
    zero = ca.SX.zeros(2)
    return _Side(corners, disc.radius_m if disc else 0.0, zero, ca.SX.eye(2), zero, ca.SX(0), math.inf)


def _touches(first: _Side, second: _Side) -> Iterator[tuple[_Touch, int]]:
    """Corners of each side at the other, and +1 where the normal is towards the first."""
    for corner in first.corners:
        yield _touch(first, corner, second), 1
    for corner in second.corners if len(first.corners) > 1 else ():  # a disc at another shape is one touch
        yield _touch(second, corner, first), -1


def _touch(side: _Side, corner: tuple[float, float], other: _Side) -> _Touch:
    p = side.origin + side.R @ ca.DM(list(corner))
    distance, normal = _nearest(other.R.T @ (p - other.origin), other.corners)
    n = other.R @ normal
    depth = side.radius + other.radius - distance
    return _Touch(p - n * (side.radius - depth / 2), n, depth)


def _nearest(p: ca.SX, corners: Sequence[tuple[float, float]]) -> tuple[ca.SX, ca.SX]:
    """Signed distance of a point from a polygon, and the direction away from it."""
    away: ca.SX | None = None
    edges = list(zip(corners, (*corners[1:], corners[0]), strict=True))
    for (x0, y0), (x1, y1) in edges[: 1 if len(corners) < 3 else None]:
        step, start = ca.DM([x1 - x0, y1 - y0]), ca.DM([x0, y0])
        v = p - start
        if len(corners) > 1:
            v -= ca.fmin(ca.fmax(ca.dot(v, step) / ca.dot(step, step), 0.0), 1.0) * step
        away = v if away is None else ca.if_else(ca.dot(v, v) < ca.dot(away, away), v, away)
    assert away is not None
    distance = ca.sqrt(ca.dot(away, away) + _TINY**2)
    normal = away / distance
    if len(corners) > 2:
        inside, across = ca.SX(-math.inf), ca.SX.zeros(2)
        for (x0, y0), (x1, y1) in edges:
            length = math.dist((x0, y0), (x1, y1))
            n = ca.DM([(y1 - y0) / length, (x0 - x1) / length])
            beyond = ca.dot(n, p - ca.DM([x0, y0]))
            across = ca.if_else(beyond > inside, n, across)
            inside = ca.fmax(inside, beyond)
        is_inside = inside < 0
        distance, normal = ca.if_else(is_inside, inside, distance), ca.if_else(is_inside, across, normal)
    return distance, normal


def _force(bed: Testbed, touch: _Touch, first: _Side, second: _Side, sign: int) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Force on the first side, size of its normal part, and the closing speed."""
    table, step = bed.simulation.collisions, bed.simulation.physics_step_s
    mass = 1 / (1 / first.mass + 1 / second.mass)
    k = min(table.stiffness_n_m, mass * (_MOST_A_STEP / step) ** 2)
    normal = sign * touch.normal
    relative = _velocity(first, touch.point) - _velocity(second, touch.point)
    closing, across = -ca.dot(normal, relative), ca.vertcat(-normal[1], normal[0])
    turning = _TURNING * math.sqrt(k / mass) * touch.depth
    parting = closing / ca.sqrt(closing**2 + turning**2 + _TINY)
    kept = _kept(table.restitution)
    size = ca.if_else(touch.depth > 0, k * touch.depth * ((1 + kept) / 2 + (1 - kept) / 2 * parting), 0.0)
    sliding = ca.dot(across, relative)
    friction = table.friction * size * sliding / ca.sqrt(sliding**2 + _SLIDING**2)
    return size * normal - friction * across, size, closing


@lru_cache
def _kept(restitution: float) -> float:
    """The factor c of the force while two bodies part, for a speed after by the speed before; by bisection."""
    lower, upper = 0.0, 1.0
    while upper - lower > 1e-6:
        kept = (lower + upper) / 2
        lower, upper = (kept, upper) if _parting_speed(kept) < restitution else (lower, kept)
    return upper


def _parting_speed(kept: float) -> float:
    """Speed after a collision at speed 1 of a mass 1 with a stiffness 1."""
    d, v, h = 0.0, 1.0, 0.01
    while d >= 0.0:
        s = v / math.hypot(v, _TURNING * d)
        v -= h * d * ((1 + kept) / 2 + (1 - kept) / 2 * s)
        d += h * v
    return -v


def _velocity(side: _Side, point: ca.SX) -> ca.SX:
    arm = point - side.origin
    return side.v + side.w * ca.vertcat(-arm[1], arm[0])


def _wrench(side: _Side, point: ca.SX, force: ca.SX) -> ca.SX:
    arm = point - side.origin
    return ca.vertcat(force, arm[0] * force[1] - arm[1] * force[0])


def _any_near(pairs: Sequence[SolidPair], sides: dict[Footprint, _Side]) -> ca.SX:
    near = ca.SX(0)
    for pair in pairs:
        (p, r), (c, R) = (_bound(side) for side in (sides[pair.first], _other(pair, sides)))
        near = ca.logic_or(near, ca.dot(p - c, p - c) < (r + R + _NEAR) ** 2)
    return near


def _other(pair: SolidPair, sides: dict[Footprint, _Side]) -> _Side:
    return sides[pair.second] if pair.second else _fixed(pair)


def _bound(side: _Side) -> tuple[ca.SX, float]:
    """Centre and radius of a disc about a side."""
    n = len(side.corners)
    x, y = (sum(corner[i] for corner in side.corners) / n for i in (0, 1))
    reach = max(math.dist((x, y), corner) for corner in side.corners)
    return side.origin + side.R @ ca.DM([x, y]), reach + side.radius
