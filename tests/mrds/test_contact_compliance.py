"""Contacts with springs and dampers: closed forms, MuJoCo as a referee, energy, the rigid limit, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from granite.config.contacts import Contact, Forcing, Push, Side
from granite.config.errors import InputError
from granite.config.loader import load
from granite.controllers.model import ControlModel
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.kind import directions_in
from granite.mrds.energy import Energy
from granite.mrds.system import System
from granite.mrds.vibration_modes import modes
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.plant.plant import Plant
from tests.support.pucks import bed, puck
from tests.support.random_systems import PARAMETERS, PLANAR, SPATIAL, plain_body

pytestmark = pytest.mark.usefixtures("interpreted")

YIELDING = [kind for kind in SPATIAL if not KINDS[kind].one_sided and KINDS[kind].holonomic is None]
K, D, K_TURN, D_TURN = 300.0, 4.0, 7.0, 0.2


def springs_of(kind: str, dimension: str) -> dict[str, float]:
    """As many numbers as the kind has directions for."""
    held = directions_in(KINDS[kind].held, dimension == "planar")
    given = {"stiffness_n_m": K, "damping_n_s_m": D} if any(len(name) == 1 for name in held) else {}
    turning = {"stiffness_n_m_rad": K_TURN, "damping_n_m_s_rad": D_TURN} if any("r" in name for name in held) else {}
    return given | turning


def joined(kind: str, dimension: str, compliance: dict[str, float] | None, **more: Any) -> System:
    """Two bodies that float, hand in hand."""
    point = (0.1, 0.2) if dimension == "planar" else (0.1, 0.2, -0.1)
    gravity = (0.0, -3.0) if dimension == "planar" else (0.0, -3.0, 1.0)
    bodies = [plain_body(name, dimension, {"hand": point}, gravity) for name in ("one", "two")]
    first, second = (Side(module=name, point="hand") for name in ("one", "two"))
    content = {"name": "c", "kind": kind, "first": first, "second": second, "parameters": PARAMETERS.get(kind, {})}
    return System(bodies, [Contact.model_validate(content | {"compliance": compliance} | more)])


@pytest.mark.parametrize(
    ("dimension", "kind"),
    [("spatial", kind) for kind in YIELDING] + [("planar", kind) for kind in YIELDING if kind in PLANAR],
)
def test_a_contact_of_any_kind_pulls_by_the_gap_and_the_slip_of_the_rigid_one(dimension: str, kind: str) -> None:
    """M (u' - u'_free) = A^T F, with A, gap and slip of the rigid contact; the wrench has that power."""
    soft = joined(kind, dimension, springs_of(kind, dimension)).contact_set()
    system = joined(kind, dimension, None)
    rigid, free = system.contact_set(), system.contact_set([])
    rng = np.random.default_rng(3)
    q, u, force = rng.normal(0, 0.3, system.n_q), rng.normal(size=system.n_u), rng.normal(size=system.n_u)
    q = rigid.normalised(q)
    gap, slip = rigid.errors(q, u)
    turns = np.array([name.startswith("r") for name in directions_in(KINDS[kind].held, dimension == "planar")])
    pull = -np.where(turns, K_TURN, K) * gap - np.where(turns, D_TURN, D) * slip
    M, A = rigid.mass_and_constraints(q)
    solution = soft.accelerate(q, u, force)
    change = solution.acceleration - free.accelerate(q, u, force).acceleration
    np.testing.assert_allclose(M @ change, A.T @ pull, atol=1e-9)
    assert solution.force.size == 0
    power = soft.assembly.loads(q, u, np.zeros(soft.n_free), [])[1]
    assert float(power) == pytest.approx(pull @ slip, rel=1e-9)
    # The dense solution, for poses where elimination loses digits, has the same springs.
    kernel = soft.compiled.dense
    _, f, *_ = kernel.split(kernel.run((q, u, force, *(np.zeros(n) for n in (soft.n_free, 0, 0, 2, 0)))))
    np.testing.assert_allclose(np.linalg.solve(M, f.ravel()), solution.acceleration, atol=1e-9)


def test_two_pucks_vibrate_with_frequency_and_damping_of_the_closed_form() -> None:
    """w^2 = k / m_r, zeta = d / (2 sqrt(k m_r)); nothing turns them."""
    bodies = [puck("one"), puck("two")]
    both = {"first": {"module": "one", "point": "front"}, "second": {"module": "two", "point": "back"}}
    test_bed = bed(bodies, [{"name": "c", "kind": "x_slide_turning", "compliance": {"stiffness_n_m": 90.0}, **both}])
    system = System(test_bed.modules, test_bed.contacts)
    across = [mode for mode in modes(system.contact_set(), np.array([0, 0, 0, 0.2, 0, 0])) if not mode.rigid]
    # Springs along y at the ends of both: they move against each other, and turn.
    assert [mode.frequency for mode in across] == pytest.approx(
        [math.sqrt(90.0 * (1 / 2 + 1 / 2 + 2 * 0.1**2 / 0.05)) / (2 * math.pi)], rel=1e-8
    )


def test_a_mass_on_a_spring_and_a_damper_swings_as_the_closed_form_says() -> None:
    """Under its weight, from rest: x'' = g - (k x + d x') / m; the audit closes with the power of the contact."""
    k, d, m, g = 50.0, 3.0, 2.0, 9.81
    load = puck("load", gravity_m_s2=[0.0, -g])
    load["points"].append({"name": "centre", "body": "body", "position_m": [0.0, 0.0]})
    hook = {"first": {}, "second": {"module": "load", "point": "centre"}}
    springs = {"stiffness_n_m": k, "damping_n_s_m": d}
    hung = bed([load], [{"name": "hook", "kind": "revolute", "compliance": springs, **hook}])
    log = simulate_in_memory(hung.with_changes({"loop.duration_s": 1.0}))
    t = log.rows[:, log.channels.column("/truth", "t_s")]
    fall = -log.rows[:, log.channels.column("/truth", "body_y_m")]
    ratio, omega = d / (2 * m), math.sqrt(k / m - (d / (2 * m)) ** 2)
    swing = np.exp(-ratio * t) * (np.cos(omega * t) + ratio / omega * np.sin(omega * t))
    np.testing.assert_allclose(fall, m * g / k * (1 - swing), atol=1e-9)
    checks = log.summary["audit"]["checks"]
    assert all(check["held"] for check in checks.values()), checks
    wrench = log.rows[:, log.channels.column("/truth", "hook_fy_n")]
    rate = m * g / k * np.exp(-ratio * t) * np.sin(omega * t) * (ratio**2 / omega + omega)
    np.testing.assert_allclose(wrench, k * fall + d * rate, atol=1e-7)


def test_energy_of_bodies_and_springs_stays_without_a_damper() -> None:
    """Of a rigid grasp in space between bodies that tumble: turns keep theirs only while they are small."""
    soft = joined("spherical", "spatial", {"stiffness_n_m": K}).contact_set()
    rigid = joined("spherical", "spatial", None).contact_set()
    energy = Energy(list(soft.modules.values()))
    rng = np.random.default_rng(5)
    q, u = soft.normalised(rng.normal(0, 0.3, soft.n_q)), rng.normal(size=soft.n_u)

    def total() -> float:
        return energy.balance(q, u).energy + K / 2 * float(np.sum(rigid.errors(q, u)[0] ** 2))

    start, swing = total(), set()
    for _ in range(200):
        q, u = soft.rk4(q, u, np.zeros(soft.n_u), 2e-3)
        swing.add(round(float(np.sum(rigid.errors(q, u)[0] ** 2)), 3))
    assert total() == pytest.approx(start, abs=1e-6 * K)
    assert len(swing) > 20


def test_mujoco_moves_two_bodies_on_springs_in_the_same_way() -> None:
    """Slides with springs and dampers along axes that turn with the first body, then a hinge: no contact at all."""
    mujoco = pytest.importorskip("mujoco")
    first = plain_body("one", "planar", {"hand": (0.1, 0.2)}, (0.0, 0.0))
    second = plain_body("two", "planar", {"hand": (-0.05, 0.1)}, (0.0, 0.0))
    sides = {name: Side(module=module, point="hand") for name, module in (("first", "one"), ("second", "two"))}
    springs = {"stiffness_n_m": K, "damping_n_s_m": D}
    soft = System([first, second], [Contact(name="c", kind="revolute", compliance=springs, **sides)]).contact_set()  # type: ignore[arg-type]
    (one,), (two,) = first.bodies, second.bodies

    def inertial(body: Any, shift: tuple[float, float]) -> str:
        at = [c - s for c, s in zip((*body.com_m, 0.0, 0.0), shift, strict=False)]
        turn = body.inertia_kg_m2
        return f'<inertial pos="{at[0]} {at[1]} 0" mass="{body.mass_kg}" diaginertia="{turn} {turn} {turn}"/>'

    slides = "".join(
        f'<joint type="slide" axis="{axis}" stiffness="{K}" damping="{D}"/>' for axis in ("1 0 0", "0 1 0")
    )
    xml = f"""<mujoco><option gravity="0 0 0" integrator="RK4" timestep="0.001"/><worldbody><body>
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="hinge" axis="0 0 1"/>
      {inertial(one, (0.0, 0.0))}
      <body pos="0.1 0.2 0">{slides}<joint type="hinge" axis="0 0 1"/>{inertial(two, (-0.05, 0.1))}</body>
      </body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = [0.3, -0.2, 0.5, 0.02, 0.03, -0.8], [0.2, 0.1, 1.5, 0.4, -0.3, -2.0]

    def poses(x: Any) -> np.ndarray:
        """Of both bodies, from the coordinates of the chain."""
        turned = np.array([[math.cos(x[2]), -math.sin(x[2])], [math.sin(x[2]), math.cos(x[2])]])
        heading = x[2] + x[5]
        arm = np.array([[math.cos(heading), -math.sin(heading)], [math.sin(heading), math.cos(heading)]])
        origin = x[:2] + turned @ (np.array([0.1, 0.2]) + x[3:5]) - arm @ np.array([-0.05, 0.1])
        return np.array([*x[:3], *origin, heading])

    h = 1e-6
    start = data.qpos.copy()
    q = poses(start)
    u = (poses(start + h * data.qvel) - poses(start - h * data.qvel)) / (2 * h)
    for _ in range(400):
        mujoco.mj_step(model, data)
        q, u = soft.rk4(q, u, np.zeros(6), 1e-3)
    np.testing.assert_allclose(q, poses(data.qpos), atol=2e-8)
    assert np.abs(q - poses(start)).max() > 0.1


def test_a_stiff_spring_tends_to_the_rigid_contact() -> None:
    """At rest under gravity on a hook: the spring carries the weight with a stretch of m g / k."""
    load = plain_body("load", "planar", {"hand": (0.0, 0.0)}, (0.0, -9.81))
    held = {"name": "c", "kind": "rigid_grasp", "first": Side(), "second": Side(module="load", point="hand")}
    rigid = System([load], [Contact.model_validate(held)]).contact_set()
    stiff = {"stiffness_n_m": 1e9, "stiffness_n_m_rad": 1e9}
    soft = System([load], [Contact.model_validate(held | {"compliance": stiff})]).contact_set()
    force = rigid.accelerate(np.zeros(3), np.zeros(3), np.zeros(3)).force
    q = np.array([-force[0] / 1e9, -force[1] / 1e9, -force[2] / 1e9])
    np.testing.assert_allclose(soft.accelerate(q, np.zeros(3), np.zeros(3)).acceleration, 0.0, atol=1e-6)


def test_a_spring_may_be_preloaded_by_a_force() -> None:
    """A gripper that is pressed with 6 N yields by F / k along x and nowhere else."""
    squeezed = joined("revolute", "planar", {"stiffness_n_m": K, "damping_n_s_m": D}, force=Forcing(x=Push(offset_n=6)))
    contacts = squeezed.contact_set()
    rest = np.array([0.0, 0.0, 0.0, 6.0 / K, 0.0, 0.0])
    solution = contacts.accelerate(rest, np.zeros(6), np.zeros(6), free_force=contacts.drive(0.0).free_force)
    np.testing.assert_allclose(solution.acceleration, [0.0, -3.0, 0.0] * 2, atol=1e-9)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "nothing": ("revolute", {"compliance": {}}, "compliance: it does nothing, expected a stiffness or damping"),
    "no rotation": (
        "revolute",
        {"compliance": {"stiffness_n_m_rad": 2.0}},
        "compliance.stiffness_n_m_rad = 2.0: expected none, because revolute holds no rotation",
    ),
    "a stop": ("edge", {"compliance": {"stiffness_n_m": 2.0}}, "expected none of edge, which rolls, slips or opens"),
    "moved": (
        "revolute",
        {"compliance": {"stiffness_n_m": 2.0}, "motion": {"x": {"offset_m": 0.1}}},
        "expected none where the contact has a prescribed motion",
    ),
    "one body": (
        "revolute",
        {"compliance": {"stiffness_n_m": 2.0}, "second": {"module": "one", "point": "front"}},
        "both sides are on one body, expected sides that move against each other",
    ),
}


@pytest.mark.parametrize(("kind", "changes", "said"), REFUSED.values(), ids=REFUSED)
def test_springs_that_make_no_sense_are_refused(kind: str, changes: dict[str, Any], said: str) -> None:
    sides = {"first": {"module": "one", "point": "back"}, "second": {"module": "two", "point": "front"}}
    content = {"name": "c", "kind": kind, **sides, **changes}
    with pytest.raises(InputError, match=said):
        Plant(bed([puck("one"), puck("two")], [content]))


SWITCHED: dict[str, tuple[dict[str, Any], str]] = {
    "too stiff": ({"compliance": {"stiffness_n_m": 1e9}}, "too long for the mode of"),
    "too much damping": ({"compliance": {"damping_n_s_m": 1e6}}, "too long for the mode of"),
    "no direction": ({"compliance": {"stiffness_n_m": -1.0}}, "greater than or equal to 0|at least 0"),
}


@pytest.mark.parametrize(("changes", "said"), SWITCHED.values(), ids=SWITCHED)
def test_springs_that_the_step_does_not_resolve_are_refused(changes: dict[str, Any], said: str) -> None:
    sides = {"first": {"module": "one", "point": "back"}, "second": {"module": "two", "point": "front"}}
    with pytest.raises(ValueError, match=said):
        Plant(bed([puck("one"), puck("two")], [{"name": "c", "kind": "revolute", **sides, **changes}]))


def test_a_controller_does_not_count_on_springs() -> None:
    (vehicle,) = load("free-flyer").modules
    hand = {"module": vehicle.name, "point": vehicle.points[0].name}
    content = {"name": "brace", "kind": "revolute", "first": {}, "second": hand}
    rigid, soft = (
        ControlModel(load("free-flyer", {"contacts": [content | more]}))
        for more in ({}, {"compliance": {"stiffness_n_m": 10.0}})
    )
    assert [contact.name for contact in rigid.closed] == [contact.name for contact in soft.ignored] == ["brace"]
    assert not soft.closed


def test_grips_are_not_contacts_with_springs() -> None:
    sides = {"first": {"module": "one", "point": "back"}, "second": {"module": "two", "point": "front"}}
    spring = {"name": "c", "kind": "revolute", "compliance": {"stiffness_n_m": 10.0}, **sides}
    holds = [{"from_s": 0.0, "closed": []}, {"from_s": 0.4, "closed": ["c"]}]
    with pytest.raises(InputError, match="expected none where the behaviour opens or closes the contact"):
        Plant(bed([puck("one"), puck("two")], [spring], holds=holds))
    always = bed([puck("one"), puck("two")], [spring], holds=[{"from_s": 0.0, "closed": ["c"]}])
    with pytest.raises(InputError, match="contact 'c' has a compliance"):
        always.with_changes({"devices.grips": {"simulated": {"stiffness_n_m": 10.0}}})
