"""One number of a gain, in a variant, a user's file or a change, leaves the other one as it was."""

from pathlib import Path

import pytest

from granite.config import loader
from granite.config.loader import load
from granite.controllers.laws.computed_torque import ComputedTorque

PRESET = (Path(loader.__file__).parent / "testbeds" / "free-flyer.toml").read_text()
BASE = next(line for line in PRESET.splitlines(keepends=True) if line.startswith("base = {"))


def gain(bed: str, *changes: str) -> tuple[float, float]:
    law = load(bed, changes).control.law
    assert isinstance(law, ComputedTorque.Options)
    return law.gain("base_x", is_joint=False)


STIFFNESS, DAMPING = gain("free-flyer")


def test_a_change_of_one_number_inherits_the_other() -> None:
    assert gain("free-flyer", "controller.law.gains.base_x.stiffness_1_s2=1.44") == (1.44, DAMPING)
    assert gain("free-flyer", "controller.law.gains.base_x.damping_1_s=2.0") == (STIFFNESS, 2.0)


@pytest.mark.parametrize(
    ("gains", "inherited"),
    [(BASE, DAMPING), (BASE + "base_x = { stiffness_1_s2 = 1.0, damping_1_s = 3.0 }\n", 3.0), ("", 1.6)],
    ids=["that of its kind", "its own", "the usual one"],
)
def test_a_file_and_its_variant_inherit_the_other_number(gains: str, inherited: float, tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    stiffer = "\n[variants.stiffer]\ncontroller.law.gains.base_x.stiffness_1_s2 = 1.44\n"
    file.write_text(PRESET.replace(BASE, gains) + stiffer)
    assert gain(f"{file}/stiffer") == (1.44, inherited)


def test_one_number_in_a_user_s_file_inherits_the_other(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text(PRESET.replace(BASE, BASE + "base_x = { stiffness_1_s2 = 1.44 }\n"))
    assert gain(str(file)) == (1.44, DAMPING)
