"""Answers about a new robot: the range of each, and limits of the actuators that the refusals recommend."""

import re
from dataclasses import FrozenInstanceError, fields

import pytest

from granite.cli.new_testbed.answers import LinkData, Question, RobotData, collect
from granite.cli.new_testbed.move import Move, plan
from granite.cli.new_testbed.robot import built
from granite.config.errors import InputError

#: option, smallest and largest answer; each with the other answers that it needs
RANGES = {
    "--mass": (0.1, 1e4),
    "--size": (0.02, 10.0),
    "--thrust": (1e-4, 1e3),
    "--link-length": (0.01, 10.0),
    "--link-mass": (1e-3, 1e3),
    "--torque": (1e-4, 1e4),
    "--table": (0.1, 100.0),
}


def answers(from_urdf: bool = False, **given: str) -> RobotData:
    def ask(question: Question) -> object:
        return question.answer(given.get(question.option.removeprefix("--").replace("-", "_"), question.usual))

    return collect(ask, from_urdf)


@pytest.mark.parametrize(("option", "least", "greatest"), [(option, *ends) for option, ends in RANGES.items()])
def test_an_answer_at_the_end_of_its_range_is_taken_and_one_beyond_it_is_not(option, least, greatest):
    key = option.removeprefix("--").replace("-", "_")
    for value in (least, greatest):
        answers(links="1", **{key: f"{value!r}"})
    for value in (0.99 * least, 1.01 * greatest):
        with pytest.raises(InputError, match=re.escape(f"from {least:g} to {greatest:g}")) as refusal:
            answers(links="1", **{key: f"{value!r}"})
        assert refusal.value.key == option


def test_the_torque_of_a_urdf_without_efforts_has_the_same_range():
    assert answers(from_urdf=True, torque="1e4").torque_n_m == 1e4
    assert answers(from_urdf=True, torque="1e-4").torque_n_m == 1e-4
    for beyond in ("1.01e4", "0.99e-4"):
        with pytest.raises(InputError, match=r"from 0\.0001 to 10000"):
            answers(from_urdf=True, torque=beyond)


@pytest.mark.parametrize(("option", "given"), [("thrust", {}), ("torque", {"links": "1", "link_mass": "50"})])
def test_the_least_thrust_and_torque_that_a_refusal_names_would_do(option, given):
    """But for its two digits: a move that takes the longest time allowed."""
    weak = answers(**given, **{option: "0.001"})
    with pytest.raises(InputError, match="too little") as refusal:
        plan(weak, built(weak))
    least = float(refusal.value.expected.removeprefix("at least "))
    enough, too_little = (answers(**given, **{option: f"{part * least}"}) for part in (1.06, 0.94))
    assert 110 <= plan(enough, built(enough)).duration_s <= 120
    with pytest.raises(InputError, match="too little"):
        plan(too_little, built(too_little))


def test_answers_do_not_change_once_they_are_given():
    for record in (RobotData("fixed"), LinkData(0.3, 1.0, 1.0), Move(8, {}, {}), Question("", "", "", str)):
        with pytest.raises(FrozenInstanceError):
            setattr(record, fields(record)[0].name, None)
