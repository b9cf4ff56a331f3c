"""Numbers in the text of a TOML file: the right ones are replaced, and nothing else."""

import tomllib
from pathlib import Path

import pytest

from granite.config.errors import InputError
from granite.tuning.toml_text import with_numbers
from tests.support.analytic_studies import STIFFNESS

PRESETS = Path(__file__).parents[2] / "config" / "testbeds"
HOLD = "controller.law.hold.gains.base.stiffness_1_s2"
MASS = "modules.vehicle.bodies.forearm.mass_kg"


def test_only_the_numbers_of_the_keys_differ():
    file = PRESETS / "free-flyer.toml"
    text = file.read_text()
    edited = with_numbers(text, {STIFFNESS: 1.25, HOLD: 0.5, MASS: 1.5}, file)
    changed = [pair for pair in zip(text.splitlines(), edited.splitlines(), strict=True) if pair[0] != pair[1]]
    numbers = [[word for word in before.split() if word not in after.split()] for before, after in changed]
    assert [len(before) for before in numbers] == [1, 1, 1]  # one word of a line
    assert [line.split()[0] for line, _ in changed] == ["mass_kg", "base", "gains.base"]
    assert tomllib.loads(edited)["controller"]["law"]["hold"]["gains"]["base"]["stiffness_1_s2"] == 0.5


def test_a_number_in_a_comment_or_a_text_is_left_alone():
    text = '# gain = 1\nnote = """gain = 1"""\n[a]\ngain = 1 # gain = 1\n[b]\ngain = 1\n'
    assert with_numbers(text, {"b.gain": 2.5}, Path("x.toml")) == text[:-2] + "2.5\n"


def test_what_granite_new_says_of_its_own_gains_is_dropped_with_them():
    text = "[a]\ngain = 0.64, # 0.8 rad/s, critically damped\r\n# 0.8 rad/s, critically damped\n"
    text = text.replace(",", "", 1)
    edited = with_numbers(text, {"a.gain": 2.5}, Path("x.toml"))
    assert edited == "[a]\ngain = 2.5\r\n# 0.8 rad/s, critically damped\n"
    kept = "[a]\ngain = 0.64  # measured on the table\n"
    assert with_numbers(kept, {"a.gain": 2.5}, Path("x.toml")) == kept.replace("0.64", "2.5")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\nother = 1\n", "'x.toml' gives no number"),
        ("[a]\ngain = '1'\n", "'x.toml' gives no number"),
        ("[a\n", "'x.toml' is not TOML"),
        ("[a]\n'gain' = 1\n", "'x.toml' can't be edited"),
    ],
)
def test_a_file_that_does_not_have_the_number_is_refused(text: str, words: str):
    with pytest.raises(InputError, match=words):
        with_numbers(text, {"a.gain": 2.0}, Path("x.toml"))
