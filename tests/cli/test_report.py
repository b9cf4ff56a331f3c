"""Tables show every name, number and unit whole, on a narrow terminal as in a pipe."""

import io
import re

import pytest
from rich.console import Console

from granite.cli.report.beds import beds_tables
from granite.cli.report.hardware import doctor_table
from granite.cli.report.info import replay_lines
from granite.cli.report.run import run_tables
from granite.cli.report.testbed import bed_tables
from granite.config.catalogue import catalogue
from granite.config.errors import InputError
from granite.config.loader import load, presets
from granite.rt.checks.doctor import Finding
from granite.rt.replay import Difference, Replay
from granite.rt.run_in_memory import simulate_in_memory
from granite.views.table import put
from tests.support.jointed_beds import bar_between_arms, box_in_space, free_flyer_and_bar

WIDTHS = [40, 60, 80, 200]
BED = load("two-arm-free-flyer", ["loop.duration_s=0.2"])
NAMES = [c.name for c in BED.known.positions]
LONG = "a_joint_with_a_name_that_nobody_would_want_to_type"


def printed(tables, width: int = 80, **options) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, **options)
    put(console, tables)
    return console.file.getvalue()


def words(text: str) -> list[str]:
    return text.split()


@pytest.fixture(scope="module")
def summary() -> dict:
    log = simulate_in_memory(BED)
    added = {"wall_s": 1.0, "real_time_factor": 30.0, "model": "compiled"}
    asked = {"priority": "in force", "lock_memory": "refused: [Errno 12] Cannot allocate memory"}
    return {**log.summary, **added, "asked_of_the_system": asked}


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_is_shown_with_whole_names_numbers_and_units(summary: dict, width: int):
    text = printed(run_tables({**summary, "mode": "realtime"}), width)
    assert "…" not in text
    shown = words(text)
    for name in NAMES:
        assert name in shown
        for number in (summary["tracking_error"][name]["max"], summary["estimation_error"][name]["max"]):
            assert f"{1e3 * number:.3g}" in shown
    for step, times in summary["timing"].items():
        assert step in shown
        assert f"{times['p99_us']:.1f}" in shown
    assert shown.count("[us]") == 3
    assert "against the truth" in " ".join(shown)
    assert "refused: [Errno 12] Cannot allocate memory" in " ".join(shown)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_bed_is_shown_with_whole_names_and_units(width: int):
    text = printed(bed_tables(BED), width)
    assert "…" not in text
    shown = words(text)
    assert {*NAMES, *(body.name for body in BED.modules[0].bodies)} <= set(shown)
    said = " ".join(shown)
    for part in ("[kg]", "[kg m2]", "[1/s2]", "[1/s]", "along [-1, 0] at [0.13, 0.13] m", "left_elbow_rad"):
        assert all(word in shown or word in said for word in part.split()), part


@pytest.mark.parametrize("width", WIDTHS)
def test_every_bed_that_can_be_run_is_listed_as_it_is_typed(width: int):
    shown = words(printed([*beds_tables(catalogue())], width))
    for name, _, variants in presets():
        assert name in shown
        assert {variant for variant, _ in variants} <= set(shown)


def test_a_table_that_fits_is_as_wide_as_the_terminal_at_most(summary: dict):
    tables = [*run_tables(summary), *bed_tables(BED), *beds_tables(catalogue())]
    for width in (72, 80, 120):
        assert max(map(len, printed(tables, width).splitlines())) <= width


def test_a_name_longer_than_the_terminal_makes_the_table_wider(summary: dict):
    error = {LONG: summary["tracking_error"]["base_x"]}
    estimate = {LONG: summary["estimation_error"]["base_x"]}
    text = printed(run_tables({**summary, "tracking_error": error, "estimation_error": estimate}), 40)
    row = next(line for line in text.splitlines() if LONG in line)
    assert f"{1e3 * error[LONG]['rms']:.3g}" in row


def test_brackets_are_not_taken_for_markup():
    bed = BED.model_copy(update={"title": "[bold]mine[/bold] :apple:"})
    assert "[bold]mine[/bold] :apple:" in printed(bed_tables(bed))


def test_a_run_without_a_row_or_with_numbers_gone_wild_is_still_shown(summary: dict):
    text = printed(run_tables({"ended": "fault", "text": "an exception was raised inside the loop", "ticks": 0}))
    assert "fault: an exception was raised inside the loop" in text
    wild = {name: {"unit": "m", "max": None, "rms": None, "max_in_last_5_s": None} for name in NAMES}
    propellant = {**summary["propellant"], "impulse_n_s": None, "mass_g": None}
    shown = words(printed(run_tables({**summary, "tracking_error": wild, "propellant": propellant})))
    assert shown.count("-") >= 3 * len(NAMES)


def test_without_truth_there_is_no_column_for_the_error_of_the_estimate(summary: dict):
    hardware = {**summary, "measured_against": "estimate", "estimation_error": {}}
    text = printed(run_tables(hardware))
    assert "Tracking error against the estimate" in text
    assert "of the estimate" not in text


def test_in_a_pipe_there_are_no_control_characters_and_without_colour_no_colour():
    table = doctor_table([Finding("compiler", "missing", "no cc", "Install a C compiler.")])
    assert re.search(r"[^\n -~─]", printed([table])) is None
    assert "\x1b[31mmissing" in printed([table], force_terminal=True, color_system="standard", _environ={})
    plain = printed([table], force_terminal=True, color_system="standard", _environ={"NO_COLOR": "1"})
    assert "\x1b[3" not in plain
    assert "Install a C compiler." in plain


def test_a_replay_says_where_it_differs_where_it_ended_and_that_the_log_is_cut():
    difference = Difference(150, 0.75, "/command", "elbow_torque_n_m", 0.1, 0.30000000000000004)
    assert list(replay_lines(Replay(151, 1510, difference, None), True)) == [
        "first difference at tick 150 (t = 0.750000 s): /command elbow_torque_n_m was 0.1, is now 0.30000000000000004"
    ]
    assert list(replay_lines(Replay(100, 1000, None, None), True)) == ["identical to the bit: 100 ticks, 1000 values"]
    assert "after tick 99" in list(replay_lines(Replay(100, 1000, None, 99), True))[1]
    assert "is truncated" in list(replay_lines(Replay(100, 1000, None, None), False))[1]
    assert "is truncated" in list(replay_lines(Replay(151, 1510, difference, None), False))[1]
    assert list(replay_lines(Replay(0, 0, None, -1), True)) == [
        "nothing replayed: the first rows of the run are missing in the log"
    ]


def titles(tables) -> list[str]:
    return [str(table.title) for table in tables]


def row(tables, title: str, name: str) -> list[str]:
    """The words of the line that begins with this name."""
    text = printed([table for table in tables if table.title == title], 200)
    return next(words(line) for line in text.splitlines() if words(line)[:1] == [name])


@pytest.mark.parametrize("name", [name for name, _, _ in presets()])
def test_every_preset_can_be_shown(name: str):
    bed = load(name)
    tables = list(bed_tables(bed))
    shown = words(printed(tables))
    assert {c.name for c in bed.positions} <= set(shown)
    assert {contact.name for contact in bed.contacts} <= set(shown)
    columns = bed.control.law.columns(bed) if bed.controller else {}
    assert ("stiffness [1/s2]" in printed(tables, 200)) == ("stiffness [1/s2]" in columns)


def test_a_flexible_link_weighs_what_its_hub_beam_and_tip_do():
    tables = list(bed_tables(load("mrds-1", ["modules.arm.bodies.link.flexible.tip_mass_kg=0.05"])))
    assert row(tables, tables[0].title, "link")[:2] == ["link", "0.498"]
    link = row(tables, "Flexible links", "link")
    assert link == ["link", "1", "0.448", "EI", "3.7333", "2", "y", "cantilever,", "0.05", "kg", "at", "the", "tip"]


def test_a_contact_is_shown_with_both_sides_and_the_directions_it_holds():
    tables = list(bed_tables(bar_between_arms()))
    grip = row(tables, "Contacts", "left_grip")
    assert grip == ["left_grip", "revolute", "left", "tip", "bar", "a", "x,", "y", "-"]
    grasp = row(list(bed_tables(box_in_space())), "Contacts", "grasp")
    assert " ".join(grasp) == "grasp rigid_grasp arm hand box handle x, y, z, rx, ry, rz -"


def test_a_contact_of_no_kind_is_refused_by_name():
    bed = bar_between_arms()
    glued = bed.contacts[0].model_copy(update={"kind": "glue"})
    with pytest.raises(InputError, match=r"left_grip.*glue"):
        list(bed_tables(bed.model_copy(update={"contacts": (glued,)})))


def test_torques_over_time_and_holds_are_shown_as_they_are():
    torques = {
        "left_joint": {"amplitude_n_m": 0.1, "period_s": 3.0},
        "right_joint": {
            "offset_n_m": 0.5,
            "amplitude_n_m": -2.0,
            "period_s": 1.0,
            "phase_rad": -0.1,
            "from_s": 0.1,
            "until_s": 0.2,
        },
    }
    holds = [{"from_s": 0.0, "closed": ["left_grip"]}, {"from_s": 0.2, "closed": []}]
    tables = list(bed_tables(bar_between_arms(behaviour={"torques": torques, "holds": holds})))
    said = " ".join(words(printed(tables, 200)))
    assert "torque of left_joint 0.1 sin(2 pi t / 3 s) N m" in said
    assert "torque of right_joint 0.5 -2 sin(2 pi t / 1 s -0.1) N m from 0.1 s until 0.2 s" in said
    assert "from 0 s closed: left_grip from 0.2 s closed: no contact" in said
    assert "moves freely" in printed(bed_tables(bar_between_arms()))


def test_what_the_controllers_do_not_know_of_the_lab_is_shown():
    bed = load(
        "free-flyer",
        [
            "simulation.plant.modules.vehicle.bodies.base.mass_kg=60",
            'simulation.events=[{kind="fault", at_s=5.0, device="thrusters", what="dead", unit="r2"}, '
            '{kind="push", at_s=1.0, body="base", force_n=[0.5, 0.0], duration_s=2.0}]',
        ],
    )
    shown = printed([table for table in bed_tables(bed) if table.title == "Simulated lab"], 200)
    lines = [" ".join(words(line)) for line in shown.splitlines()[3:]]
    assert lines[0].startswith("plant modules.vehicle.bodies.base.mass_kg 60, which the controllers do not know")
    assert lines[1].startswith('from 1 s push, body "base", duration_s 2.0, force_n [0.5, 0.0]')
    assert lines[2].startswith('from 5 s fault, device "thrusters", what "dead", unit "r2"')
    assert "Simulated lab" not in titles(bed_tables(load("free-flyer")))


def test_contacts_that_the_model_of_the_controllers_lacks_are_named():
    changes = {
        "controller": {"modules": ["left", "right"]},
        "devices.joint_sensors": {"joints": ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"]},
        "behaviour": {},
    }
    shown = " ".join(words(printed(bed_tables(load("fixed-dual-arm/open-loop", changes)), 200)))
    assert "contacts not in the model left_grip, right_grip: their forces are disturbances" in shown
    known = {**changes, "controller.objects": ["object"], "devices.vision": {"module": "object", "body": "body"}}
    always = " ".join(words(printed(bed_tables(load("fixed-dual-arm/open-loop", known)), 200)))
    assert "contacts not in the model" not in always


def test_a_velocity_at_the_start_is_shown_and_an_unturned_quaternion_is_one():
    bed = box_in_space(simulation={"initial": {"box_body_wz_rad_s": 0.5}})
    tables = list(bed_tables(bed))
    assert row(tables, "Degrees of freedom", "box_body_wz") == ["box_body_wz", "rad/s", "0.5"]
    assert row(tables, "Degrees of freedom", "box_body_qw") == ["box_body_qw", "1", "1"]
    assert "box_body_wx" not in printed(tables)


def test_beside_a_controller_only_its_own_coordinates_have_gains():
    tables = list(bed_tables(free_flyer_and_bar()))
    assert row(tables, "Degrees of freedom", "bar_body_x")[-3:] == ["-", "-", "-"]
    stiffness, damping = free_flyer_and_bar().control.law.gain("vehicle_elbow", True)
    assert row(tables, "Degrees of freedom", "vehicle_elbow")[-3:] == [f"{stiffness:g}", f"{damping:g}", "-"]
    assert row(tables, "Degrees of freedom", "vehicle_base_x")[-2:] == ["0.16,", "0.65"]


def test_a_run_without_controller_and_thrusters_has_neither_tracking_nor_propellant(summary: dict):
    nothing = {"impulse_n_s": 0.0, "mass_g": 0.0, "pulses": 0, "by_thruster_n_s": {}}
    free = {**summary, "tracking_error": {}, "estimation_error": {}, "propellant": nothing, "applied": {}}
    tables = list(run_tables(free))
    assert titles(tables) == ["Run"]
    assert "propellant" not in printed(tables)
    assert "propellant" in printed(run_tables(summary))


def test_the_largest_torques_are_shown_with_their_part_of_the_limit(summary: dict):
    applied = {"motors_elbow_torque": {"unit": "N m", "max": 3.0, "limit": 40.0}}
    tables = list(run_tables({**summary, "applied": applied}))
    assert row(tables, "Actuators", "motors_elbow_torque") == ["motors_elbow_torque", "3", "7.5", "N", "m"]


def test_what_contacts_bore_and_what_happened_to_them_is_shown(summary: dict):
    contacts = {"grip": {"force": {"unit": "N", "max": 12.5}, "moment": {"unit": "N m", "max": None}, "closed_s": 3.0}}
    change = {"t_s": 1.25, "contact": "grip", "what": "closed", "impulse": 0.5, "energy_lost_j": 0.03}
    felt = {"contacts": contacts, "squeeze": {"bar": {"unit": "N, N m/m", "max": 4.0}}, "switching": [change]}
    tables = list(run_tables({**summary, **felt}))
    assert row(tables, "Contacts", "grip") == ["grip", "12.5", "-", "3"]
    assert row(tables, "Internal force (squeeze)", "bar") == ["bar", "4", "N,", "N", "m/m"]
    assert row(tables, "Changes of contacts", "1.25") == ["1.25", "grip", "closed", "0.5", "0.03"]
    often = {**felt, "switching": [change] * 500}
    text = printed(run_tables({**summary, **often}))
    assert "the first 20 of 500 times" in " ".join(words(text))
    assert words(text).count("1.25") == 20


def test_an_audit_says_what_did_not_hold(summary: dict):
    checks = {
        "energy": {
            "unit": "relative to the largest kinetic energy or work",
            "largest": 2e-9,
            "limit": 1e-8,
            "held": True,
        },
        "gap": {"unit": "m, rad", "largest": 1e-3, "limit": 1e-6, "held": False},
    }
    tables = list(run_tables({**summary, "audit": {"held": False, "checks": checks}}))
    title = "Audit: a check FAILED"
    assert row(tables, title, "gap") == ["gap", "1.00e-03", "1e-06", "NO", "m,", "rad"]
    assert row(tables, title, "energy")[:4] == ["energy", "2.00e-09", "1e-08", "yes"]
    held = {"held": True, "checks": {"energy": checks["energy"]}}
    assert "Audit: all checks passed" in titles(run_tables({**summary, "audit": held}))


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_of_many_modules_cut_no_name(width: int):
    bed = bar_between_arms()
    shown = words(printed(bed_tables(bed), width))
    assert {"left_grip", "right_grip", "revolute", "bar_body_heading"} <= set(shown)


def test_tracking_errors_are_in_millimetres_and_milliradians(summary):
    text = printed(run_tables(summary), 200)
    for name, error in summary["tracking_error"].items():
        shown = re.escape(f"{1e3 * error['max']:.3g}")
        unit = {"m": "mm", "rad": "mrad"}[error["unit"]]
        assert re.search(rf"^{name} +{unit} +{shown} ", text, re.MULTILINE)
