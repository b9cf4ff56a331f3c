"""Parameters of a session: what parts declare holds the values of every preset."""

import pytest

import granite
from granite.config.tuning import TunedParameter
from granite.tuning.parameters import listed, resolve

STIFFNESS = "controller.law.gains.base.stiffness_1_s2"


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
    found = resolve(granite.load("free-flyer", {mass: 60}), TunedParameter(key=mass, lower=40.5, upper=60.5))
    assert (found.is_whole, found.lower, found.upper) == (False, 40.5, 60.5)


def test_bounds_of_the_table_are_kept():
    bed, table = granite.load("free-flyer"), TunedParameter(key=STIFFNESS, lower=0.1, upper=0.5, start=0.2)
    assert resolve(bed, table)[1:3] == (0.1, 0.5)
