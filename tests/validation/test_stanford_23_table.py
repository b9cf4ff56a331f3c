"""Stanford report, chapter 1: what the table's slope and drag do to a vehicle, on the simulated plant."""

from granite.config.loader import load
from granite.sim.plant.plant import Plant
from tests.validation.claims import Claims


def test_stanford23_slope_lets_a_resting_vehicle_drift_44_mm_in_30_s(claims: Claims):
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
    claims.near("Stanford 23", "slope of 1e-5 g, 30 s from rest: drift", 0.0441, plant.q[0], 0.01, "m")
    assert abs(plant.q[1]) < 1e-9


def test_stanford23_drag_slows_a_leap_from_150_to_133_mm_s_over_2_5_m(claims: Claims):
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
    claims.near("Stanford 23", "drag of 1e-4 on 0.15 m/s over 2.5 m: speed", 0.133, plant.u[0], 0.01, "m/s")
