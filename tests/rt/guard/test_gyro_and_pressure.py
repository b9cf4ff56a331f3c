"""A gyro that contradicts the estimate, and low supply pressure: noticed by name, before a run and during it."""

from __future__ import annotations

import numpy as np
import pytest

import granite
from granite.config.records import Frame, Sample, State
from granite.drivers.board.wire import ChannelKind
from granite.rt.checks.preflight_checks import agreement, sensor_findings
from granite.sim.emulation.wiring import wire

BOTH = {"devices.gyro": {}, "devices.pressure": {}}
BED = granite.load("free-flyer", BOTH)


class AtRest:
    """An estimator that finds the robot at rest."""

    def estimate(self, sample: Sample) -> State:
        n = len(BED.known.velocities)
        ages = np.zeros(len(BED.sensors))
        return State(sample.t, True, np.zeros(n), np.zeros(n), np.zeros(n), ages)


def samples(rate: float, pressure: float) -> list[Sample]:
    rng = np.random.default_rng(3)
    made = []
    for k in range(40):
        frames = {
            "gyro": np.array([rate + 5e-4 * rng.standard_normal()]),
            "pressure": np.array([pressure + 1e3 * rng.standard_normal()]),
        }
        sizes = {name: len(device.signals(BED)) for name, device in BED.sensors.items()}
        values = [frames.get(name, np.zeros(sizes[name])) for name in BED.sensors]
        made.append(Sample(0.01 * k, tuple(Frame(0.01 * k, k + 1, 0, each) for each in values), ()))
    return made


@pytest.mark.parametrize(("rate", "passed"), [(0.03, True), (0.08, False)])
def test_before_a_run_the_gyro_is_compared_with_the_pose(rate: float, passed: bool):
    (finding,) = [each for each in agreement(BED, AtRest(), samples(rate, 7e5)) if each.device == "gyro"]
    assert finding.passed is passed
    assert finding.text.startswith("base_gyro differs from the rate of base_heading by 0.0")


@pytest.mark.slow
@pytest.mark.parametrize(("deviation", "ended"), [(0.1, "completed"), (0.005, "sensors_disagree")])
def test_a_bias_is_no_disagreement_as_far_as_the_data_sheet_explains_it(deviation: float, ended: str) -> None:
    """The rate as measured is off by more than the limit of 0.05."""
    gyro = {"simulated": {"bias_rad_s": 0.08}, "bias_rad_s": deviation, "disagreement_rad_s": 0.05}
    log = granite.simulate(granite.load("free-flyer", {"devices.gyro": gyro, "loop.duration_s": 6.0}))
    assert log.summary["ended"] == ended
    assert log["/state"].gyro_base_gyro_bias_rad_s[-1] == pytest.approx(0.08, abs=1e-3)


def test_before_a_run_low_pressure_is_found():
    last = {p: list(sensor_findings(BED, "pressure", samples(0.0, p)))[-1] for p in (6e5, 4e5)}
    assert last[6e5].passed
    assert not last[4e5].passed
    assert last[4e5].text.endswith("Pa, expected at least 500000")


def test_they_have_channels_of_their_own_kind_on_a_board():
    wired = {device.name: device for board in wire(BED) for device in board.devices}
    (rate,), (pressure,) = wired["gyro"].wires, wired["pressure"].wires
    assert (rate.kind, rate.unit) == (ChannelKind.GYRO, "rad/s")
    assert (pressure.kind, pressure.name, pressure.unit) == (ChannelKind.PRESSURE, "supply", "Pa")
    for device, value in (("gyro", -1.234567), ("pressure", 654321.0)):
        back = wired[device].values(wired[device].counts(np.array([value])))
        assert back == pytest.approx([value], rel=1e-6)


@pytest.mark.slow
def test_a_gyro_off_by_more_than_its_limit_ends_the_run_by_name():
    offset = {"kind": "fault", "device": "gyro", "what": "offset", "unit": "base_gyro_rad_s", "value": 0.1, "at_s": 3.0}
    good = granite.simulate(granite.load("free-flyer", {**BOTH, "loop.duration_s": 6.0}))
    bad = granite.simulate(granite.load("free-flyer", {**BOTH, "simulation.events": [offset], "loop.duration_s": 6.0}))
    assert good.summary["ended"] == "completed", good.summary["text"]
    assert bad.summary["ended"] == "sensor_outliers"  # the estimate uses the gyro, and refuses its frames
    assert "gyro base_gyro innovation" in bad.summary["text"]
    assert 3.0 < bad.summary["ended_at_s"] < 3.1


@pytest.mark.slow
def test_a_tank_that_runs_low_ends_the_run_under_control():
    log = granite.simulate(granite.load("free-flyer", {**BOTH, "devices.thrusters.simulated.tank_n_s": 14.0}))
    assert log.summary["ended"] == "low_pressure"
    speed = np.hypot(log["/truth"].base_x_m_s[-1], log["/truth"].base_y_m_s[-1])
    assert speed < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("tank", [2.0, 4.0, 8.0])
@pytest.mark.parametrize("bed", ["free-flyer", "atmos"])
def test_a_tank_run_empty_is_named_first_and_leaves_gas_to_come_to_rest(bed, tank):
    """Of a tank that is low at 5/7, enough is left for the momentum; below 3/7 often not."""
    gas = {"devices.pressure": {"full_pa": 7e5, "low_pa": 5e5}, "devices.thrusters.simulated.tank_n_s": tank}
    for seed in (301, 302):
        log = granite.simulate(granite.load(bed, {**gas, "seed": seed}))
        assert log.summary["ended"] == "low_pressure"
        assert "chain" not in log.summary
        assert np.hypot(log["/truth"].base_x_m_s[-1], log["/truth"].base_y_m_s[-1]) < 5e-3


SMALL_TANK = {"devices.pressure": {"full_pa": 7e5, "low_pa": 3e5}, "devices.thrusters.simulated.tank_n_s": 4.0}


@pytest.mark.slow
def test_thrust_is_taken_to_fall_with_the_measured_pressure():
    """Without that the run ended at 64 mm/s by sensor_outliers."""
    log = granite.simulate(granite.load("atmos", SMALL_TANK))
    assert log.summary["ended"] == "low_pressure"
    assert "chain" not in log.summary
    assert np.hypot(log["/truth"].base_x_m_s[-1], log["/truth"].base_y_m_s[-1]) < 0.03


@pytest.mark.slow
def test_motion_that_weak_thrust_leaves_unexplained_does_not_end_a_brake():
    """The file says that a regulator keeps the thrust, which it does not."""
    small = {"devices.thrusters.simulated.tank_n_s": 6.0}
    pressure = {"devices.pressure": {"full_pa": 7e5, "low_pa": 3e5, "regulated_pa": 1e5}}
    log = granite.simulate(granite.load("free-flyer", {**pressure, **small}))
    assert [fault.split()[0] for fault in log.summary["chain"]] == ["low_pressure", "motion_unexplained"]
    assert log.summary["ended"] == "low_pressure"
    assert np.hypot(log["/truth"].base_x_m_s[-1], log["/truth"].base_y_m_s[-1]) < 0.015  # 35 mm/s where it ended


def test_the_sentence_has_the_chain_of_faults_with_its_first_cause():
    low = {"kind": "fault", "device": "pressure", "what": "offset", "unit": "supply_pressure_pa", "value": -3e5}
    silent = {"kind": "fault", "device": "joint_sensors", "what": "silent"}
    events = [{**low, "at_s": 0.5}, {**silent, "at_s": 0.55}]
    log = granite.simulate(granite.load("free-flyer", {**BOTH, "simulation.events": events, "loop.duration_s": 2.0}))
    assert log.summary["ended"] == "sensor_stale"
    assert log.summary["chain"] == ["low_pressure at 0.500 s", "sensor_stale at 0.600 s"]
    assert log.summary["text"].startswith("low_pressure at 0.500 s, then sensor_stale at 0.600 s; first: the supply")


@pytest.mark.slow
def test_they_are_rehearsed_on_their_channels(tmp_path):
    from granite.rt.rehearsal.rehearsal import rehearsal
    from granite.rt.run import Run
    from tests.firmware.emulated import need

    need("cc")
    bed = granite.load("free-flyer", {**BOTH, "loop.duration_s": 3.0, "safety.age_s.joint_sensors": 1.0})
    with rehearsal(bed, 1.0) as outside:
        summary = Run(bed, rehearsal=outside).record(tmp_path / "run.mcap", realtime=True)
    assert summary["ended"] == "completed", summary["text"]
    sample = granite.read_log(tmp_path / "run.mcap")["/sample"]
    assert sample.pressure_supply_pressure_pa[-1] == pytest.approx(7e5, abs=6e3)
    assert np.abs(sample.gyro_base_gyro_rad_s[-200:]).max() < 0.2
