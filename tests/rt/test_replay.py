"""A log run through the same controllers again gives the same bits, in both modes of the model; a change is found."""

import dataclasses

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.controllers.laws.computed_torque import ComputedTorque
from granite.logs.log import Log
from granite.rt.replay import replay
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.quick_cases import quick
from tests.support.testbeds import NAMES, controlled, of_each_structure

#: other laws, sensors and contacts than those of the presets themselves
VARIANTS = ("fixed-dual-arm/carry-gauges", "fixed-dual-arm/joint-pd", "free-flyer/camera")
#: flexible links, contacts that are driven, a loop
SMALL = ("mrds-1", "mrds-3", "mrds-6a", "flx-pendulum")


def run(bed: str, *changes: str) -> Log:
    return simulate_in_memory(load(bed, ("loop.duration_s=2.0", *changes)))


@pytest.fixture(scope="module")
def flown() -> Log:
    return run("free-flyer")


@pytest.mark.parametrize("bed", quick(of_each_structure(controlled()), "free-flyer", *VARIANTS[:2]))
def test_every_preset_with_a_controller_replays_to_the_bit(bed: str):
    log = run(bed)
    result = replay(log)
    assert result.first is None
    assert result.ticks == len(log.rows)


@pytest.mark.parametrize("bed", SMALL)
def test_a_preset_without_a_controller_replays_to_the_bit(bed: str, monkeypatch: pytest.MonkeyPatch):
    """The others replay in the slow test of both modes."""
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    testbed = load(bed)
    short = load(bed, [f"loop.duration_s={20 * testbed.loop.period_s}"])
    log = simulate_in_memory(short)
    result = replay(log)
    assert result.first is None
    assert result.ticks == len(log.rows) == 20


@pytest.mark.slow
@pytest.mark.parametrize("bed", of_each_structure(NAMES))
def test_every_preset_replays_in_both_modes_in_whichever_it_was_made(bed: str, monkeypatch: pytest.MonkeyPatch):
    short = load(bed, [f"loop.duration_s={20 * load(bed).loop.period_s}"])
    compiled = simulate_in_memory(short)
    result = replay(compiled)
    assert result.first is None
    assert result.ticks == len(compiled.rows) == 20
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    interpreted = simulate_in_memory(short)
    assert replay(compiled).first is None
    monkeypatch.delenv("GRANITE_NO_COMPILER")
    assert replay(interpreted).first is None
    before_timing = compiled.channels.column("/timing", "tick")
    np.testing.assert_array_equal(compiled.rows[:, :before_timing], interpreted.rows[:, :before_timing])


@pytest.mark.parametrize("bed", quick(["free-flyer", "mrds-6a", "two-arm-free-flyer"], "free-flyer"))
def test_a_log_made_in_one_mode_of_the_model_replays_in_the_other(bed: str, monkeypatch: pytest.MonkeyPatch):
    compiled = run(bed)
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    assert replay(compiled).first is None
    interpreted = run(bed)
    monkeypatch.delenv("GRANITE_NO_COMPILER")
    assert replay(interpreted).first is None
    before_timing = compiled.channels.column("/timing", "tick")
    np.testing.assert_array_equal(compiled.rows[:, :before_timing], interpreted.rows[:, :before_timing])


@pytest.mark.parametrize("allocation", quick(["least_propellant", "best_pattern"], "best_pattern"))
def test_every_way_of_sharing_replays_to_the_bit(allocation: str):
    assert replay(run("free-flyer/report-1987", f"controller.allocation.sharing={allocation}")).first is None


@pytest.mark.parametrize("modulation", quick(["threshold", "pulse_width", "delta_sigma"], "delta_sigma"))
def test_every_modulation_replays_to_the_bit(modulation: str):
    assert replay(run("free-flyer", f"controller.allocation.modulation={modulation}")).first is None


def test_one_flipped_bit_in_an_input_is_found_where_it_first_matters(flown: Log):
    log = flown
    rows = log.rows.copy()
    column = log.channels.column("/sample", "joint_sensors_elbow_angle_rad")
    rows[200, column] = np.nextafter(rows[200, column], 1.0)
    result = replay(dataclasses.replace(log, rows=rows))
    assert result.first is not None
    assert result.first.tick == 200
    assert result.first.topic == "/state"


def test_one_flipped_bit_in_an_output_is_named(flown: Log):
    log = flown
    rows = log.rows.copy()
    column = log.channels.column("/command", "motors_shoulder_torque_n_m")
    rows[150, column] = np.nextafter(rows[150, column], 1.0)
    first = replay(dataclasses.replace(log, rows=rows)).first
    assert first is not None
    assert (first.tick, first.topic, first.key) == (150, "/command", "motors_shoulder_torque_n_m")
    assert first.logged != first.replayed


def test_another_gain_is_another_run(flown: Log, monkeypatch: pytest.MonkeyPatch):
    log = flown
    build = ComputedTorque.__init__

    def changed(self, options, model):
        build(self, options, model)
        self.parameters["damping"] *= 1 + 1e-15

    monkeypatch.setattr(ComputedTorque, "__init__", changed)
    first = replay(log).first
    assert first is not None
    assert first.topic == "/demand"


def test_a_gap_in_the_log_ends_the_replay_there(flown: Log):
    log = flown
    rows = np.delete(log.rows, 100, axis=0)
    rows[100:, log.channels.column("/timing", "lost")] = 1
    result = replay(dataclasses.replace(log, rows=rows))
    assert result.first is None
    assert result.gap == 99
    assert result.ticks == 100


@pytest.mark.slow
def test_a_portable_log_replays_with_portable_functions_alone(flown: Log, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRANITE_PORTABLE", "1")
    with pytest.raises(InputError, match="expected GRANITE_PORTABLE=0"):
        replay(flown)
    portable = run("free-flyer")
    assert replay(portable).first is None
    assert not np.array_equal(portable.rows, flown.rows)
    monkeypatch.setenv("GRANITE_PORTABLE", "0")
    with pytest.raises(InputError, match="expected GRANITE_PORTABLE=1"):
        replay(portable)
