"""Parts that a testbed names: built in, in a file of a user, or an entry point of an installed package."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from granite.config import loader, parts
from granite.config.errors import InputError
from granite.config.law import LawTable
from granite.config.loader import changed, from_json, load, to_json
from granite.config.parts import (
    BUILT_IN,
    FAMILIES,
    OpaquePart,
    PartTable,
    build,
    find,
    options_of,
    parts_in,
    registry,
    sources,
)
from granite.controllers.laws.computed_torque import ComputedTorque

LAW = """
import numpy as np
from granite.config.base import Positive
from granite.config.parts import PartTable
from granite.config.records import Demand

class Nothing:
    \"\"\"A law that demands a constant acceleration.\"\"\"

    class Options(PartTable):
        acceleration_m_s2: Positive = 0.5

    def __init__(self, options, model):
        self.options, self.n = options, model.n

    def control(self, state, reference):
        return Demand(state.t, np.full(self.n, self.options.acceleration_m_s2), np.zeros(self.n), np.zeros(3))

class Mute:
    \"\"\"Without the method of a law.\"\"\"

class Bare:
    def control(self, state, reference): ...

class Odd:
    class Options:
        pass
    def control(self, state, reference): ...

class Picky(Bare):
    class Options(PartTable):
        body: str = "base"

    @staticmethod
    def check(options, bed):
        from granite.config.errors import InputError
        bodies = [body.name for body in bed.modules[0].bodies]
        if options.body not in bodies:
            raise InputError("no such body", key="body", value=options.body, expected=", ".join(bodies))
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a testbed and the law of a user beside it; what is typed names files from there."""
    monkeypatch.chdir(tmp_path)
    preset = load("free-flyer")
    text = (Path(parts.__file__).parent / "testbeds" / "free-flyer.toml").read_text()
    assert preset.name in text
    before, after = text.split("[controller.law.gains]")[0], text[text.index("[controller.allocation]") :]
    (tmp_path / "bed.toml").write_text(f'{before}\n[controller.law]\nkind = "laws.py:Nothing"\n\n{after}')
    (tmp_path / "laws.py").write_text(LAW)
    return tmp_path


def refused(lab: Path, *overrides: str) -> InputError:
    with pytest.raises(InputError) as refusal:
        load(str(lab / "bed.toml"), overrides)
    return refusal.value


# --- built in ---------------------------------------------------------------------------------------------------


KINDS = [(family, kind) for family in FAMILIES if family != "contact" for kind in registry(family)]


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_every_registered_part_is_there_with_the_methods_of_its_family(family: str, kind: str) -> None:
    part = find(family, kind)
    assert all(callable(getattr(part, verb)) for verb in FAMILIES[family].verbs)
    assert issubclass(options_of(family, part), PartTable)


def test_a_name_alone_is_a_table_with_its_kind() -> None:
    named = load("free-flyer", ["controller.allocation.sharing=best_pattern"]).control.allocation.sharing
    written = load("free-flyer", ["controller.allocation.sharing={kind='best_pattern'}"]).control.allocation.sharing
    assert named == written
    assert (named.kind, getattr(named, "propellant_weight")) == ("best_pattern", 0.0)  # noqa: B009


def test_a_table_without_a_kind_is_of_the_usual_one() -> None:
    bed = load("free-flyer")
    assert (bed.control.law.kind, bed.control.estimator.kind, bed.behaviour.kind) == (
        "computed_torque",
        "kalman",
        "waypoints",
    )


def test_the_refusal_of_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(InputError) as refusal:
        load("free-flyer", ["controller.law.kind=computed_torqe"])
    error = refusal.value
    assert (error.key, error.value, error.problem) == ("controller.law.kind", "computed_torqe", "no such law")
    assert "did you mean 'computed_torque'?" in error.expected
    assert "FILE.py:NAME" in error.expected


# --- in a file --------------------------------------------------------------------------------------------------


def test_a_part_in_a_file_beside_the_testbed_is_found_with_its_options(lab: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir("/")
    law = load(str(lab / "bed.toml"), ["controller.law.acceleration_m_s2=2"]).control.law
    assert law.kind == f"{lab / 'laws.py'}:Nothing"
    assert getattr(law, "acceleration_m_s2") == 2.0  # noqa: B009


def test_a_part_is_built_from_its_options(lab: Path) -> None:
    class Model:
        n = 5

    law = build("law", load(str(lab / "bed.toml")).control.law, Model())
    assert (law.n, law.options.acceleration_m_s2) == (5, 0.5)


def test_a_part_without_options_takes_none(lab: Path) -> None:
    assert load(str(lab / "bed.toml"), ["controller.law=laws.py:Bare"]).control.law.kind.endswith("laws.py:Bare")
    error = refused(lab, "controller.law={kind='laws.py:Bare', gain=1}")
    said = ("controller.law.gain", "unknown key", "one of kind, allow_unstable")
    assert (error.key, error.problem, error.expected) == said


def test_an_option_that_is_out_of_range_is_refused_with_its_whole_key(lab: Path) -> None:
    error = refused(lab, "controller.law.acceleration_m_s2=-1")
    assert (error.key, error.value) == ("controller.law.acceleration_m_s2", -1)
    assert error.expected == "a number greater than 0"


def test_the_refusal_of_an_unknown_option_names_those_of_the_users_class(lab: Path) -> None:
    error = refused(lab, "controller.law.acceleration_g=1")
    assert (error.key, error.problem) == ("controller.law.acceleration_g", "unknown key")
    assert error.expected.startswith("acceleration_m_s2, because the unit")


def test_a_law_may_look_at_the_testbed_and_is_heard_with_its_whole_key(lab: Path) -> None:
    load(str(lab / "bed.toml"), ["controller.law={kind='laws.py:Picky', body='forearm'}"])
    error = refused(lab, "controller.law={kind='laws.py:Picky', body='wheel'}")
    assert (error.key, error.value, error.expected) == ("controller.law.body", "wheel", "base, upper_arm, forearm")


def test_a_plain_error_of_a_users_validator_is_reported_with_its_key(lab: Path) -> None:
    check = "\n        @field_validator('acceleration_m_s2')\n        def _(cls, a): raise ValueError('too fast')\n"
    option = "acceleration_m_s2: Positive = 0.5"
    (lab / "laws.py").write_text("from pydantic import field_validator\n" + LAW.replace(option, option + check))
    error = refused(lab, "controller.law.acceleration_m_s2=2.0")
    assert (error.key, error.value, error.problem) == ("controller.law.acceleration_m_s2", 2.0, "too fast")


def test_a_file_that_is_not_there_is_named(lab: Path) -> None:
    error = refused(lab, "controller.law=lwas.py:Nothing")
    assert error.key == "controller.law.kind"
    assert error.problem == f"no file '{lab / 'lwas.py'}'"


def test_the_path_of_a_part_starts_at_its_file_or_where_it_was_typed(lab: Path, monkeypatch: Any) -> None:
    elsewhere = lab / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    load("../bed.toml")
    with pytest.raises(InputError, match="relative to the testbed's file, in --set to the current folder") as refusal:
        load("../bed.toml", ["controller.law=laws.py:Nothing"])
    assert refusal.value.problem == f"no file '{elsewhere / 'laws.py'}'"
    load("../bed.toml", ["controller.law=../laws.py:Nothing"])
    load("../bed.toml", {"controller.law": "../laws.py:Nothing"})


def test_a_class_that_is_not_there_is_named_with_those_that_are(lab: Path) -> None:
    error = refused(lab, "controller.law=laws.py:Nothin")
    assert (error.key, error.problem) == ("controller.law.kind", "'laws.py' has no 'Nothin'")
    assert "did you mean 'Nothing'?" in error.expected


def test_a_class_without_the_method_of_its_family_is_refused(lab: Path) -> None:
    error = refused(lab, "controller.law=laws.py:Mute")
    assert error.key == "controller.law.kind"
    assert "no method `control`" in error.problem
    assert "no method `estimate`" in refused(lab, "controller.estimator=laws.py:Nothing").problem


def test_a_law_whose_options_are_of_any_part_has_the_methods_of_a_law(lab: Path) -> None:
    bed = load(str(lab / "bed.toml"))
    assert isinstance(bed.control.law, LawTable)
    assert bed.control.law.followed(bed) == tuple(module.name for module in bed.controlled)
    law = options_of("driver", find("law", bed.control.law.kind))(kind=bed.control.law.kind)
    assert not isinstance(law, LawTable)
    assert bed.control.model_validate({**dict(bed.control), "law": law}).law == bed.control.law


def test_only_a_law_has_the_methods_of_a_law() -> None:
    tables = {(family, kind): options_of(family, find(family, kind)) for family, kind in KINDS}
    assert {family for (family, _), table in tables.items() if hasattr(table, "live_gains")} == {"law"}


def test_options_that_are_no_table_are_refused(lab: Path) -> None:
    error = refused(lab, "controller.law=laws.py:Odd")
    assert (error.key, error.expected) == ("controller.law.kind", "a subclass of PartTable")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("class (", "SyntaxError"),
        ("import granite\n1 / 0", "ZeroDivisionError: division by zero (at laws.py:2)"),
    ],
)
def test_a_file_that_can_not_be_imported_is_refused_with_the_reason(lab: Path, text: str, said: str) -> None:
    (lab / "laws.py").write_text(text)
    error = refused(lab)
    assert error.key == "controller.law.kind"
    assert f"can't be imported: {said}" in error.problem


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("\0.py:Law", "no file '\0.py'"),
        ("a" * 300 + ".py:Law", "no file "),
        ("\ud800.py:Law", "'\\ud800.py:Law' is no text: half of a character"),
    ],
)
@pytest.mark.parametrize("key", ["controller.law", "behaviour", "controller.estimator.kind"])
def test_a_name_that_no_file_can_have_is_refused(name: str, key: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        changed(load("free-flyer"), {key: name})
    assert said in refusal.value.problem


def test_a_calibration_with_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(InputError):
        changed(load("free-flyer"), {"devices.motors.calibration": "\0.toml"})


def test_a_file_that_has_changed_is_read_again(lab: Path) -> None:
    load(str(lab / "bed.toml"))
    (lab / "laws.py").write_text(LAW.replace("acceleration_m_s2: Positive = 0.5", "acceleration_m_s2: Positive = 0.7"))
    assert getattr(load(str(lab / "bed.toml")).control.law, "acceleration_m_s2") == 0.7  # noqa: B009


def test_a_device_that_is_no_table_of_one_is_refused(lab: Path) -> None:
    (lab / "devices.py").write_text("class Lamp:\n    def signals(self, bed): return ()\n")
    error = refused(lab, "devices.lamp={kind='devices.py:Lamp'}")
    assert (error.key, error.expected) == ("devices.lamp.kind", "a subclass of Device")


# --- an entry point ---------------------------------------------------------------------------------------------


class Point(NamedTuple):
    """Stands for an entry point of an installed package."""

    name: str
    part: Any

    def load(self) -> Any:
        if isinstance(self.part, Exception):
            raise self.part
        return self.part


class InstalledLaw:
    class Options(LawTable):
        strength: float = 1.0

    def control(self, state: Any, reference: Any) -> None: ...


def install(monkeypatch: pytest.MonkeyPatch, *points: Point) -> None:
    monkeypatch.setattr(parts, "_installed", lambda family: points if family == "law" else ())


def test_an_entry_point_is_a_kind_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("sliding_mode", InstalledLaw))
    law = load("free-flyer", ["controller.law={kind='sliding_mode', strength=3.0}"]).control.law
    assert law == InstalledLaw.Options(kind="sliding_mode", strength=3.0)
    with pytest.raises(InputError) as refusal:
        load("free-flyer", ["controller.estimator.kind=sliding_mode"])
    assert refusal.value.key == "controller.estimator.kind"


def test_what_comes_with_granite_is_not_replaced_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("computed_torque", InstalledLaw))
    assert find("law", "computed_torque") is not InstalledLaw


def test_an_entry_point_that_can_not_be_loaded_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("sliding_mode", ImportError("no such module")))
    with pytest.raises(InputError) as refusal:
        load("free-flyer", ["controller.law={kind='sliding_mode'}"])
    assert (refusal.value.key, refusal.value.value) == ("controller.law.kind", "sliding_mode")
    assert "ImportError: no such module" in refusal.value.problem


# --- in a log ---------------------------------------------------------------------------------------------------


def test_the_sources_of_a_testbed_are_the_hashes_of_its_files(lab: Path) -> None:
    assert sources(load("free-flyer")) == {}
    file = lab / "laws.py"
    assert sources(load(str(lab / "bed.toml"))) == {str(file): hashlib.sha256(file.read_bytes()).hexdigest()}


def test_parts_are_found_wherever_they_stand() -> None:
    kinds = [part.kind for part in parts_in(load("free-flyer"))]
    devices, allocation = ["joint_sensors", "vision", "motors", "thrusters"], ["pseudo_inverse", "delta_sigma"]
    assert sorted(kinds) == sorted([*devices, *allocation, "kalman", "computed_torque", "waypoints"])


def test_a_testbed_with_a_users_part_comes_back_the_same(lab: Path) -> None:
    bed = load(str(lab / "bed.toml"), ["controller.law.acceleration_m_s2=2"])
    again = from_json(to_json(bed))
    assert again == bed.model_copy(update={"tuning": None})
    assert type(again.control.law) is type(bed.control.law)


def test_without_its_file_a_part_is_refused_or_kept_as_it_stands(lab: Path) -> None:
    stored = to_json(load(str(lab / "bed.toml"), ["controller.law.acceleration_m_s2=2"]))
    (lab / "laws.py").unlink()
    with pytest.raises(InputError) as refusal:
        from_json(stored, "run.mcap")
    assert (refusal.value.file, refusal.value.key) == ("run.mcap", "controller.law.kind")
    bed = from_json(stored, looked_up=BUILT_IN)
    assert isinstance(bed.control.law, OpaquePart)
    assert bed.control.law.model_dump()["acceleration_m_s2"] == 2.0
    assert to_json(bed) == stored


def test_reading_what_is_stored_runs_no_code_of_a_user(lab: Path) -> None:
    stored = to_json(load(str(lab / "bed.toml")))
    (lab / "laws.py").write_text("raise SystemExit('run')")
    assert isinstance(from_json(stored, looked_up=BUILT_IN).control.law, OpaquePart)


def test_what_is_built_in_is_never_opaque() -> None:
    stored = to_json(load("free-flyer"))
    assert not any(isinstance(part, OpaquePart) for part in parts_in(from_json(stored, looked_up=BUILT_IN)))
    with pytest.raises(InputError) as refusal:
        from_json(stored.replace('"rate_hz":60.0', '"rate_hz":-1'), looked_up=BUILT_IN)
    assert refusal.value.key == "devices.vision.rate_hz"


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
