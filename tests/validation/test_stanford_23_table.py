"""Stanford report, chapter 1: what the table's slope and drag do to a vehicle, on the simulated plant."""

import pytest

from config.loader import load
from sim.plant import Plant


def test_slope_lets_a_resting_vehicle_drift_44_mm_in_30_s():
    plant = Plant(
        load(
            "free-flyer",
            overrides=[
                "simulation.table.tilt_g=1e-5",
                "simulation.table.tilt_direction_rad=0.0",
                "simulation.table.drag_ratio=0.0",
                "simulation.initial={}",
            ],
        )
    )
    plant.advance(30.0)
    assert plant.q[0] == pytest.approx(0.0441, rel=0.01)
    assert abs(plant.q[1]) < 1e-9


def test_drag_slows_a_leap_from_150_to_133_mm_s_over_2_5_m():
    plant = Plant(
        load(
            "free-flyer",
            overrides=[
                "simulation.table.tilt_g=0.0",
                "simulation.table.drag_ratio=1e-4",
                "simulation.table.drag='coulomb'",
                "simulation.initial={base_x_m_s=0.15}",
            ],
        )
    )
    while plant.q[0] < 2.5:
        plant.advance(plant.t + 0.001)
    assert plant.u[0] == pytest.approx(0.133, rel=0.01)
