"""Two six-joint arms that hold one object: accelerations and steps beside Pinocchio and MuJoCo, growth, compile times.

The arms stand on the ground, or on one base that floats, and turn about axes of all directions, so that no engine can
profit from coordinate axes.
Pinocchio and Granite hold the object rigidly; MuJoCo's welds are springs by design, with its own settings.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock
from xml.etree.ElementTree import Element, SubElement, tostring

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.result import Result, side_by_side
from granite.config.base import spatial
from granite.config.contacts import Contact, Side
from granite.config.coordinates import positions, velocities
from granite.config.modules import Body, Module, Point
from granite.mrds.system import System
from tests.peers.mujoco_twin import _add_body, _text
from tests.peers.pinocchio_system import PinocchioSystem, _prefixed
from tests.support.random_systems import closed_chains

STEP = 1e-3
CHAINS, JOINTS, MODULES = (2, 4, 8, 16, 32), (2, 4, 6, 8, 10, 12), (2, 4, 8, 16, 32)


def measure() -> Iterator[Result]:
    system, q, u = closed_chains(2, 6, "rigid_grasp", seed=26)
    yield from _beside_others("two arms and an object", system, q, u)
    yield from _beside_others("two arms on a floating base and an object", *_on_one_base(system, q, u))
    yield from _growth("chains of six joints around one body", "chains", CHAINS, _chains, 1.1)
    yield from _growth("joints of two chains around one body", "joints", JOINTS, _joints, 1.1)
    yield from _growth("modules in series", "modules", MODULES, _series, 1.2)


def _beside_others(what: str, system: System, q, u) -> Iterator[Result]:
    closed, theirs, welded = system.contact_set(), PinocchioSystem(system), _WeldedSystem(system)
    q, u = closed.project(q, 0.3 * u)
    force = np.random.default_rng(0).normal(size=system.n_u)
    kernel = closed.compiled.solutions["accelerate"]
    accelerate = kernel.run
    expected = theirs.accelerate(q, u, force)[0]
    np.testing.assert_allclose(kernel.split(accelerate((q, u, force)))[0], expected, atol=1e-9 * np.abs(expected).max())
    theirs.settings = pin.ProximalSettings(1e-12, 1e-10, 2)  # as few iterations as give the same digits
    arguments, arranged = theirs.arguments(q, u, force), welded.arranged(q, u, force)
    times = side_by_side(
        {
            "granite": lambda: accelerate((q, u, force)),
            "Pinocchio constraintDynamics": lambda: pin.constraintDynamics(
                theirs.model, theirs.data, *arguments, theirs.constraints, theirs.constraint_data, theirs.settings
            ),
            "MuJoCo mj_forward, welds": lambda: welded.forward(*arranged),
        },
        number=500,
    )
    yield from _results(f"acceleration, {what}", times, 0.6, "at most 0.6")

    welded.forward(*arranged)
    steps = side_by_side(
        {
            "granite": lambda: closed.rk4(q, u, force, STEP),
            "MuJoCo RK4": lambda: welded.step(*arranged),
        },
        number=300,
    )
    projected = side_by_side(
        {
            "granite": lambda: closed.rk4(q, u, force, STEP, project=True),
            "MuJoCo RK4": lambda: welded.step(*arranged),
        },
        number=300,
    )
    yield from _results(f"RK4 step, {what}", steps, 0.5, "at most half")
    # No goal of its own: already the gap of the plain step is far below the peer's.
    yield from _results(f"RK4 step and projection, {what}", projected)
    yield from _drift(what, closed, welded, q, u)


def _on_one_base(system: System, q, u) -> tuple[System, Any, Any]:
    """The same arms on one base that floats: one module of 18 velocities, which holds the object with both hands."""
    rng, arms = np.random.default_rng(3), [m for m in system.modules.values() if m.name != "load"]
    base = arms[0].root.model_copy(update={"name": "base", "mass_kg": 20.0})
    bodies, joints, points, angles = [base], [], [], {}
    for k, arm in enumerate(map(_prefixed, arms)):
        bodies += arm.bodies[1:]
        for joint in arm.joints:
            at = np.array(joint.origin_m)
            if joint.parent == arm.root.name:
                joint = joint.model_copy(update={"parent": "base", "origin_m": tuple(at + arm.placement_m)})
            joints.append(joint)
        points += [p for p in arm.points if p.body != arm.root.name]
        angles |= dict(zip((j.name for j in arm.joints), q[6 * k : 6 * k + 6], strict=True))
    vehicle = arms[0].model_copy(
        update={"name": "vehicle", "base": "floating", "placement_m": (0.0, 0.0), "bodies": tuple(bodies),
                "joints": tuple(joints), "points": tuple(points)}
    )  # fmt: skip
    contacts = [
        c.model_copy(update={"second": Side(module="vehicle", point=f"{c.second.module}_{c.second.point}")})
        for c in system.contacts.values()
    ]
    pose = [0, 0, 0, 1, 0, 0, 0, *(angles[j.name] for j in vehicle.joints_in_tree_order()), *q[12:]]
    whole = System([vehicle, system.modules["load"]], contacts)
    return whole, np.array(pose), rng.normal(size=whole.n_u)


def _results(name: str, times: dict[str, float], limit: float | None = None, goal: str = "") -> Iterator[Result]:
    mine = times.pop("granite")
    fastest = min(times, key=lambda peer: times[peer])
    for peer, took in times.items():
        said, met = (goal, mine <= limit * took) if limit and peer == fastest else ("", None)
        yield Result(name, "us", mine * 1e6, took * 1e6, peer, said, met)


def _drift(what: str, closed, welded: _WeldedSystem, q, u) -> Iterator[Result]:
    """The greatest gap after a second of falling, in steps of a millisecond."""
    still = np.zeros(len(u))
    peers = welded.fall(*welded.arranged(q, u, still)[:2], 1000)
    for name, how in (
        ("", {}),
        (" with drift feedback", {"feedback": (40.0, 400.0)}),
        (" projected", {"project": True}),
    ):
        at, speed = q, u
        for _ in range(1000):
            at, speed = closed.rk4(at, speed, still, STEP, **how)
        gap = float(np.abs(closed.errors(at, speed)[0]).max())
        yield Result(f"gap after 1000 RK4 steps{name}, {what}", "m", gap, peers, "MuJoCo, welds", "", None)


def _growth(what: str, unit: str, sizes: tuple[int, ...], build, limit: float) -> Iterator[Result]:
    calls, compiled = {}, {}
    for size in sizes:
        system, q, u = build(size)
        closed, force = system.contact_set(), np.zeros(system.n_u)
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, GRANITE_CACHE=cache):
            began = time.perf_counter()
            kernel = closed.compiled.solutions["accelerate"]
            compiled[size] = time.perf_counter() - began
        calls[str(size)] = lambda k=kernel.run, x=(q, u, force): k(x)
    times = side_by_side(calls, number=100, rounds=40)
    for size in sizes:
        name = f"  {what}: {size} {unit}"
        yield Result(name, "us", times[str(size)] * 1e6, None, f"compiled in {compiled[size]:.1f} s", "", None)
    exponent = float(np.polyfit(np.log(sizes), np.log([times[str(s)] for s in sizes]), 1)[0])
    yield Result(f"growth with {what}", "", exponent, None, "", f"exponent at most {limit:g}", exponent <= limit)


def _chains(m: int):
    return closed_chains(m, 6, "rigid_grasp", seed=1)


def _joints(n: int):
    return closed_chains(2, n, "hard_point", seed=1)


def _series(n: int):
    """Floating bodies hinged to each other, the first to the ground."""
    ends = tuple(Point(name=name, body="link", position_m=(x, 0.0, 0.1)) for name, x in (("near", -0.2), ("far", 0.2)))
    link = Body(name="link", mass_kg=1.5, com_m=(0.02, 0.01, 0.0), inertia_kg_m2=(0.01, 0.03, 0.035, 0.001, 0.0, 0.002))
    links = [
        Module(name=f"link{k}", dimension="spatial", base="floating", gravity_m_s2=(0.0, 0.0, -9.81), bodies=(link,),
               points=ends)
        for k in range(n)
    ]  # fmt: skip
    hinges = [
        Contact(name=f"hinge{k}", kind="revolute", first=Side(module=f"link{k - 1}", point="far") if k else Side(),
                second=Side(module=f"link{k}", point="near"))
        for k in range(n)
    ]  # fmt: skip
    rng = np.random.default_rng(n)
    q = np.tile([0.0, 0, 0, 1, 0, 0, 0], n) + 0.1 * rng.normal(size=7 * n)
    return System(links, hinges), q, rng.normal(size=6 * n)


class _WeldedSystem:
    """The system as a MuJoCo model, rigid grasps as welds of sites."""

    def __init__(self, system: System) -> None:
        root = Element("mujoco")
        SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
        gravity = next(iter(system.modules.values())).gravity_m_s2
        option = SubElement(root, "option", gravity=_text(spatial(gravity)), timestep=repr(STEP), integrator="RK4")
        SubElement(option, "flag", contact="disable")
        world, turned = SubElement(root, "worldbody"), {}
        for module in system.modules.values():
            named = _prefixed(module)
            body = _add_body(world, named.root, named)
            if module.base == "floating":
                body.insert(0, Element("freejoint", name=f"{module.name}_base"))
            else:
                body.set("pos", _text(spatial(module.placement_m)))
            turned |= {p.name: p.rotation_rad for p in named.points}
        for site in root.iter("site"):
            axes = pin.rpy.rpyToMatrix(*turned[site.get("name", "")])
            site.set("xyaxes", _text([*axes[:, 0], *axes[:, 1]]))
        equality = SubElement(root, "equality")
        for c in system.contacts.values():
            sides = [f"{s.module}_{s.point}" for s in (c.first, c.second)]
            SubElement(equality, "weld", site1=sides[0], site2=sides[1])
        self.model = mujoco.MjModel.from_xml_string(tostring(root, encoding="unicode"))
        self.data = mujoco.MjData(self.model)
        modules = list(system.modules.values())
        named = [[f"{m.name}_{c.name}" for m in modules for c in of(m)] for of in (positions, velocities)]
        self._orders = [self._order(at, size, names) for (at, size), names in zip(
            ((self.model.jnt_qposadr, 7), (self.model.jnt_dofadr, 6)), named, strict=True
        )]  # fmt: skip
        self._pairs = [[f"{s.module}_{s.point}" for s in (c.first, c.second)] for c in system.contacts.values()]

    def arranged(self, q, u, force) -> tuple[Any, Any, Any]:
        """The same in MuJoCo's order: depth first."""
        return q[self._orders[0]], u[self._orders[1]], force[self._orders[1]]

    def _order(self, at, size: int, names: list[str]) -> list[int]:
        order = [0] * len(names)
        for i in range(self.model.njnt):
            name, free = self.model.joint(i).name, self.model.jnt_type[i] == mujoco.mjtJoint.mjJNT_FREE
            # A floating base comes first in its module.
            first = next(k for k, n in enumerate(names) if n.startswith(name.removesuffix("_base"))) if free else 0
            for k in range(size if free else 1):
                order[at[i] + k] = first + k if free else names.index(name)
        return order

    def forward(self, q, u, force) -> None:
        self._set(q, u, force)
        mujoco.mj_forward(self.model, self.data)

    def step(self, q, u, force) -> None:
        self._set(q, u, force)
        mujoco.mj_step(self.model, self.data)

    def fall(self, q, u, steps: int) -> float:
        """The largest distance between two sites of a weld at the end."""
        self._set(q, u, np.zeros(len(u)))
        for _ in range(steps):
            mujoco.mj_step(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        at = [[self.data.site(name).xpos for name in pair] for pair in self._pairs]
        return float(max(np.abs(a - b).max() for a, b in at))

    def _set(self, q, u, force) -> None:
        self.data.qpos[:], self.data.qvel[:], self.data.qfrc_applied[:] = q, u, force
