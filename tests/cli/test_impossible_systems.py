"""Systems that can't be controlled are refused at the command line in one sentence, before anything moves."""

from pathlib import Path

import pytest

from tests.support.command_line import Call, left_in, sentence_of
from tests.support.command_line import granite as granite

pytestmark = pytest.mark.usefixtures("interpreted")

IMPOSSIBLE = {
    "a grasp that can't be held": (
        "two-arm-carry",
        ["modules.target.points.right.position_m=[0.0, 0.1]"],
        "left_grip, right_grip can't hold it",
    ),
    "too few thrusters": (
        "two-arm-carry",
        ["devices.thrusters.units=[{name='r1', position_m=[0.1, 0.1], direction=[-1, 0], thrust_n=1.0}]"],
        "the thrusters of 'vehicle' give no +fx",
    ),
    "a point that does not exist": (
        "free-flyer",
        ["controller.law={kind='task_computed_torque', point='nose'}"],
        'controller.law.point = "nose": no such point, expected tip',
    ),
    "a seen point that does not exist": (
        "free-flyer/hand-target",
        ["devices.hand.point='nose'"],
        'devices.hand.point = "nose": no such point, expected tip',
    ),
    "a stiffness without inertia": (
        "flx-pendulum/rigid",
        [
            "modules.pendulum.joints.joint.stiffness_n_m_rad=10.0",
            "modules.pendulum.bodies.link={name='link', mass_kg=0.0, com_m=[0.0, 0.0], inertia_kg_m2=0.0}",
            "modules.pendulum.points=[]",
        ],
        "can move without moving a mass",
    ),
    "an arm that leads its own flexible tip": (
        "sun-planar/example-3-2",
        ["controller.law.distribution.objective=['least_internal_force']"],
        "elastic motion grows by",
    ),
    "joints too stiff for the loop, under contacts": (
        "fixed-dual-arm/joint-pd",
        ["controller.law.gains.joints.stiffness_n_m_rad=1e4"],
        "motion under contacts grows by",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_it_is_refused_and_nothing_is_run(case: str, granite: Call, tmp_path: Path) -> None:
    bed, changes, words = IMPOSSIBLE[case]
    said = granite("sim", bed, *(word for change in changes for word in ("--set", change)), "--out", "log.mcap")
    assert words in sentence_of(said)
    assert not said.out
    assert left_in(tmp_path) == []
