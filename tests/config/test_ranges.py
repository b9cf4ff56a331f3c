"""Numbers beyond what is sensible are refused by key, before they cost hours, memory or a traceback."""

from pathlib import Path

import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.urdf import read_urdf

EXTREMES = {
    "a period of seconds": ("loop.period_s=5", "loop.period_s = 5: expected a number of at most 1"),
    "a period of nanoseconds": ("loop.period_s=1e-9", "expected a number of at least 1e-05"),
    "a run without end": ("loop.duration_s=1e308", "loop.duration_s = 1e+308: expected a number between -1e+07 and"),
    "a ring beyond memory": ("recording.ring_rows=100000000000", "expected a number of at most 100000"),
    "a ring beyond all counting": ("recording.ring_rows=1" + "0" * 40, "recording.ring_rows = 1000"),
    "frames without end": (
        "devices.vision.rate_hz=1e300",
        "devices.vision.rate_hz = 1e+300: expected a number between",
    ),
    "more frames than a camera gives": ("devices.vision.rate_hz=5e5", "expected a number of at most 100000"),
    "a frame in a year": ("devices.joint_sensors.rate_hz=1e-8", "expected a number of at least 0.1"),
    "a pose of last week": ("devices.vision.latency_s=6e5", "expected a number of at most 10"),
    "a valve that waits": ("devices.thrusters.valve.delay_s=1e6", "valve.delay_s = 1000000.0: expected a number of at"),
    "a valve behind many commands": (
        "devices.thrusters.valve.delay_s=5.0",
        "devices.thrusters.valve.delay_s = 5.0: expected at most 100 times loop.period_s = 0.005",
    ),
    "geometry beyond the Earth": (
        "modules.vehicle.joints.shoulder.origin_m=[1e200, 0]",
        "modules.vehicle.joints.shoulder.origin_m = 1e+200: expected a number between -1e+06 and 1e+06",
    ),
    "a start beyond the Earth": ("simulation.initial.base_x_m=-1e9", "simulation.initial.base_x_m = -1000000000.0"),
    "a mass beyond all ships": ("modules.vehicle.bodies.base.mass_kg=1e10", "between -1e+09 and 1e+09"),
    "a joint's offset among others": ("devices.joint_sensors.simulated.offset_rad.elbow=1e7", "offset_rad.elbow = "),
    "the plant's own numbers": (
        "simulation.plant.modules.vehicle.bodies.base.mass_kg=1e10",
        "simulation.plant.modules.vehicle.bodies.base.mass_kg = 10000000000.0",
    ),
    "a gain beyond all use": ("controller.law.gains.base_x.stiffness_1_s2=1e13", "between -1e+12 and 1e+12"),
    "a seed beyond 64 bits": ("seed=18446744073709551616", "seed = 18446744073709551616: expected a number less than"),
    "a processor that no machine has": ("loop.cpu=1000000", "loop.cpu = 1000000: expected a number of at most 4095"),
    "steps beyond all counting": ("simulation.physics_step_s=1e-8", "expected at least 0.0001 of loop.period_s"),
}


@pytest.mark.parametrize(("override", "said"), EXTREMES.values(), ids=EXTREMES)
def test_an_extreme_number_is_refused_by_its_key(override: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        load("free-flyer", [override])
    assert said in str(refusal.value)


def test_a_seed_may_be_any_number_of_64_bits() -> None:
    assert load("free-flyer", ["seed=18446744073709551615"]).seed == 2**64 - 1


def test_infinity_and_nan_have_their_own_sentence() -> None:
    for word in ("inf", "nan"):
        with pytest.raises(InputError, match="expected a finite number"):
            load("free-flyer", [f"modules.vehicle.bodies.base.mass_kg={word}"])


def test_a_number_in_a_list_of_lists_is_refused_by_its_key() -> None:
    with pytest.raises(InputError, match=r": modules\.vehicle\.bodies\.base\.outline_m\.0\.x_m = "):
        load("free-flyer", ["modules.vehicle.bodies.base.outline_m=[[{x_m=1e300}]]"])


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(InputError, match="seed = a number of thousands of digits: expected"):
        load("free-flyer", [f"seed=0x{'f' * 5000}"])


def test_the_sentence_about_a_very_long_key_is_cut() -> None:
    with pytest.raises(InputError) as refusal:
        load("free-flyer", [f"{'x' * 10_000}=1"])
    assert len(str(refusal.value)) < 2000


def test_a_file_that_no_person_wrote_is_not_read_whole(tmp_path: Path) -> None:
    endless = tmp_path / "bed.toml"
    endless.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"bed\.toml: larger than 10 MB, expected a text that a person wrote"):
        load(endless)


def test_a_robot_that_no_person_wrote_is_not_read_whole(tmp_path: Path) -> None:
    endless = tmp_path / "robot.urdf"
    endless.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"robot\.urdf: larger than 10 MB"):
        read_urdf(endless, "spatial", "fixed")


def test_more_bodies_than_a_model_can_have_are_refused(tmp_path: Path) -> None:
    bodies = "".join(f'[[modules.bodies]]\nname="b{i}"\nmass_kg=1\ninertia_kg_m2=1\n' for i in range(201))
    file = tmp_path / "bed.toml"
    head = 'name="n"\ntitle="t"\nloop={duration_s=1}\n[[modules]]\nname="m"\ndimension="planar"\nbase="floating"\n'
    file.write_text(head + bodies)
    with pytest.raises(InputError, match=r"modules\.m\.bodies = .*: expected a list of at most 200"):
        load(file)


def test_a_composed_unit_is_not_judged_by_its_last_part() -> None:
    """A tank of a billion newton seconds stands for one that never empties."""
    load("free-flyer", ["devices.thrusters.simulated.tank_n_s=1e9"])
