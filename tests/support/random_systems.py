"""Random systems by seed, and a referee that knows nothing of modules: one dense KKT solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from granite.config.contacts import Contact, Side
from granite.config.coordinates import amplitudes, positions, velocities
from granite.config.modules import Body, Flexible, Joint, Module, Point
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.kind import RelativePose
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.peers.random_trees import random_module, random_state

Array = NDArray[np.float64]

GRAVITY = (0.0, 0.0, -9.81)
PARAMETERS = {
    "screw": {"pitch_m_rad": 0.07},
    "rolling": {"radius_m": 0.2},
    "sliding": {"friction": 0.3},
    "bumper": {"radius_m": 0.15, "friction": 0.2},
}
#: sine of the angle between contacts from which on nothing but rounding is excused
WELL_APART = 0.01
SPATIAL = sorted(KINDS)
PLANAR = sorted(set(KINDS) - {"universal", "rolling", "plane"})


def random_system(seed: int, dimension: str, flexible: bool = False) -> System:
    """Two to six modules, a chain or a tree of contacts through them, and sometimes a loop or a hold on the ground.

    Where flexible, every other module has a link that bends, and twists in space.
    """
    rng = np.random.default_rng(seed)
    modules = _modules(rng, dimension, flexible)
    contacts = [
        _contact(rng, f"c{i}", modules[a], modules[b], dimension) for i, (a, b) in enumerate(_pairs(rng, len(modules)))
    ]
    if rng.random() < 0.4:
        contacts.append(_contact(rng, "hold", None, modules[int(rng.integers(0, len(modules)))], dimension))
    return System(modules, contacts)


def fitting_system(seed: int, kinds: Sequence[str]) -> tuple[System, Array]:
    """Rigid modules in space and a pose in which all contacts fit, whatever they join: trees, loops, the ground.

    The second side of each contact is a point made for it, where the first one is in that pose.
    """
    rng = np.random.default_rng(seed)
    modules = [m.model_copy(update={"gravity_m_s2": GRAVITY}) for m in _modules(rng, "spatial", False)]
    pose = [random_state(module, rng).q for module in modules]
    pairs: list[tuple[int | None, int]] = [*_pairs(rng, len(modules))]
    if rng.random() < 0.5:
        pairs.append((None, int(rng.integers(0, len(modules)))))
    contacts = []
    for i, (a, b) in enumerate(pairs):
        if a is None:
            at, axes = rng.normal(size=3), Rotation.from_euler("xyz", rng.normal(size=3))
            first = Side(position_m=tuple(at.tolist()), rotation_rad=tuple(axes.as_euler("xyz").tolist()))
        else:
            point = modules[a].points[0]
            reached = interpreted(modules[a]).point(point.name, pose[a], np.zeros(len(velocities(modules[a]))))
            at = reached.position.copy()
            axes = Rotation.from_matrix(reached.rotation) * Rotation.from_euler("xyz", point.rotation_rad)
            first = Side(module=modules[a].name, point=point.name)
        modules[b] = _with_point(modules[b], f"meets{i}", pose[b], at, axes)
        second = Side(module=modules[b].name, point=f"meets{i}")
        contacts.append(Contact(name=f"c{i}", kind=str(rng.choice(kinds)), first=first, second=second))
    return System(modules, contacts), np.concatenate(pose)


def _with_point(module: Module, name: str, q: Array, at: Array, axes: Rotation) -> Module:
    """The module with one more point, on the body of its second one, that has a place and axes of the world at q."""
    beside = module.points[1]
    body = interpreted(module).point(beside.name, q, np.zeros(len(velocities(module))))
    turn = Rotation.from_matrix(body.rotation).inv()
    place = turn.apply(at - body.position) + beside.position_m
    rotation = tuple((turn * axes).as_euler("xyz").tolist())
    point = Point(name=name, body=beside.body, position_m=tuple(place.tolist()), rotation_rad=rotation)
    return module.model_copy(update={"points": (*module.points, point)})


def holdable(system: System) -> bool:
    """Whether contacts, all and any of them, hold no more than what they join has speeds to move in, or to turn in.

    Where they hold more, they are dependent, and contradict each other in a random state. So do two contacts between
    the same two bodies as a rule.
    """
    contacts = list(system.contacts.values())
    held = [_held(c, next(iter(system.modules.values())).dimension == "planar") for c in contacts]
    # Speeds that move both sides alike, where they are points of one module, do not move them against each other.
    moving = [_speeds(system, c.first) ^ _speeds(system, c.second) for c in contacts]
    for size in range(1, len(contacts) + 1):
        for some in combinations(range(len(contacts)), size):
            speeds = set().union(*(moving[i] for i in some))
            turning = [turns for _, _, turns in speeds].count(True)
            if sum(held[i][0] for i in some) > len(speeds) or sum(held[i][1] for i in some) > turning:
                return False
    joined = {frozenset((_body(system, c.first), _body(system, c.second))) for c in contacts}
    return len(joined) == len(contacts)


def _held(contact: Contact, planar: bool) -> tuple[int, int]:
    """How many directions a contact holds, and how many of them by a moment alone."""
    relative = RelativePose(ca.SX.sym("r", 3), ca.SX.sym("R", 3, 3))
    forces = KINDS[contact.kind].bases(relative, contact.parameters, planar).psi_c[: 2 if planar else 3, :]
    return forces.shape[1], sum(forces[:, j].nnz() == 0 for j in range(forces.shape[1]))


def _body(system: System, side: Side) -> tuple[str, str]:
    if side.grounded:
        return "ground", "ground"
    return side.module, next(p.body for p in system.modules[side.module].points if p.name == side.point)


def _speeds(system: System, side: Side) -> set[tuple[str, str, bool]]:
    """On which a point depends: of the base, of joints that carry it, of links that bend under it; which turn it."""
    name, body = _body(system, side)
    if side.grounded:
        return set()
    module = system.modules[name]
    carried = {j.child: j for j in module.joints}
    under = {body}
    while body in carried:
        under |= {carried[body].name, carried[body].parent}
        body = carried[body].parent
    bends = {a.name for a in amplitudes(module)}
    return {
        (name, v.name, v.unit == "rad/s" or v.name in bends)
        for v in velocities(module)
        if v.name in under or v.name.rpartition("_")[0] in under
    }


def _modules(rng: np.random.Generator, dimension: str, flexible: bool) -> list[Module]:
    n = int(rng.integers(2, 7))
    modules = []
    for k in range(n):
        base = "fixed" if rng.random() < 0.3 else "floating"
        module = random_module(int(rng.integers(1 << 30)), dimension, base, int(rng.integers(1, 5)))
        if flexible and k % 2 == 0:
            module = _bending(rng, module)
        turned = tuple(
            p.model_copy(
                update={
                    "rotation_rad": (0.0, 0.0, float(rng.normal()))
                    if dimension == "planar"
                    else tuple(rng.normal(size=3).tolist())
                }
            )
            for p in module.points
        )
        placed = {
            "placement_m": (float(rng.normal()), float(rng.normal())),
            "placement_rad": (0.0, 0.0, float(rng.normal())),
        }
        modules.append(
            module.model_copy(update={"name": f"m{k}", "points": turned, **(placed if base == "fixed" else {})})
        )
    return modules


def _pairs(rng: np.random.Generator, n: int) -> list[tuple[int, int]]:
    """Which of n modules are joined: each to one before it, and in half of all cases two more, or one to itself."""
    pairs = [(int(rng.integers(0, k)), k) for k in range(1, n)]
    if rng.random() < 0.5:
        pairs.append((int(rng.integers(0, n)), int(rng.integers(0, n))))
    return pairs


def random_states(system: System, seed: int) -> tuple[Array, Array, Array]:
    """q, u and force of all modules."""
    rng = np.random.default_rng(seed)
    states = [random_state(module, rng) for module in system.modules.values()]
    for module, state in zip(system.modules.values(), states, strict=True):
        # Tips a few centimetres off, not metres.
        state.q[len(state.q) - len(amplitudes(module)) :] *= 0.01
    return tuple(np.concatenate([s[i] for s in states]) for i in (0, 1, 3))  # type: ignore[return-value]


def _bending(rng: np.random.Generator, module: Module) -> Module:
    """The module with one of its bodies made a flexible link; its points and the joints on it ride on the beam."""
    bodies, at = list(module.bodies), int(rng.integers(0, len(module.bodies)))
    beam = {"length_m": 0.6, "line_density_kg_m": 0.5, "modes_y": int(rng.integers(1, 3)), "tip_mass_kg": 0.2}
    if module.dimension == "planar":
        beam |= {"ei_n_m2": 5.0}
    else:
        beam |= {
            "eiy_n_m2": 6.0,
            "eiz_n_m2": 4.0,
            "gj_n_m2": 3.0,
            "polar_inertia_kg_m": 2e-3,
            "modes_z": 1,
            "modes_x": 1,
        }
    bodies[at] = bodies[at].model_copy(update={"flexible": Flexible.model_validate(beam)})
    return module.model_copy(update={"bodies": tuple(bodies)})


def _contact(rng: np.random.Generator, name: str, first: Module | None, second: Module, dimension: str) -> Contact:
    kind = str(rng.choice(PLANAR if dimension == "planar" else SPATIAL))
    if first is None:
        side = Side(position_m=(0.3, -0.2), rotation_rad=(0.0, 0.0, 0.4))
    else:
        side = Side(module=first.name, point=str(rng.choice([p.name for p in first.points])))
    points = [p.name for p in second.points]
    other = next((p for p in points if first is not second or p != side.point), points[0])
    return Contact(
        name=name,
        kind=kind,
        first=side,
        second=Side(module=second.name, point=other),
        parameters=PARAMETERS.get(kind, {}),
    )


def split(system: System, stacked: Array, of: str) -> dict[str, Array]:
    """A stacked vector by module."""
    at, parts = 0, {}
    for name, module in system.modules.items():
        n = len(positions(module) if of == "q" else velocities(module))
        parts[name] = stacked[at : at + n]
        at += n
    return parts


def dense_solve(
    M: Array, h: Array, A: Array, bias: Array, force: Array, prescribed: Array | float = 0.0
) -> tuple[Array, Array]:
    """u' and F of [M, -A^T; A, 0] [u'; F] = [force - h; prescribed - bias]; the smallest F where it is not unique."""
    m, n = A.shape
    K = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    x = np.linalg.lstsq(K, np.concatenate([force - h, prescribed - bias]), rcond=1e-12)[0]
    return x[:n], x[n:]


def _integrated(rate: Callable[[Array], Array], x: Array, t: float) -> Array:
    """x after a time t at x' = rate(x), to rounding."""
    solver = DOP853(lambda _, x: rate(x), 0.0, x, t, first_step=abs(t), rtol=1e-13, atol=1e-15)
    while solver.status == "running":
        solver.step()
    return solver.y


class Referee:
    """M, h and the constraints of a system, from the single modules and from the slip of its contacts."""

    def __init__(self, system: System, contact_set: ContactSet) -> None:
        self.system, self.set = system, contact_set
        # Where a module stands changes nothing that is asked here but the zero of its potential energy.
        self.models = {
            name: interpreted(module.model_copy(update={"name": "module", "placement_m": (0.0, 0.0)}))
            for name, module in system.modules.items()
        }

    def solve(self, q: Array, u: Array, force: Array, prescribed: Array | float = 0.0) -> tuple[Array, Array]:
        """u' and holding forces of one dense KKT solve; the smallest of them where the constraints are dependent."""
        return dense_solve(*self.mass_and_bias(q, u), *self.constraints(q, u), force, prescribed)

    def mass_and_bias(self, q: Array, u: Array) -> tuple[Array, Array]:
        qs, us = split(self.system, q, "q"), split(self.system, u, "u")
        M = block_diag(*(m.mass_matrix(qs[n]).copy() for n, m in self.models.items()))
        return M, np.concatenate([m.bias(qs[n], us[n]).copy() for n, m in self.models.items()])

    def moved(self, q: Array, u: Array, t: float) -> Array:
        """q after a time t at u' = 0: on a straight line but for quaternions, which are integrated with order eight."""
        qs, us = split(self.system, q, "q"), split(self.system, u, "u")
        for name, model in self.models.items():
            x, v = qs[name], us[name]
            if len(x) == len(v):
                qs[name] = x + t * model.position_rate(x, v)
            else:
                qs[name] = _integrated(lambda x, rate=model.position_rate, v=v: rate(x, v).copy(), x, t)
        return np.concatenate(list(qs.values()))

    def constraints(self, q: Array, u: Array) -> tuple[Array, Array]:
        """A, as the slip is linear in u, and the rate of the slip at u' = 0, by a difference of order eight."""
        zero = self.set.errors(q, np.zeros_like(u))[1]
        A = np.stack([self.set.errors(q, e)[1] - zero for e in np.eye(len(u))], axis=1)
        h = 2e-3 / max(1.0, np.abs(A).max())  # near a singular pose modes are long and turn fast
        weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        rate = sum(
            w * (self.set.errors(self.moved(q, u, k * h), u)[1] - self.set.errors(self.moved(q, u, -k * h), u)[1])
            for k, w in weights.items()
        )
        return A, rate / h

    def energy(self, q: Array, u: Array) -> float:
        """Kinetic and potential energy [J]."""
        qs, us = split(self.system, q, "q"), split(self.system, u, "u")
        return sum(m.kinetic_energy(qs[n], us[n]) + m.potential_energy(qs[n]) for n, m in self.models.items())

    def momentum(self, q: Array, u: Array) -> Array:
        """Linear and angular momentum about the world origin."""
        qs, us = split(self.system, q, "q"), split(self.system, u, "u")
        return sum((m.momentum(qs[n], us[n]).copy() for n, m in self.models.items()), np.zeros(6))


def closed_chains(m: int, n: int, kind: str, seed: int, base: str = "fixed") -> tuple[System, Array, Array]:
    """m chains of n revolute joints, of two random shapes, that all hold one body; and a state.

    Fixed chains stand on the ground; floating ones hold the body at both their ends. The body is made to fit the pose:
    its points are where the ends of the chains are.
    """
    rng = np.random.default_rng(seed)
    shapes = [_serial(rng, f"shape{k}", n) for k in range(2)]
    chains, grips, pose, contacts = [], [], [], []
    for k in range(m):
        q, chain = rng.uniform(-1.2, 1.2, n), shapes[k % 2]
        reached = interpreted(chain).point("tip", q, np.zeros(n))
        around = 0.4 * rng.uniform(-1, 1, 3)
        place = around - reached.position
        ends = {"tip": (around, reached.rotation)}
        if base == "floating":
            ends["foot"] = (place, np.eye(3))
            q = np.concatenate([place, [1, 0, 0, 0], q])
        chains.append(
            chain.model_copy(
                update={"name": f"chain{k}", "base": base}
                | ({"placement_m": tuple(place.tolist())} if base == "fixed" else {})
            )
        )
        pose.append(q)
        for end, (at, axes) in ends.items():
            turned = tuple(Rotation.from_matrix(axes).as_euler("xyz").tolist())
            grips.append(Point(name=f"{end}{k}", body="load", position_m=tuple(at.tolist()), rotation_rad=turned))
            sides = Side(module="load", point=f"{end}{k}"), Side(module=f"chain{k}", point=end)
            contacts.append(Contact(name=f"{end}{k}", kind=kind, first=sides[0], second=sides[1]))
    load = _rigid(rng, "load").model_copy(update={"points": tuple(grips)})
    system = System([*chains, load], contacts)
    return system, np.concatenate([*pose, [0, 0, 0, 1, 0, 0, 0]]), rng.normal(size=system.n_u)


def _serial(rng: np.random.Generator, name: str, n: int) -> Module:
    """A chain of n links that turn about axes of all directions."""
    bodies = [_rigid(rng, "link0").bodies[0].model_copy(update={"name": f"link{i}"}) for i in range(n + 1)]
    joints = tuple(
        Joint(
            name=f"joint{i}", parent=f"link{i - 1}", child=f"link{i}",
            origin_m=tuple(rng.uniform(-0.4, 0.4, 3).tolist()), axis=tuple(rng.normal(size=3).tolist()),
        )
        for i in range(1, n + 1)
    )  # fmt: skip
    tip = Point(name="tip", body=f"link{n}", position_m=tuple(rng.uniform(-0.3, 0.3, 3).tolist()))
    foot = Point(name="foot", body="link0", position_m=(0.0, 0.0, 0.0))
    return Module(
        name=name, dimension="spatial", base="fixed", gravity_m_s2=GRAVITY, bodies=tuple(bodies), joints=joints,
        points=(tip, foot),
    )  # fmt: skip


def _rigid(rng: np.random.Generator, name: str) -> Module:
    """A body that floats."""
    spread = rng.normal(size=(3, 3)) * 0.2
    inertia = np.trace(spread @ spread.T) * np.eye(3) - spread @ spread.T + 0.02 * np.eye(3)
    moments = tuple(float(inertia[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    body = Body(
        name=name, mass_kg=float(rng.uniform(1, 4)), com_m=tuple(rng.uniform(-0.1, 0.1, 3).tolist()),
        inertia_kg_m2=moments,
    )  # fmt: skip
    return Module(name=name, dimension="spatial", base="floating", gravity_m_s2=GRAVITY, bodies=(body,))


def plain_body(name: str, dimension: str, points: dict[str, tuple[float, ...]], gravity: tuple[float, ...]) -> Module:
    """A body of 2 kg that floats, its mass centre in its origin; 0.03 kg m^2 about z."""
    spatial = dimension == "spatial"
    body = Body(name=name, mass_kg=2.0, inertia_kg_m2=(0.02, 0.025, 0.03, 0.0, 0.0, 0.0) if spatial else 0.03)
    named = tuple(Point(name=point, body=name, position_m=place) for point, place in points.items())
    return Module(name=name, dimension=dimension, base="floating", gravity_m_s2=gravity, bodies=(body,), points=named)
