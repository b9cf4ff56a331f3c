"""The planar test bed of Sun 1996 as systems of ours: arms of flexible (F) and rigid (R) links that hold one bar.

A flexible link is made of beam elements, each a module whose shapes are the square and the cube of x: that is the cubic
element of eqs. (3.2) to (3.9). Elements, and the motor at the end of a link, are held together by rigid grasps. The
figures with section and layout are lost: 500 x 50.8 x 6.35 mm and the places of the bases were found by the digits of
Tables 3.1 and 6.1 to 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from granite.config.contacts import Contact, Side
from granite.config.coordinates import velocities
from granite.config.modules import Module
from granite.kernels.kernel import Array
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.system import System
from tests.peers.interpreted import interpreted
from tests.support.dense_model import Model
from tests.support.flexible_arms import stiffness

LENGTH, HEIGHT, THICKNESS, DENSITY, YOUNG = 0.5, 0.0508, 0.00635, 2710.0, 68.95e9
LINE_DENSITY = DENSITY * HEIGHT * THICKNESS
EI = YOUNG * HEIGHT * THICKNESS**3 / 12
#: of the section about its own neutral axis, per length: the element matrices of the source have it, our beams do not
ROTARY = LINE_DENSITY * THICKNESS**2 / 12
HAND = 0.1
#: mass, first moments and second moment about the frame (Table 3.1, with c_y of the motors to the other side)
RIGID, ELBOW, WRIST = (0.809, 0.214, 0.0, 8.37e-2), (14.0, 0.0, -0.558, 7.33e-2), (6.5, 0.0, -0.289, 2.66e-2)
GRIPPER = (0.300, 0.015, 0.0, 1.00e-3)
LEFT, RIGHT = np.radians([90.0, -135.0, 90.0]), np.radians([-90.0, -135.0, 90.0])
BASES = ((-0.5 * np.sqrt(2), -0.5), (0.5 * np.sqrt(2), 0.5))
BAR_MASS, BAR_INERTIA = 13.5, 1.128
#: where the hands hold the bar: the wrists are at its ends
REACH = 0.4
CUBIC = ((1.0,), (0.0, 1.0))
#: Gauss points of an element, for the slope squared
_X, _W = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True)
class Arm:
    """One arm by itself, straight links at these joint angles."""

    system: System
    grip: tuple[str, str]  #: module and point of its hand
    pose: Array
    joints: tuple[int, ...]  #: where the joint rates stand in u
    amplitudes: tuple[int, ...]  #: where those of the elements do

    @property
    def closed(self) -> ContactSet:
        return self.system.contact_set()


@dataclass(frozen=True)
class Matrices:
    """Of one arm in joint rates and elastic coordinates: M q'' + K q = .., J of its hand (x, y, turn)."""

    M: Array
    K: Array
    J: Array
    n_r: int

    @property
    def blocks(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """M_rr, M_re, M_ee, K_ee, J_r, J_e."""
        r = self.n_r
        return self.M[:r, :r], self.M[:r, r:], self.M[r:, r:], self.K[r:, r:], self.J[:, :r], self.J[:, r:]

    @property
    def hat(self) -> tuple[Array, Array]:
        """M^_re and M^_ee (3.55): the hand is led, joints are driven."""
        M_rr, M_re, M_ee, _, J_r, J_e = self.blocks
        X = np.linalg.solve(J_r, J_e)
        return M_re - M_rr @ X, M_ee - M_re.T @ X

    @property
    def tilde(self) -> Array:
        """M~_ee (6.9): the hand is led, joints are loose."""
        *_, J_r, J_e = self.blocks
        hat_re, hat_ee = self.hat
        return hat_ee - np.linalg.solve(J_r, J_e).T @ hat_re


def arm(
    links: str,
    angles: Array,
    base: tuple[float, float],
    name: str = "left",
    motors: tuple[tuple[float, ...], ...] = (ELBOW, WRIST),
    density: float = LINE_DENSITY,
) -> Arm:
    """An arm such as FRR from its base outward; the third link is the hand and rigid."""
    made = _Pieces(name, base)
    for k, (kind, motor) in enumerate(zip(links[:2], motors, strict=True)):
        made.turn(float(angles[k]))
        if kind == "R":
            made.add_rigid(f"link{k + 1}", _joined(RIGID, motor), LENGTH)
        else:
            made.add_flexible(f"link{k + 1}", 2, LENGTH, density, EI)
            made.add_welded(f"motor{k + 1}", motor)
    made.turn(float(angles[2]))
    made.add_rigid("hand", GRIPPER, HAND)
    return made.arm()


def single_link(elements: int, length: float = 1.0, density: float = 1.0, ei: float = 1.0) -> Arm:
    """A uniform link on a joint (section 3.2)."""
    made = _Pieces("link", (0.0, 0.0))
    made.turn(0.0)
    made.add_flexible("link", elements, length, density, ei)
    return made.arm()


@cache
def matrices(links: str, angles: tuple[float, ...] = tuple(LEFT.tolist())) -> Matrices:
    """Of the left arm."""
    return reduced(arm(links, np.array(angles), BASES[0]))


def reduced(arm: Arm, rotary: bool = True) -> Matrices:
    """What is left of the arm's modules once their grasps hold; elastic coordinates are (v, v') of every node."""
    models = [interpreted(m) for m in arm.system.modules.values()]
    sizes = np.cumsum([0, *(m.n_u for m in models)])
    q = [arm.pose[a:b] for a, b in pairwise(sizes)]
    M = block_diag(*(m.mass_matrix(x).copy() for m, x in zip(models, q, strict=True)))
    K = block_diag(*(stiffness(m, x) for m, x in zip(models, q, strict=True)))
    if rotary:
        M = M + block_diag(*(_rotary(m, x) for m, x in zip(models, q, strict=True)))
    kept = [*arm.joints, *arm.amplitudes]
    T = motions(arm, kept, arm.closed.constraint_matrix(arm.pose))
    if arm.amplitudes:
        n = len(arm.joints)
        nodes = np.vstack([jacobian(arm, name, "tip", True)[1:] for name in elements(arm)]) @ T
        # A node is seen from the base of its own link: what bends the links before does not count.
        own = np.array([[a == b for b in elements(arm).values()] for a in elements(arm).values()])
        T = np.hstack([T[:, :n], T[:, n:] @ np.linalg.inv(nodes[:, n:] * np.kron(own, np.ones((2, 2))))])
    J = jacobian(arm, *arm.grip) @ T
    return Matrices(T.T @ M @ T, T.T @ K @ T, J, len(arm.joints))


def motions(arm: Arm, kept: list[int], A: Array) -> Array:
    """All u for one unit of each kept velocity, the others zero, where A u = 0 holds the arm together."""
    n = arm.system.n_u
    return np.linalg.solve(np.vstack([A, np.eye(n)[kept]]), np.eye(n)[:, len(A) :])


def bed(left: str, right: str) -> tuple[System, Array, Arm, Arm]:
    """Both arms and the bar, rigidly held; and the pose of Example 4.2 in the layout of chapters 5 and 6."""
    arms = [arm(left, LEFT, BASES[0], "left"), arm(right, RIGHT, BASES[1], "right")]
    grips = [{"name": name, "body": "bar", "position_m": [x, 0.0], "rotation_rad": [0.0, 0.0, turn]}
             for name, x, turn in (("left", -REACH, 0.0), ("right", REACH, np.pi))]  # fmt: skip
    body = {"name": "bar", "mass_kg": BAR_MASS, "inertia_kg_m2": BAR_INERTIA}
    bar = Module.model_validate(
        {"name": "bar", "dimension": "planar", "base": "floating", "bodies": [body], "points": grips}
    )
    contacts = [c for a in arms for c in a.system.contacts.values()]
    for a, name in zip(arms, ("left", "right"), strict=True):
        hand = Side(module=a.grip[0], point=a.grip[1])
        contacts.append(
            Contact(name=f"{name}_grip", kind="rigid_grasp", first=Side(module="bar", point=name), second=hand)
        )
    system = System([*(m for a in arms for m in a.system.modules.values()), bar], contacts)
    return system, np.concatenate([*(a.pose for a in arms), [0.0, 0.0, np.pi / 4]]), *arms


class _Pieces:
    """Modules of an arm, built from the base outward."""

    def __init__(self, name: str, base: tuple[float, float]) -> None:
        self._name, self._modules, self._contacts = name, [], []
        ground = {"name": "ground", "mass_kg": 1.0, "inertia_kg_m2": 1.0}
        self._here: dict[str, Any] = {
            "name": f"{name}_base", "dimension": "planar", "base": "fixed", "placement_m": list(map(float, base)),
            "bodies": [ground], "joints": [], "points": [],
        }  # fmt: skip
        self._at, self._heading, self._turn = np.array(base, dtype=float), 0.0, 0.0
        self._last, self._tip = "ground", 0.0
        self._joint_angles: list[float] = []
        self._start: list[float] = []
        self._pose: list[float] = []

    def turn(self, angle: float) -> None:
        """The next body turns by this angle on its joint."""
        self._turn = angle

    def add_rigid(self, name: str, moments: tuple[float, ...], length: float) -> None:
        self._joint(name)
        self._here["bodies"].append({"name": name, **_rigid(moments)})
        self._end(name, length)

    def add_flexible(self, name: str, n: int, length: float, density: float, ei: float) -> None:
        for k in range(n):
            body = {
                "name": f"{name}_{k + 1}",
                "flexible": {
                    "length_m": length / n, "line_density_kg_m": density, "ei_n_m2": ei, "modes_y": 2,
                    "shapes": "polynomial", "polynomials": CUBIC,
                },
            }  # fmt: skip
            if k == 0:
                self._joint(body["name"])
            else:
                self._weld(body["name"])
            self._here["bodies"].append(body)
            stations = [
                {"name": f"station{i}", "body": body["name"], "position_m": [length / n * (x + 1) / 2, 0.0]}
                for i, x in enumerate(_X)
            ]
            self._here["points"] += stations
            self._end(body["name"], length / n)

    def add_welded(self, name: str, moments: tuple[float, ...]) -> None:
        self._weld(name)
        self._here["bodies"].append({"name": name, **_rigid(moments)})
        self._end(name, 0.0)

    def arm(self) -> Arm:
        grip = self._here["name"], self._here["points"][-1]["name"]
        self._close()
        joints, amplitudes, at = [], [], 0
        for module in self._modules:
            for i, c in enumerate(velocities(module)):
                if c.name.startswith("joint"):
                    joints.append(at + i)
                elif c.name[-2:] in ("y1", "y2"):
                    amplitudes.append(at + i)
            at += len(velocities(module))
        return Arm(System(self._modules, self._contacts), grip, np.array(self._pose), tuple(joints), tuple(amplitudes))

    def _joint(self, name: str) -> None:
        joint = {"name": f"joint_{name}", "parent": self._last, "child": name, "origin_m": [self._tip, 0.0]}
        self._here["joints"].append(joint)
        self._joint_angles.append(self._turn)
        self._heading += self._turn

    def _weld(self, name: str) -> None:
        before = self._here["name"], "tip"
        self._close()
        self._here = {
            "name": f"{self._name}_{name}", "dimension": "planar", "base": "floating", "bodies": [], "joints": [],
            "points": [{"name": "root", "body": name, "position_m": [0.0, 0.0]}],
        }  # fmt: skip
        self._start, self._joint_angles = [*self._at.tolist(), self._heading], []
        sides = Side(module=before[0], point=before[1]), Side(module=self._here["name"], point="root")
        self._contacts.append(Contact(name=self._here["name"], kind="rigid_grasp", first=sides[0], second=sides[1]))

    def _end(self, name: str, length: float) -> None:
        self._last, self._tip = name, length
        self._here["points"] = [p for p in self._here["points"] if p["name"] != "tip"]
        self._here["points"].append({"name": "tip", "body": name, "position_m": [length, 0.0]})
        self._at = self._at + length * np.array([np.cos(self._heading), np.sin(self._heading)])

    def _close(self) -> None:
        module = Module.model_validate(self._here)
        modes = len(velocities(module)) - len(self._start) - len(self._joint_angles)
        self._pose += [*self._start, *self._joint_angles, *(0.0 for _ in range(modes))]
        self._modules.append(module)


def _joined(link: tuple[float, ...], motor: tuple[float, ...]) -> tuple[float, ...]:
    """A rigid link with the motor on its end."""
    mass, c_x, c_y, second = motor
    moved = mass, c_x + mass * LENGTH, c_y, second + 2 * LENGTH * c_x + mass * LENGTH**2
    return tuple(a + b for a, b in zip(link, moved, strict=True))


def _rigid(moments: tuple[float, ...]) -> dict[str, Any]:
    mass, c_x, c_y, second = moments
    centre = c_x / mass, c_y / mass
    return {"mass_kg": mass, "com_m": list(centre), "inertia_kg_m2": second - mass * (centre[0] ** 2 + centre[1] ** 2)}


def _rotary(model: Model, q: Array) -> Array:
    """Inertia of the sections against turning, summed over the stations of the module's element."""
    total = np.zeros((model.n_u, model.n_u))
    for body in model.module.bodies:
        if body.flexible:
            for i, w in enumerate(_W):
                turn = model.point(f"station{i}", q, np.zeros(model.n_u)).jacobian[5].copy()
                total += ROTARY * body.flexible.length_m * w / 2 * np.outer(turn, turn)
    return total


def jacobian(arm: Arm, module: str, point: str, of_body: bool = False) -> Array:
    """x, y and turn of a point in all u; in the axes of its body, if asked."""
    J, at = np.zeros((3, arm.system.n_u)), 0
    for name, m in arm.system.modules.items():
        model = interpreted(m)
        if name == module:
            q = arm.pose[at : at + model.n_q]
            motion = model.point(point, q, np.zeros(model.n_u))
            own = motion.jacobian[[0, 1, 5]]
            J[:, at : at + model.n_u] = own
            if of_body:
                J[:2] = motion.rotation[:2, :2].T @ J[:2]
        at += model.n_u
    return J


def elements(arm: Arm) -> dict[str, str]:
    """Modules that hold an element, at most one each, and which link it belongs to."""
    flexible = {name: [b.name for b in m.bodies if b.flexible] for name, m in arm.system.modules.items()}
    return {name: bodies[0].rsplit("_", 1)[0] for name, bodies in flexible.items() if bodies}
