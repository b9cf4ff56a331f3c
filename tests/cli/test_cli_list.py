"""What a newcomer meets first: the list of testbeds, and what is said of a name that is not quite right."""

import subprocess
import sys
from pathlib import Path

import pytest

from granite.cli.report.run import run_tables
from granite.config.catalogue import catalogue
from granite.config.loader import load, presets
from tests.support.command_line import granite, sentence_of

__all__ = ["granite"]

SLOW_IMPORTS = ("granite.sim", "granite.mrds", "casadi", "scipy", "matplotlib", "foxglove")


def test_the_first_presets_are_the_platforms_a_newcomer_can_fly(granite):
    said = granite("list")
    assert (said.code, said.err) == (0, "")
    names = [line.split()[0] for line in said.out.splitlines()[3:] if line[:1].strip()]
    assert names[:4] == ["free-flyer", "atmos", "spot", "astrobee"]


def test_the_list_is_short_and_names_every_bed_that_is_not_for_validation(granite):
    said = granite("list")
    lines, words = said.out.splitlines(), set(said.out.replace(",", " ").split())
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert "granite list --all" in lines[-1]
    for listed in (listed for beds in catalogue().values() for listed in beds):
        assert (listed.name in words) == (listed.use != "validation")
        assert listed.use == "validation" or {*listed.variants} <= words


def test_the_whole_list_fits_eighty_columns_and_has_every_bed(granite):
    said = granite("list", "--all")
    assert max(map(len, said.out.splitlines())) <= 80
    for preset in presets():
        assert f"\n{preset.name} " in said.out
        assert all(f"\n  {variant} " in said.out for variant, _ in preset.variants)


@pytest.mark.parametrize("group", ["Controlled testbeds", "Open-loop systems", "Validation systems"])
def test_what_the_list_says_of_a_bed_is_so(group):
    for listed in catalogue()[group]:
        is_controlled = False
        variants = {f"{listed.name}/{variant}": traits for variant, traits in listed.variants.items()}
        for name, traits in {listed.name: listed.traits, **variants}.items():
            bed = load(name)
            assert traits.title == bed.title
            assert traits.base == bool(bed.controller and bed.thrusters)
            assert traits.joints == (len(bed.motors) if bed.controller else 0)
            assert traits.spatial != bed.planar
            assert traits.flexible == any(body.flexible for module in bed.modules for body in module.bodies)
            is_controlled |= bed.controller is not None
            assert (bed.use == "validation") == (group == "Validation systems")
        if group != "Validation systems":
            assert is_controlled == (group == "Controlled testbeds")


def test_a_variant_that_is_a_preset_of_its_own_is_listed(granite):
    beds = {bed["bed"]: bed for bed in granite("list", "--json").json}
    catch = beds["two-arm-free-flyer"]["variants"]["catch"]
    assert catch["title"] == beds["two-arm-catch"]["title"] == load("two-arm-free-flyer/catch").title
    assert "\n  catch " in granite("list", "--all").out


def test_the_list_is_json_for_scripts(granite):
    beds = {bed["bed"]: bed for bed in granite("list", "--json").json}
    assert len(beds) == len(presets())
    assert beds["spot"]["controls"] == "base"
    assert beds["spot"]["variants"]["arm"]["controls"] == "base, 3 joints"
    assert beds["mrds-1"]["use"] == "validation"


def test_the_list_comes_without_the_simulation(tmp_path: Path):
    code = (
        "import sys; from granite.cli.testbeds import list_beds; import granite.cli; list_beds();"
        f"print([name for name in {SLOW_IMPORTS} if name in sys.modules], file=sys.stderr)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_misspelt_preset_gets_the_guess_first_and_no_long_list(granite):
    sentence = sentence_of(granite("sim", "free-flier"))
    assert "no preset 'free-flier', expected 'free-flyer' (or one of " in sentence
    assert "mrds-1" not in sentence


def test_a_file_whose_suffix_was_left_out_is_the_guess(granite, tmp_path):
    (tmp_path / "mine.toml").touch()
    assert "expected 'mine.toml'" in sentence_of(granite("sim", "mine"))


MISSING = {
    "folder of a bed": (("sim", "no/where/my.toml"), "no directory 'no'"),
    "file of a variant": (("sim", "my.toml/heavy"), "no such file 'my.toml'"),
    "file as a folder": (("sim", "text/my.toml"), "no directory 'text', because that is a file"),
    "folder of a log": (("plot", "no/a.mcap"), "no directory 'no'"),
    "folder of an output": (("sim", "atmos", "--out", "no/way/a.mcap"), "no directory 'no'"),
}


@pytest.mark.parametrize(("arguments", "said"), MISSING.values(), ids=MISSING)
def test_the_part_of_a_path_that_is_missing_is_named(granite, tmp_path, arguments, said):
    (tmp_path / "text").touch()
    assert said in sentence_of(granite(*arguments))


def test_a_byte_order_mark_is_no_part_of_a_testbed(tmp_path):
    text = "name = 'a'\ntitle = 'a'\nloop.duration_s = 1\n[[modules]]\nname = 'm'\ndimension = 'planar'\n"
    text += "base = 'floating'\nbodies = [{ name = 'b', mass_kg = 1, inertia_kg_m2 = 1 }]\n"
    (tmp_path / "bom.toml").write_text(text, encoding="utf-8-sig")
    assert load(tmp_path / "bom.toml").loop.period_s == 0.005


@pytest.mark.parametrize(("mode", "there"), [("virtual", False), ("realtime", True)])
def test_the_time_of_each_step_is_printed_only_in_real_time(mode, there):
    times = {"tick": {"median_us": 1.0, "p99_us": 2.0, "max_us": 3.0}}
    summary = {"ended": "completed", "text": "the run reached its end", "mode": mode, "timing": times}
    assert any(table.title == "Time of each step" for table in run_tables(summary)) == there


@pytest.mark.slow
def test_a_behaviour_names_a_variant(granite, monkeypatch):
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")  # ten seconds for a run of ten ticks
    said = granite("sim", "two-arm-free-flyer", "--behaviour", "catch", "--duration", "0.05", "--json")
    assert said.code == 0
    assert "two-arm-catch" in said.out
    refused = sentence_of(granite("sim", "two-arm-free-flyer", "--behaviour", "jump"))
    assert "two-arm-free-flyer/jump: no variant 'jump'" in refused
