"""Stanford report of 1987, acceptance test 6: on/off valves shake the arm, unless the torques know what comes."""

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory
from tests.validation.claims import Claims
from tests.validation.stanford_move import CASE

VALVES = (
    *CASE,
    "loop.duration_s=30.0",
    "devices.thrusters.valve={delay_s=0.0, rise_s=0.0, minimum_on_s=0.0}",
    "devices.thrusters.simulated={}",
    "devices.joint_sensors.simulated.perfect=true",
    "devices.vision.simulated.perfect=true",
    "simulation.table.ideal=true",
)


@pytest.fixture(scope="module")
def runs():
    """The plain law and the one that knows what the valves deliver; errors of the last five seconds, and impulse."""
    by_wrench = {}
    for resolve in (False, True):
        bed = load("free-flyer/report-1987", (*VALVES, f"controller.resolve_delivered={str(resolve).lower()}"))
        log = simulate_in_memory(bed)
        place = log.channels.columns
        error = np.abs(log.rows[:, place("/truth", "q")] - log.rows[:, place("/reference", "q")])
        last = log.rows[:, place("/state", "t")] >= 25.0
        impulse = log.rows[:, place("/truth", "thrust")].sum() * bed.loop.period_s
        by_wrench[resolve] = error[last].max(axis=0), impulse
    return by_wrench


@pytest.mark.slow
def test_stanford06_the_plain_law_shakes_the_elbow_by_a_tenth_of_a_radian(runs, claims: Claims):
    error, _ = runs[False]
    what = "on/off valves, plain law: largest joint error in the last 5 s"
    claims.between("Stanford 6", what, 0.10, 0.20, error[3:].max(), "rad")


@pytest.mark.slow
def test_stanford06_the_delivered_wrench_law_keeps_the_joints_to_1e_5(runs, claims: Claims):
    error, _ = runs[True]
    claims.below("Stanford 6", "the same with torques for delivered thrust", 1e-5, error[3:].max(), "rad")


def test_stanford06_the_base_stays_in_the_dead_band_at_the_published_cost(runs, claims: Claims):
    error, impulse = runs[True]
    claims.equal("Stanford 6", "base offset from the dead band", 0.030, error[0], 0.003, "m")
    claims.equal("Stanford 6", "impulse of the thrusters", 12.9, impulse, 0.5, "N s")
