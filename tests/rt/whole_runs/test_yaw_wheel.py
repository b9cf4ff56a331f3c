"""A vehicle that points by its wheel: the thrusters unload it, and pointing does not suffer."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.run_modes import Reply, RequestKind, RunMode
from granite.config.testbed import Testbed
from granite.kernels.c_compiler import find_compiler
from granite.logs.channels import Channels
from granite.logs.wheel_unloading import UnloadingChanges
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit
from tests.support.scripted_operator import ScriptedRun, scripted

BED = "stanford-free-flyer/yaw-wheel"
LATE = ["controller.allocation.yaw_wheel.begin_ratio=0.9999", "controller.allocation.yaw_wheel.end_ratio=0.9998"]


def signals(bed: Testbed) -> tuple[Array, Array, Array]:
    """Rows, heading error against the truth [rad], and rate of the wheel [rad/s]."""
    rows, channels = simulate_in_memory(bed).rows, Channels.of(bed)
    heading = rows[:, channels.column("/truth", "base_heading_rad")]
    reference = rows[:, channels.column("/reference", "base_heading_rad")]
    return rows, heading - reference, rows[:, channels.column("/truth", "wheel_rad_s")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_thrusters_unload_the_wheel_and_pointing_stays_within_a_milliradian(seed: int) -> None:
    bed = load(BED, [f"seed={seed}"])
    rows, error, rate = signals(bed)
    held = slice(int(55 / bed.loop.period_s), None)  # when the gains have become those of the hold
    assert len(rows) == 48_000
    assert np.abs(error[held]).max() < 1e-3
    assert np.abs(rate).max() < 0.72 * 30.0
    changes = UnloadingChanges(bed, Channels.of(bed)).look(rows)
    assert [change.begins for change in changes[:3]] == [True, False, True]
    assert abs(changes[0].rate_rad_s) == pytest.approx(21.0, abs=0.2)
    assert abs(changes[1].rate_rad_s) == pytest.approx(6.0, abs=0.2)
    assert changes[0].sentence == "the thrusters begin to unload wheel, which turns at -21 rad/s"


@pytest.mark.slow
def test_without_unloading_the_wheel_saturates_and_the_thrusters_take_the_yaw_torque_over() -> None:
    _, error, rate = signals(load(BED, [*LATE, "loop.duration_s=200"]))
    saturated = slice(int(170 / 0.005), None)
    np.testing.assert_allclose(rate[saturated], -29.4, atol=0.1)
    assert np.abs(error[int(45 / 0.005) :]).max() < 2e-3  # while the disturbance estimate settles
    assert np.abs(error[int(180 / 0.005) :]).max() < 1e-3


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None, reason="compiled runs need a C compiler")
def test_a_wheel_at_its_highest_rate_has_the_bits_of_the_loop() -> None:
    """The simulated wheel refuses torque there: a controller that does not know the limit drives it on."""
    wheel = (
        '{ kind = "momentum_wheel", units = [{ joint = "wheel", torque_limit_n_m = 0.1, rate_limit_rad_s = 30.0 }] }'
    )
    plant = "simulation.plant.devices.motors.units.0.rate_limit_rad_s=2.0"
    assert_equal_to_the_bit(load("stanford-free-flyer", [f"devices.motors={wheel}", plant, "loop.duration_s=6"]))


def test_unloading_is_a_signal_and_an_event() -> None:
    bed = load(BED)
    channels = Channels.of(bed)
    rows = np.zeros((6, channels.width))
    rows[:, channels.column("/sample", "t_s")] = np.arange(6.0)
    rows[2:4, channels.column("/command", "wheel_unloading")] = 1.0
    look = UnloadingChanges(bed, channels).look
    assert [(c.t, c.begins) for part in (rows[:3], rows[3:]) for c in look(part)] == [(2.0, True), (4.0, False)]


def faults(done: ScriptedRun) -> set[Reason]:
    return {Reason(int(reason)) for reason in done.column("/verdict", "reason") if reason >= 10}


@pytest.mark.slow
def test_a_hold_by_a_fault_holds_while_the_wheel_is_far_from_its_reference() -> None:
    done = scripted({}, "loop.duration_s=25", "safety.table_m=[0.25,0.25,1.6,2.49]", bed=BED)
    assert faults(done) == {Reason.TABLE_EDGE_AHEAD}
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING]
    assert done.outcome.t == pytest.approx(25.0, abs=0.01)
    at = int(np.argmax(done.column("/operation", "mode") == RunMode.HOLDING))
    angle, reference = done.column("/truth", "wheel_rad"), done.column("/reference", "wheel_rad")
    assert abs(angle[at] - reference[at - 1]) > 10.0
    held = done.entry("/truth", "q")[-1000:, :3]
    np.testing.assert_allclose(held, np.broadcast_to(held[-1], held.shape), atol=5e-3)


@pytest.mark.slow
def test_modes_that_operators_ask_for_are_no_jump_of_the_reference() -> None:
    requests = {
        8.0: RequestKind.HOLD,
        14.0: RequestKind.RESTART,
        20.0: RequestKind.FLOAT,
        22.0: RequestKind.HOLD,
        28.0: RequestKind.START,
        32.0: RequestKind.STOP,
    }
    done = scripted(requests, "loop.duration_s=40", bed=BED)
    assert {reply for _, reply, _ in done.script.answers} == {Reply.DONE}
    running, holding = RunMode.RUNNING, RunMode.HOLDING
    assert done.modes == [running, holding, running, RunMode.FLOATING, holding, running, RunMode.STOPPING]
    assert done.outcome.reason is Reason.OPERATOR_STOP
    assert faults(done) <= {Reason.OPERATOR_STOP}
