"""Contacts that are moved and pushed by configuration: the pose follows, and the drift cures do not fight it."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.spatial.transform import Rotation

from granite.config.contacts import AngularMotion, Contact, Forcing, LinearMotion, Moment, PrescribedMotion, Push, Side
from granite.config.errors import InputError
from granite.mrds.system import System
from tests.support.random_systems import plain_body

pytestmark = pytest.mark.usefixtures("interpreted")

CURES = ({"project": True}, {"feedback": (40.0, 400.0)})


def moved(dimension: str, motion: PrescribedMotion, kind: str = "rigid_grasp", force: Forcing = Forcing()) -> System:  # noqa: B008
    """A body held by a place on the ground that is turned by 0.5 about z, and by 0.3 about x in space."""
    body = plain_body("body", dimension, {"hand": (0.1, 0.2)}, (0.0, 0.0))
    ground = Side(position_m=(0.4, -0.1), rotation_rad=(0.3 if dimension == "spatial" else 0.0, 0.0, 0.5))
    hold = Contact(
        name="hold", kind=kind, first=ground, second=Side(module="body", point="hand"), motion=motion, force=force
    )
    return System([body], [hold])


SHAKEN = LinearMotion(amplitude_m=0.1, period_s=0.8, phase_rad=0.3, offset_m=0.02, speed_m_s=0.05)
TURNED = AngularMotion(amplitude_rad=0.5, period_s=1.3, speed_rad_s=4.0)


def place(t: float) -> float:
    return 0.1 * np.sin(2 * np.pi * t / 0.8 + 0.3) + 0.02 + 0.05 * t


def angle(t: float) -> float:
    return 0.5 * np.sin(2 * np.pi * t / 1.3) + 4.0 * t


def followed(system: System, h: float, steps: int, cure: dict[str, object]) -> tuple[np.ndarray, float]:
    """The pose after so many steps from the pose and velocity that fit; and the greatest gap on the way."""
    closed = system.contact_set()
    q = np.zeros(system.n_q)
    if system.n_q > system.n_u:
        q[3] = 1.0
    start, worst = closed.drive(0.0), 0.0
    q, u = closed.project(q, np.zeros(system.n_u), start.velocity, start.displacement)
    for k in range(steps):
        drive = closed.drive(h * (k + np.array([0, 0.5, 1])))
        q, u = closed.rk4(
            q,
            u,
            np.zeros(system.n_u),
            h,
            velocity=drive.velocity,
            prescribed=drive.prescribed,
            displacement=drive.displacement,
            **cure,
        )  # type: ignore[arg-type]
        gap, _ = closed.errors(q, u, drive.velocity[:, 2], drive.displacement[:, 2])
        worst = max(worst, float(np.abs(gap).max()))
    return q, worst


@pytest.mark.parametrize(("cure", "tolerance"), [(CURES[0], 1e-11), (CURES[1], 1e-5)])
def test_a_body_in_the_plane_follows_a_hand_that_shakes_and_turns_on_and_on(cure, tolerance):
    system = moved("planar", PrescribedMotion(x=SHAKEN, rz=TURNED))
    h, steps = 5e-3, 400
    q, gap = followed(system, h, steps, cure)
    assert gap < tolerance
    t = h * steps
    heading = 0.5 + angle(t)  # more than a turn
    assert heading > 2 * np.pi
    hand = np.array([0.4, -0.1]) + place(t) * np.array([np.cos(0.5), np.sin(0.5)])
    turn = np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]])
    np.testing.assert_allclose(q, [*(hand - turn @ [0.1, 0.2]), heading], atol=10 * tolerance)


@pytest.mark.parametrize("axis", ["rx", "ry", "rz"])
def test_a_body_in_space_follows_a_hand_that_turns_about_an_axis_of_e(axis: str):
    system = moved("spatial", PrescribedMotion.model_validate({"y": SHAKEN, axis: TURNED}))
    h, steps = 5e-3, 300
    q, gap = followed(system, h, steps, CURES[0])
    assert gap < 1e-9
    R_E = Rotation.from_euler("z", 0.5) * Rotation.from_euler("x", 0.3)
    R = R_E * Rotation.from_euler(axis[1], angle(h * steps))
    np.testing.assert_allclose(Rotation.from_quat(q[3:], scalar_first=True).as_matrix(), R.as_matrix(), atol=1e-8)
    hand = np.array([0.4, -0.1, 0]) + R_E.apply([0, place(h * steps), 0])
    np.testing.assert_allclose(q[:3] + R.apply([0.1, 0.2, 0.0]), hand, atol=1e-8)


def test_the_rates_are_those_of_the_place():
    closed = moved("planar", PrescribedMotion(x=SHAKEN, rz=TURNED)).contact_set()
    h = 1e-4
    before, now, after = (closed.drive(0.7 + s * h) for s in (-1, 0, 1))
    np.testing.assert_allclose(now.displacement, [place(0.7), 0, angle(0.7)])
    np.testing.assert_allclose(now.velocity, (after.displacement - before.displacement) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(now.prescribed, (after.velocity - before.velocity) / (2 * h), rtol=1e-6)
    columns = closed.drive([0.7 - h, 0.7, 0.7 + h])
    np.testing.assert_array_equal(columns.displacement[:, 1], now.displacement)


def test_a_slide_is_pushed_along_what_is_free():
    push = Push(amplitude_n=3.0, period_s=0.5, offset_n=1.0)
    system = moved("planar", PrescribedMotion(), "x_slide", Forcing(x=push))
    closed = system.contact_set()
    q, u = closed.project(np.zeros(3), np.zeros(3))
    drive = closed.drive(0.1)
    motion = closed.accelerate(q, u, np.zeros(3), free_force=drive.free_force)
    force = 3.0 * np.sin(2 * np.pi * 0.1 / 0.5) + 1.0
    np.testing.assert_allclose(motion.acceleration[:2], force / 2.0 * np.array([np.cos(0.5), np.sin(0.5)]), atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "motion", "force", "key", "expected"),
    [
        ("x_slide", PrescribedMotion(x=SHAKEN), Forcing(), "motion.x", "one of y, rz of x_slide"),
        ("x_slide", PrescribedMotion(), Forcing(y=Push(offset_n=1.0)), "force.y", "x of x_slide"),
        ("revolute", PrescribedMotion(rz=TURNED), Forcing(), "motion.rz", "one of x, y of revolute"),
        ("revolute", PrescribedMotion(), Forcing(x=Push(offset_n=1.0)), "force.x", "rz of revolute"),
        (
            "rigid_grasp",
            PrescribedMotion(z=SHAKEN),
            Forcing(),
            "motion.z",
            "one of x, y, rz (did you mean 'rz'?) of rigid_grasp",
        ),
        ("edge", PrescribedMotion(x=SHAKEN), Forcing(), "motion", "none of edge, which may slip"),
    ],
)
def test_a_drive_along_the_wrong_direction_is_refused(kind, motion, force, key, expected):
    with pytest.raises(InputError) as refusal:
        moved("planar", motion, kind, force)
    assert (refusal.value.key, refusal.value.expected) == (f"contacts.hold.{key}", expected)


def test_turning_is_refused_where_another_rotation_is_free():
    with pytest.raises(InputError, match=r"motion.rx: expected a kind that holds every rotation, not revolute"):
        moved("spatial", PrescribedMotion(rx=TURNED), "revolute")


@pytest.mark.parametrize(
    ("table", "content", "words"),
    [
        (LinearMotion, {"amplitude_m": 0.1}, "period_s is missing"),
        (LinearMotion, {"offset_m": 0.1, "period_s": 1.0}, "expected none where there is no amplitude"),
        (AngularMotion, {"amplitude_rad": 0.1, "period_s": 0.0}, "greater than 0"),
        (Moment, {"speed_rad_s": 0.1}, "Extra inputs"),
        (
            PrescribedMotion,
            {"rx": {"speed_rad_s": 1.0}, "rz": {"speed_rad_s": 1.0}},
            "rz: rx and rz are given, expected one of rx, ry, rz",
        ),
    ],
)
def test_a_profile_that_cannot_be_is_refused(table, content, words):
    with pytest.raises(ValidationError, match=words):
        table.model_validate(content)
