"""The plant may differ from what the controllers believe: `[simulation.plant]`."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from granite.config.devices.motors import Motors
from granite.config.errors import InputError
from granite.config.loader import from_json, load, plant_of, to_json
from granite.controllers.model import ControlModel
from granite.sim.lab import Lab
from tests.support.dense_model import Model

LEVEL = ("simulation.table.ideal=true", "simulation.initial={}")
HEAVY = "simulation.plant.modules.vehicle.bodies.base.mass_kg=100.0"


def test_without_changes_the_plant_is_the_testbed() -> None:
    bed = load("free-flyer")
    assert plant_of(bed) is bed


def test_a_heavier_plant_accelerates_less_while_the_controllers_model_stays() -> None:
    believed, bed = load("free-flyer/ideal", LEVEL), load("free-flyer/ideal", [*LEVEL, HEAVY])
    speeds = []
    for each in (believed, bed):
        lab = Lab(each)
        lab.device("thrusters").write(0.0, np.array([0, 0, 0, 1.0, 1.0, 0, 0, 0]))
        lab.plant.advance(0.1)
        speeds.append(lab.plant.u)
        true = plant_of(each).modules[0]
        force = np.array([2.0, 0.0, 0.0, 0.0, 0.0])
        want = 0.1 * Model(true).forward_dynamics(np.zeros(5), np.zeros(5), force)
        np.testing.assert_allclose(lab.plant.u[0], want[0], rtol=1e-3)
    assert speeds[1][0] < 0.6 * speeds[0][0]
    masses = []
    for each in (believed, bed):
        model = ControlModel(each)
        masses.append(np.array(ca.Function("M", [model.q], [model.mass_matrix])(np.zeros(5))))
        assert each.modules[0].root.mass_kg == 50.0
    np.testing.assert_array_equal(*masses)


def test_anything_of_the_testbed_may_differ() -> None:
    bed = load(
        "free-flyer",
        [
            "simulation.plant.devices.motors.units.elbow.torque_limit_n_m=0.1",
            "simulation.plant.devices.thrusters.units.r2.thrust_n=0.5",
            "simulation.plant.devices.thrusters.valve.delay_s=0.02",
            "simulation.plant.modules.vehicle.joints.shoulder.origin_m=[0.25, 0.0]",
        ],
    )
    plant = plant_of(bed)
    assert [unit.torque_limit_n_m for unit in plant.motors] == [2.0, 0.1]
    assert [unit.torque_limit_n_m for unit in bed.motors] == [2.0, 1.0]
    assert (plant.thrusters[1].thrust_n, bed.thrusters[1].thrust_n) == (0.5, 1.0)
    assert plant.modules[0].joints[0].origin_m == (0.25, 0.0)
    assert plant.devices_of(Motors)["motors"].units[0] == bed.devices_of(Motors)["motors"].units[0]


def test_the_devices_of_the_lab_are_those_of_the_plant() -> None:
    """A sonar that is turned by nobody's knowledge: its data sheet says one noise, its frames have another."""
    quiet = [f"devices.vision.{key}=1e-9" for key in ("position_noise_m", "heading_noise_rad")]
    loud = ["simulation.plant.devices.vision.position_noise_m=0.1", "devices.vision.simulated.dropout_probability=0"]
    lab = Lab(load("free-flyer", [*LEVEL, *quiet, *loud]))
    sonar = lab.device("vision")
    values = {frame.number: frame.values for frame in (sonar.read(0.005 * k) for k in range(2000)) if frame.number}
    assert np.std([x for x, _, _ in values.values()]) == pytest.approx(0.1, rel=0.15)
    assert np.std([heading for _, _, heading in values.values()]) < 1e-5


def test_a_thruster_that_has_failed_in_the_plant_is_available_to_the_controllers() -> None:
    bed = load("free-flyer", ["simulation.plant.devices.thrusters.units.r4.failed=true"])
    assert ControlModel(bed).available.tolist() == [1.0] * 8
    lab = Lab(bed)
    lab.device("thrusters").write(0.0, np.ones(8))
    lab.plant.advance(0.1)
    lab.plant.advance(0.105)
    assert np.flatnonzero(lab.plant.thrust == 0.0).tolist() == [3]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("modules.vehicle.bodies.base.mas_kg=60", "modules.vehicle.bodies.base.mas_kg = 60: unknown key"),
        ("modules.vehicle.bodies.bse.mass_kg=60", "modules.vehicle.bodies: no 'bse'"),
        ("modules.vehicle.bodies.base.mass_kg=-60", "modules.vehicle.bodies.base.mass_kg = -60: expected a number"),
        ("devices.sonar.rate_hz=60", 'devices.sonar.kind = "sonar": no such device'),
    ],
)
def test_a_wrong_key_is_refused_by_name(override: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        Lab(load("free-flyer", [f"simulation.plant.{override}"]))
    assert str(refusal.value).startswith(f"free-flyer: simulation.plant.{said}")
    assert refusal.value.file == "free-flyer"


@pytest.mark.parametrize(
    "override",
    [
        "modules.vehicle.bodies.forearm.flexible={length_m=0.3, line_density_kg_m=3.0, ei_n_m2=50.0, modes_y=1}",
        "devices.joint_sensors.joints=['elbow', 'shoulder']",
        "devices.thrusters.units.r1.name=first",
    ],
)
def test_a_plant_of_other_coordinates_or_signals_is_refused(override: str) -> None:
    with pytest.raises(InputError, match="other coordinates or signals"):
        Lab(load("free-flyer", [*LEVEL, f"simulation.plant.{override}"]))


def test_the_changes_go_into_the_log() -> None:
    bed = load("free-flyer", [HEAVY])
    again = from_json(to_json(bed))
    assert again == bed.model_copy(update={"tuning": None})
    assert plant_of(again).modules[0].root.mass_kg == 100.0
