"""Parameters of a session: what parts declare holds the values of every preset."""

import tomllib
from pathlib import Path

import pytest

import granite
from granite.config.errors import InputError
from granite.config.tuning import TunedParameter
from granite.tuning.parameters import listed, resolve
from granite.tuning.toml_text import with_numbers
from tests.support.analytic_studies import STIFFNESS


@pytest.mark.parametrize("name", [preset.name for preset in granite.presets()])
def test_the_list_of_every_preset_has_bounds_around_its_values(name: str):
    for one in listed(granite.load(name)):
        assert one.lower < one.upper
        assert one.now is None or one.now <= 0 or one.lower <= one.now <= one.upper


def test_bounds_that_a_part_declares_are_widened_for_the_testbeds_own_value():
    usual = resolve(granite.load("free-flyer"), TunedParameter(key=STIFFNESS))
    wide = resolve(granite.load("free-flyer", {STIFFNESS: 9.0}), TunedParameter(key=STIFFNESS))
    assert (usual.lower, usual.upper) == pytest.approx((0.032, 6.4))
    assert (wide.lower, wide.upper, wide.start) == pytest.approx((0.032, 9.0, 9.0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lower": 2.5, "upper": 2.6}, r"lower = 2.5: expected a whole number between it and upper = 2.6"),
        ({"lower": 1.0, "upper": 9.0, "start": 2.5}, "start = 2.5: expected a whole number, because"),
    ],
)
def test_a_key_of_whole_numbers_needs_whole_numbers(given: dict[str, float], words: str):
    with pytest.raises(granite.InputError, match=words):
        resolve(granite.load("free-flyer"), TunedParameter(key="safety.burst_overruns", **given))


def test_a_number_that_is_written_as_a_whole_one_may_take_others():
    mass = "simulation.plant.modules.vehicle.bodies.base.mass_kg"
    parameter = resolve(granite.load("free-flyer", {mass: 60}), TunedParameter(key=mass, lower=40.5, upper=60.5))
    assert (parameter.is_whole, parameter.lower, parameter.upper) == (False, 40.5, 60.5)


def test_bounds_of_the_table_are_kept():
    bed, table = granite.load("free-flyer"), TunedParameter(key=STIFFNESS, lower=0.1, upper=0.5, start=0.2)
    assert resolve(bed, table)[1:3] == (0.1, 0.5)


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
