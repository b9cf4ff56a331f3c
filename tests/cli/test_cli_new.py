"""`granite new`: what it writes is short and runs at once, and what does not fit is refused or asked again."""

import sys
from collections.abc import Iterator

import pytest

from granite.cli.endings import STOPPED
from granite.config.loader import load
from granite.rt.api import simulate
from granite.tuning.session import Session
from tests.support.command_line import granite, left_in, sentence_of

__all__ = ["granite"]

URDF = """<robot name="one">
  <link name="hull"><inertial><mass value="12"/>
    <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial></link>
  <joint name="hip" type="{kind}"><parent link="hull"/><child link="rod"/><origin xyz="0.15 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="0.7" velocity="2"/></joint>
  <link name="rod"><inertial><origin xyz="0.15 0 0"/><mass value="0.8"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.006" iyz="0" izz="0.006"/></inertial></link>
</robot>
"""

#: each is compiled
QUICK = ("the usual one",)
ROBOTS = {
    "the usual one": (),
    "twelve thrusters and three links": ("--thrusters", 12, "--links", 3, "--link-length", "0.3,0.25,0.2"),
    "light and small": ("--mass", 5, "--size", 0.2, "--thrust", 0.3, "--table", "2,1.5"),
    "heavy, with an arm": ("--mass", 60, "--size", 0.6, "--thrust", 4, "--links", 2, "--link-mass", 2),
    "fixed arm": ("--base", "fixed"),
    "fixed arm of six links": ("--base", "fixed", "--links", 6, "--link-length", 0.2, "--torque", 2),
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    "options", [pytest.param(ROBOTS[of], marks=() if of in QUICK else pytest.mark.slow, id=of) for of in ROBOTS]
)
def test_what_it_writes_is_short_and_ends_within_millimetres(granite, tmp_path, options):
    said = granite("new", "robot.toml", "--overwrite", *options)
    assert (said.code, said.err) == (0, "")
    assert "run it: granite sim robot.toml" in said.out
    assert left_in(tmp_path) == ["robot.toml"]
    text = (tmp_path / "robot.toml").read_text()
    assert len(text.partition("\n# To tune it")[0].splitlines()) <= 40
    assert "#" in text
    log = simulate("robot.toml")
    assert log.summary is not None
    assert log.summary["ended"] == "completed"
    for error in log.summary["tracking_error"].values():
        assert error["max_in_last_5_s"] < (3e-3 if error["unit"] == "m" else 10e-3)


@pytest.mark.parametrize("options", ROBOTS.values(), ids=ROBOTS)
def test_its_tuning_table_is_whole_once_it_is_no_comment(granite, tmp_path, options):
    granite("new", "robot.toml", *options)
    text = (tmp_path / "robot.toml").read_text()
    head, told, table = text.partition("# To tune it by `granite tune FILE`, take the # of the next lines away")
    assert load("robot.toml").tuning is None
    (tmp_path / "robot.toml").write_text(head + told + table.replace("\n# ", "\n"))
    bed = load("robot.toml")
    assert bed.tuning is not None
    session = Session.create(tmp_path / "session", bed, bed.tuning)
    assert len(session.parameters) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
def test_a_robot_from_a_urdf_has_its_joints_and_their_efforts(granite, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.urdf").write_text(URDF.format(kind="revolute"))
    (tmp_path / "beds").mkdir()
    said = granite("new", "beds/one.toml", "--urdf", "parts/one.urdf", "--size", 0.3, "--thrust", 0.5)
    assert (said.code, said.err) == (0, "")
    bed = load("beds/one.toml")
    assert [(motor.joint, motor.torque_limit_n_m) for motor in bed.motors] == [("hip", 0.7)]
    assert bed.modules[0].root.name == "hull"
    log = simulate(bed)
    assert log.summary is not None
    assert log.summary["ended"] == "completed"


IN_SPACE = URDF.format(kind="revolute").replace(
    "</robot>",
    """<joint name="knee" type="revolute"><parent link="rod"/><child link="end"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="0.5" velocity="2"/></joint>
  <link name="end"><inertial><origin xyz="0.1 0 0"/><mass value="0.3"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial></link>
  <joint name="twin" type="revolute"><parent link="end"/><child link="nail"/><mimic joint="knee" offset="0.1"/></joint>
  <link name="nail"/></robot>""",
)


@pytest.mark.slow
def test_a_fixed_robot_from_a_urdf_may_move_in_space(granite, tmp_path):
    (tmp_path / "two.urdf").write_text(IN_SPACE)
    said = granite("new", "two.toml", "--urdf", "two.urdf", "--base", "fixed")
    assert "expected [0, 0, 1] for a joint that turns in a planar module; or --spatial" in sentence_of(said)
    assert granite("new", "two.toml", "--urdf", "two.urdf", "--base", "fixed", "--spatial").code == 0
    bed = load("two.toml")
    assert (bed.joints, bed.planar) == (("hip", "knee"), False)
    assert 'urdf_mimic = "lock"' in (tmp_path / "two.toml").read_text()
    log = simulate("two.toml")
    assert log.summary["ended"] == "completed"
    assert all(error["max_in_last_5_s"] < 5e-3 for error in log.summary["tracking_error"].values())
    for options in (("--urdf", "two.urdf"), ("--base", "fixed")):
        said = granite("new", "other.toml", "--spatial", *options)
        assert "--spatial: only for a fixed robot of a URDF" in sentence_of(said)


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 1.0), (0.2, 1.5), (-2.0, -0.5), (-0.1, 0.2), (-2.0, 0.01)])
def test_a_first_move_stays_within_the_limits_of_a_urdf(granite, tmp_path, lower, upper):
    limits = f'lower="{lower}" upper="{upper}"'
    (tmp_path / "one.urdf").write_text(URDF.format(kind="revolute").replace('lower="-1" upper="1"', limits))
    assert granite("new", "one.toml", "--urdf", "one.urdf", "--thrust", 0.5).code == 0
    bed = load("one.toml")
    begin, end = bed.simulation.initial.get("hip_rad", 0.0), bed.behaviour.waypoints[0].target["hip_rad"]
    assert lower < begin < upper
    assert lower < end < upper
    assert abs(end - begin) > 0.1


def test_a_file_is_replaced_only_on_request(granite, tmp_path):
    assert granite("new", "a.toml", "--mass", 20).code == 0
    before = (tmp_path / "a.toml").read_text()
    assert "'a.toml' exists: expected a new name, or --overwrite" in sentence_of(granite("new", "a.toml", "--mass", 30))
    assert (tmp_path / "a.toml").read_text() == before
    assert granite("new", "a.toml", "--mass", 30, "--overwrite").code == 0
    assert "30.0" in (tmp_path / "a.toml").read_text()


WRONG = {
    "not a number": (("--mass", "heavy"), ('--mass = "heavy"', "expected a number from")),
    "negative": (("--mass", "-3"), ('--mass = "-3"', "expected a number from 0.1")),
    "nan": (("--mass", "nan"), ('--mass = "nan"', "expected a number from")),
    "no such base": (("--base", "flying"), ('--base = "flying"', "expected floating or fixed")),
    "ten thrusters": (("--thrusters", "10"), ('--thrusters = "10"', "expected 8 or 12")),
    "too many links": (("--links", "7"), ('--links = "7"', "expected 0 to 3")),
    "a fixed base without links": (("--base", "fixed", "--links", "0"), ('--links = "0"', "expected 1 to 6")),
    "lengths of other links": (("--links", "3", "--link-length", "1,2"), ("--link-length", "one number or 3")),
    "of no use": (("--base", "fixed", "--thrust", "1"), ('--thrust = "1"', "not used here")),
    "too weak": (("--thrust", "0.001"), ("--thrust = 0.001: too little for 18 kg", "at least")),
    "too strong": (("--thrust", "500"), ("--thrust = 500.0: too much for 18 kg", "at most")),
    "weak motor": (
        ("--links", "1", "--link-mass", "50", "--torque", "0.001"),
        ("too little for joint 'shoulder'", "at least"),
    ),
    "small table": (("--table", "0.6"), ("--table", "too small", "for a base of 0.4 m")),
    "no URDF": (("--urdf", "none.urdf"), ("none.urdf", "no such file")),
    "prismatic": (("--urdf", "slide.urdf"), ("slide.urdf", "joint 'hip' is prismatic", "expected revolute")),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_option_is_refused_and_leaves_nothing(granite, tmp_path, options, said):
    (tmp_path / "slide.urdf").write_text(URDF.format(kind="prismatic").replace('xyz="0 0 1"', 'xyz="1 0 0"'))
    sentence = sentence_of(granite("new", "a.toml", *options))
    assert all(part in sentence for part in said), sentence
    assert left_in(tmp_path) == ["slide.urdf"]


@pytest.mark.parametrize(
    ("file", "said"), [("a.txt", ".toml"), ("no/a.toml", "no directory 'no'"), ("", "expected a name")]
)
def test_a_place_where_nothing_can_be_written_is_refused_first(granite, file, said):
    assert said in sentence_of(granite("new", file))


@pytest.fixture
def terminal(monkeypatch):
    """Type these lines, and collect the questions."""
    questions: list[str] = []

    def sit_down(*lines: str) -> list[str]:
        typed: Iterator[str] = iter(lines)

        def answer(question: str) -> str:
            questions.append(question)
            try:
                return next(typed)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", answer)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        return questions

    return sit_down


def test_a_terminal_is_asked_and_an_empty_answer_is_the_usual_one(granite, terminal):
    questions = terminal("", "25", "", "12", "", "2", "0.3, 0.2", "", "", "4, 3")
    assert granite("new", "a.toml").code == 0
    assert len(questions) == 10
    bed = load("a.toml")
    assert (bed.modules[0].root.mass_kg, len(bed.thrusters), len(bed.motors)) == (25.0, 12, 2)
    assert bed.safety.table_m == (0.283, 0.283, 3.717, 2.717)


def test_a_wrong_answer_is_asked_again_also_where_it_does_not_fit_the_others(granite, terminal):
    questions = terminal("", "heavy", "18", "", "", "500", "0", "", "1.5")
    said = granite("new", "a.toml")
    assert said.code == 0
    assert "expected a number from 0.1 to 10000" in said.out
    assert "too much for 18 kg, expected at most" in said.out
    words = [question.split()[0].strip(",") for question in questions]
    assert words == ["Base", *["Mass"] * 2, "Side", "Thrusters", "Thrust", "Links", "Table", "Thrust"]
    assert [*{unit.thrust_n for unit in load("a.toml").thrusters}] == [1.5]


def test_the_end_of_the_input_ends_it_and_leaves_nothing(granite, terminal, tmp_path):
    terminal("", "25")
    assert granite("new", "a.toml").code == STOPPED
    assert left_in(tmp_path) == []
