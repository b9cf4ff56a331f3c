"""Mass, mass centre and inertia of the free-flyer from one log of 60 s, by a plant that differs from the file."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import granite as library
from granite.calibration.identification.base import IdentifiedBase, identify_base
from granite.calibration.identification.flight import BaseInertia, expected_base, flight_of
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from tests.support.command_line import Call, granite, left_in, sentence_of

__all__ = ["granite"]

BODY = "simulation.plant.modules.vehicle.bodies.base"
FILE = BaseInertia(50.0, (0.025, 0.051), 1.44)


def bed_with(truth: BaseInertia, duration_s: float = 60.0) -> Testbed:
    """The free-flyer whose plant has these numbers."""
    return load(
        "free-flyer",
        [
            f"loop.duration_s={duration_s}",
            f"{BODY}.mass_kg={truth.mass_kg}",
            f"{BODY}.com_m={list(truth.com_m)}",
            f"{BODY}.inertia_kg_m2={truth.inertia_kg_m2}",
        ],
    )


def identified(bed: Testbed) -> IdentifiedBase:
    return identify_base(flight_of(library.simulate(bed)), expected_base(bed))


def with_payload(mass: float, place: tuple[float, float]) -> BaseInertia:
    """The base of the file with a point mass on it (parallel axes)."""
    m, c, p = FILE.mass_kg, np.array(FILE.com_m), np.array(place)
    centre = (m * c + mass * p) / (m + mass)
    inertia = FILE.inertia_kg_m2 + m * mass / (m + mass) * (p - c) @ (p - c)
    return BaseInertia(m + mass, (float(centre[0]), float(centre[1])), float(inertia))


@pytest.mark.slow
def test_one_log_gives_mass_centre_and_inertia_of_a_loaded_base():
    truth = with_payload(5.0, (0.15, -0.08))
    bed = bed_with(truth)
    fitted = identified(bed)
    assert expected_base(bed) == FILE
    assert fitted.base.mass_kg == pytest.approx(truth.mass_kg, rel=0.01)
    assert fitted.base.com_m == pytest.approx(truth.com_m, abs=2e-3)
    assert fitted.base.inertia_kg_m2 == pytest.approx(truth.inertia_kg_m2, rel=0.02)
    assert np.all(np.abs(fitted.base.numbers - truth.numbers) < 4 * fitted.deviation)
    assert fitted.drag_ratio == pytest.approx(1e-4, rel=0.02)
    assert fitted.fit.pose_deviation == pytest.approx([5e-4, 5e-4, 1e-3], rel=0.05)
    mass, place = fitted.payload(FILE) or (0.0, np.zeros(2))
    assert mass == pytest.approx(5.0, abs=0.5)
    assert place == pytest.approx([0.15, -0.08], abs=0.03)


@pytest.mark.slow
def test_a_base_as_in_the_file_has_no_payload():
    assert identified(bed_with(FILE)).payload(FILE) is None


@pytest.mark.slow
def test_errors_have_the_stated_spread():
    truth = BaseInertia(53.0, (0.015, 0.06), 1.6)
    bed = bed_with(truth)
    errors = []
    for seed in range(1, 21):
        fitted = identified(bed.model_copy(update={"seed": seed}))
        errors.append((fitted.base.numbers - truth.numbers) / fitted.deviation)
    assert np.all(np.abs(np.sqrt(np.mean(np.square(errors), axis=0)) - 1.0) < 0.45)
    assert np.mean(np.abs(errors) < 2.0) > 0.9


def test_a_flight_without_firings_is_refused():
    flight = flight_of(library.simulate(bed_with(FILE, 4.0)))
    silent = flight._replace(openings=np.zeros_like(flight.openings), impulse=np.zeros_like(flight.impulse))
    with pytest.raises(InputError, match="the thrusters fired 0 N s, expected 1 N s or more"):
        identify_base(silent, FILE)


def test_poses_that_no_base_explains_are_refused():
    flight = flight_of(library.simulate(bed_with(FILE, 8.0)))
    poses = np.random.default_rng(1).uniform(-50, 50, flight.poses.shape)
    with pytest.raises(InputError, match="no numbers of the model explain the poses"):
        identify_base(flight._replace(poses=poses, impulse=flight.impulse + 2.0), FILE)


@pytest.mark.slow
def test_the_command_writes_a_dated_file_and_a_plot(granite: Call, tmp_path: Path):
    granite("sim", "free-flyer", "--duration", 25, "--out", "a.mcap", "--set", f"{BODY}.mass_kg=55")
    said = granite("identify", "a.mcap", "--plot", "residuals.png")
    assert said.code == 0
    assert "a payload: " in said.out
    content = tomllib.loads((tmp_path / "a-inertia.toml").read_text())
    assert content["kind"] == "inertia"
    assert content["date"].startswith("20")
    assert content["model"] == load("free-flyer", [f"{BODY}.mass_kg=55"]).fingerprint
    assert (content["module"], content["body"], content["log"]) == ("vehicle", "base", "a.mcap")
    assert abs(content["mass_kg"] - 55.0) < 4 * content["deviation"]["mass_kg"]
    assert (tmp_path / "residuals.png").stat().st_size > 10_000
    kept = (tmp_path / "a-inertia.toml").read_bytes()
    assert "exists: expected a new name, or --overwrite" in sentence_of(granite("identify", "a.mcap"))
    assert (tmp_path / "a-inertia.toml").read_bytes() == kept


@pytest.mark.parametrize(
    ("bed", "why"),
    [
        pytest.param(
            "fixed-dual-arm/open-loop",
            "devices: 0 devices of thrusters, expected one, which pushes the vehicle",
            marks=pytest.mark.slow,
        ),
        ("free-flyer", "poses, expected 100 or more"),
        ("free-flyer/ideal", "devices.thrusters.simulated.ideal = true: expected valves"),
    ],
)
def test_a_log_that_shows_nothing_is_refused_and_nothing_is_written(granite: Call, tmp_path: Path, bed: str, why: str):
    granite("sim", bed, "--duration", 0.5, "--out", "a.mcap")
    assert why in sentence_of(granite("identify", "a.mcap", "--plot", "r.png"))
    assert left_in(tmp_path) == ["a.mcap"]
