"""Presets, files, variants and overrides become testbeds; a stored testbed comes back the same."""

from pathlib import Path

import pytest

from granite.config import loader
from granite.config.devices.thrusters import Thrusters
from granite.config.devices.vision import Vision
from granite.config.errors import InputError
from granite.config.loader import from_json, load, presets, to_json
from tests.support.testbeds import NAMES

PRESETS = Path(loader.__file__).parent / "testbeds"


@pytest.mark.parametrize("bed", NAMES)
def test_every_preset_and_variant_loads_under_the_name_it_was_asked_for(bed: str) -> None:
    assert load(bed).name == bed


@pytest.mark.parametrize("bed", NAMES)
def test_a_stored_testbed_comes_back_the_same(bed: str) -> None:
    assert from_json(to_json(load(bed))) == load(bed).model_copy(update={"tuning": None})  # in no log


def test_changes_by_name_keep_the_tuning_table_and_reach_into_it() -> None:
    bed = load("free-flyer")
    assert bed.tuning is not None
    assert load("free-flyer", {"seed": 3}).tuning == bed.tuning
    fewer = load("free-flyer", {"tuning.trials": 7}).tuning
    assert fewer == bed.tuning.model_copy(update={"trials": 7})


def test_presets_are_listed_with_the_titles_of_their_variants() -> None:
    listed = {name: (title, dict(variants)) for name, title, variants in presets()}
    title, variants = listed["free-flyer"]
    assert title == load("free-flyer").title
    assert variants["ideal"] == load("free-flyer/ideal").title


@pytest.mark.parametrize(("bed", "degrees_of_freedom"), [("free-flyer", 5), ("two-arm-free-flyer", 7)])
def test_presets_have_their_degrees_of_freedom(bed: str, degrees_of_freedom: int) -> None:
    assert len(load(bed).velocities) == degrees_of_freedom


def test_the_arms_of_the_two_arm_free_flyer_mirror_each_other() -> None:
    robot = load("two-arm-free-flyer").module("vehicle")
    bodies = {b.name: b for b in robot.bodies}
    joints = {j.name: j for j in robot.joints}
    for link in ("upper_arm", "forearm"):
        left, right = bodies[f"left_{link}"], bodies[f"right_{link}"]
        assert (left.mass_kg, left.inertia_kg_m2) == (right.mass_kg, right.inertia_kg_m2)
        assert left.com_m == (right.com_m[0], -right.com_m[1])
    left_origin, right_origin = joints["left_shoulder"].origin_m, joints["right_shoulder"].origin_m
    assert left_origin == (right_origin[0], -right_origin[1])


@pytest.mark.parametrize(
    "bed", [p.name for p in presets() if hasattr((b := load(p.name)).behaviour, "waypoints") and b.controller]
)
def test_the_move_of_a_preset_stays_within_its_own_limits_and_time(bed: str) -> None:
    testbed = load(bed)
    limits = {f"{limit.joint}_rad": (limit.lower_rad, limit.upper_rad) for limit in testbed.safety.joints}
    for module in testbed.controlled:
        if module.base == "floating":
            assert testbed.safety.table_m is not None
            (x_min, y_min, x_max, y_max), root = testbed.safety.table_m, testbed.layout.name(module, module.root.name)
            limits |= {f"{root}_x_m": (x_min, x_max), f"{root}_y_m": (y_min, y_max)}
    assert limits or all(module.base == "fixed" for module in testbed.controlled)
    waypoints = getattr(testbed.behaviour, "waypoints")  # noqa: B009
    for pose in (testbed.simulation.initial, *(w.target for w in waypoints)):
        for key, (lower, upper) in limits.items():
            if pose is testbed.simulation.initial or key in pose:  # joints of arms that carry have no targets
                assert lower < pose[key] < upper
    assert sum(w.duration_s + w.hold_s for w in waypoints) <= testbed.loop.duration_s


def test_a_variant_changes_what_it_names_and_nothing_else() -> None:
    plain, printed = load("free-flyer"), load("free-flyer/printed-inertias")
    [theirs], [ours] = printed.modules, plain.modules
    assert [b.inertia_kg_m2 for b in theirs.bodies] == [0.13, 0.13, 0.13]
    assert [b.mass_kg for b in theirs.bodies] == [b.mass_kg for b in ours.bodies]
    assert (printed.simulation, printed.devices) == (plain.simulation, plain.devices)


def test_an_empty_table_in_a_variant_clears_the_one_in_the_file() -> None:
    assert load("fixed-dual-arm/open-loop").torques
    assert not load("fixed-dual-arm/carry").torques


def test_a_file_is_read_like_a_preset_with_its_variants(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text((PRESETS / "free-flyer.toml").read_text().replace('name = "free-flyer"', 'name = "mine"'))
    assert load(str(file)).name == "mine"
    assert load(f"{file}/ideal").name == "mine/ideal"
    assert load(f"{file}/ideal").simulation == load("free-flyer/ideal").simulation
    assert load(f"{file}/ideal").devices == load("free-flyer/ideal").devices


def test_an_override_is_a_number_a_word_a_list_or_a_table() -> None:
    bed = load(
        "free-flyer",
        [
            "loop.duration_s = 7",
            "simulation.table.drag=viscous",
            'title="A slow day"',
            "modules.vehicle.bodies.base.com_m=[0, 0.01]",
            "controller.law.gains.elbow={stiffness_1_s2 = 9, damping_1_s = 6}",
        ],
    )
    assert bed.loop.duration_s == 7.0
    assert bed.simulation.table.drag == "viscous"
    assert bed.title == "A slow day"
    assert bed.module("vehicle").root.com_m == (0.0, 0.01)
    assert bed.control.law.columns(bed)["stiffness [1/s2]"]["elbow"] == 9.0


def test_an_override_finds_list_elements_by_name_joint_or_index() -> None:
    bed = load(
        "free-flyer",
        [
            "modules.vehicle.bodies.forearm.mass_kg=1.5",
            "devices.motors.units.elbow.torque_limit_n_m=0.5",
            "safety.joints.elbow.upper_rad=2.0",
            "devices.thrusters.units.r3.failed=true",
            "devices.thrusters.units.0.thrust_n=0.9",
            "modules.0.bodies.1.com_m.0=0.16",
        ],
    )
    [robot], thrusters = bed.modules, bed.thrusters
    assert [b.mass_kg for b in robot.bodies] == [50.0, 1.0, 1.5]
    assert [m.torque_limit_n_m for m in bed.motors] == [2.0, 0.5]
    assert [limit.upper_rad for limit in bed.safety.joints] == [1.9, 2.0]
    assert [u.failed for u in thrusters] == [i == 2 for i in range(8)]
    assert thrusters[0].thrust_n == 0.9
    assert robot.bodies[1].com_m == (0.16, 0.025)


def test_an_override_makes_tables_that_the_file_leaves_out() -> None:
    bed = load("free-flyer", ["recording.ring_rows=64"])
    assert bed.recording.ring_rows == 64


def test_an_override_with_none_takes_an_optional_part_away() -> None:
    bed = load("free-flyer", ["safety.table_m=none", "devices.thrusters.simulated.tank_n_s=none"])
    assert bed.safety.table_m is None
    assert bed.devices_of(Thrusters)["thrusters"].simulated.tank_n_s is None


def test_an_override_with_none_takes_a_device_away() -> None:
    bed = load("free-flyer", ["devices.vision=none", "safety.age_s={}"])
    assert list(bed.sensors) == ["joint_sensors"]


def test_overrides_come_after_the_variant_and_the_last_one_wins() -> None:
    bed = load("free-flyer/ideal", ["simulation.table.ideal=true", "simulation.table.ideal=false"])
    assert not bed.simulation.table.ideal
    assert bed.devices_of(Vision)["vision"].simulated.perfect


def test_a_whole_number_is_a_number() -> None:
    inertia = load("free-flyer", ["modules.vehicle.bodies.base.inertia_kg_m2=1"]).modules[0].root.inertia_kg_m2
    assert (inertia, type(inertia)) == (1.0, float)


def test_a_testbed_does_not_change_after_loading() -> None:
    with pytest.raises(ValueError):
        load("free-flyer").loop.period_s = 1.0  # type: ignore[misc]


def test_stored_text_that_is_cut_off_is_refused_with_its_source() -> None:
    whole = to_json(load("free-flyer"))
    with pytest.raises(InputError, match=r"^run\.mcap: .*expected JSON"):
        from_json(whole[: len(whole) // 2], source="run.mcap")


@pytest.mark.parametrize("text", ["", "5", "[]", "null", "[" * 100_000, "1" * 6000, '{"name": NaN}'])
def test_stored_text_that_is_no_testbed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^stored configuration: .*expected"):
        from_json(text)


def test_the_modes_of_a_flexible_robot_are_among_what_its_controller_knows() -> None:
    flexible = "{length_m=0.3, line_density_kg_m=1.0, ei_n_m2=10.0, modes_y=1}"
    bed = load("free-flyer", [f"modules.vehicle.bodies.forearm.flexible={flexible}"])
    assert [c.key for c in bed.known.positions[-2:]] == ["elbow_rad", "forearm_y1_m"]


def test_a_file_that_is_no_testbed_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no testbed")
    with pytest.raises(InputError, match=r"notes: not a testbed, expected a preset or a file whose name ends in .toml"):
        load(str(tmp_path / "notes"))
    with pytest.raises(InputError, match=r"arm.urdf: a robot, expected a testbed: .* modules.M.urdf = 'arm.urdf'"):
        load(str(tmp_path / "arm.urdf"))


def test_a_variant_may_be_like_another_with_changes_of_its_own() -> None:
    plain, gauged = load("fixed-dual-arm/carry"), load("fixed-dual-arm/carry-gauges")
    assert gauged.name == "fixed-dual-arm/carry-gauges"
    assert gauged.behaviour == plain.behaviour
    assert gauged.control.law.distribution == plain.control.law.distribution
    assert "force_gauges" in gauged.devices
    assert "force_gauges" not in plain.devices


@pytest.mark.parametrize("model", ["nothing", "b", "a"])
def test_a_variant_like_none_or_itself_is_refused(tmp_path: Path, model: str) -> None:
    """Also where two are like each other."""
    path = tmp_path / "bed.toml"
    text = (PRESETS / "fixed-dual-arm.toml").read_text(encoding="utf-8")
    path.write_text(f'{text}\n[variants.a]\nlike = "b"\n[variants.b]\nlike = "{model}"\n', encoding="utf-8")
    with pytest.raises(InputError, match="no other variant of that name"):
        load(f"{path}/b")


def test_a_variant_may_be_another_preset(tmp_path: Path) -> None:
    assert load("two-arm-free-flyer/catch", {"seed": 7}) == load("two-arm-catch", {"seed": 7})
    file = tmp_path / "bed.toml"
    file.write_text('[variants.catch]\npreset = "two-arm-cotch"\n')
    with pytest.raises(InputError, match=r'variants\.catch\.preset = "two-arm-cotch": no such preset'):
        load(f"{file}/catch")


def test_a_driver_of_another_kind_of_device_takes_the_device_of_the_variant_that_has_it():
    """`devices.vision.driver=camera`: field and targets are those of `free-flyer/camera`, and stand there alone."""
    bed = load("free-flyer", ["devices.vision.driver=camera"])
    camera, like = bed.devices["vision"], load("free-flyer/camera").devices["vision"]
    assert camera.driver.kind == "camera"
    assert camera.model_copy(update={"driver": None}) == like
    own = load("free-flyer", ["devices.vision.driver.kind=camera", "devices.vision.exposure_s=0.001"]).devices["vision"]
    assert (own.targets, own.exposure_s) == (like.targets, 0.001)
    # Another one of the testbed that is chosen, or a kind that is typed, stays as it is.
    chosen = load("free-flyer/camera", ["devices.vision.driver=camera", "devices.vision.field_m=[0, 0, 2, 2]"])
    assert chosen.devices["vision"].field_m == (0.0, 0.0, 2.0, 2.0)
    assert load("spot", ["devices.vision.driver=camera"]).devices["vision"].kind == "vision"
