"""Hold, float and stop take the place of a state machine: arms come to rest, wheels keep their momentum."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.reasons import Reason
from granite.config.run_modes import Reply, RequestKind, RunMode
from granite.controllers.behaviours.tasks import INTERRUPTED
from tests.support.scripted_operator import scripted

pytestmark = pytest.mark.usefixtures("interpreted")

PLACE = "fixed-dual-arm/pick-and-place"
ENDS = {RequestKind.HOLD: RunMode.HOLDING, RequestKind.FLOAT: RunMode.FLOATING, RequestKind.STOP: RunMode.STOPPING}
CASES = [
    pytest.param(bed, ask, marks=[] if bed == PLACE and ask is RequestKind.STOP else pytest.mark.slow)
    for bed in ("leap", "two-arm-catch", PLACE, "two-arm-carry/catch")
    for ask in ENDS
]


@pytest.mark.parametrize(("bed", "ask"), CASES)
def test_a_machine_is_interrupted_and_its_arms_come_to_rest(bed: str, ask: RequestKind):
    """While the arms move: in the flight of `leap`, in the reach of the others; before that, an object drifts by."""
    done = scripted({7.0: ask}, "loop.duration_s=11", bed=bed)
    assert done.outcome.fault is None
    assert done.outcome.reason is (Reason.OPERATOR_STOP if ask is RequestKind.STOP else Reason.PASSED)
    assert done.modes[-1] == ENDS[ask]
    assert done.column("/reference", "machine_state")[-1] == INTERRUPTED
    run = done.run
    rates = [run.bed.known.joint_u(motor.joint) for motor in run.bed.motors if motor.joint != "wheel"]
    final = done.entry("/state", "u")[-1, rates]
    assert np.abs(final).max() < 0.03


@pytest.mark.slow
def test_a_wheel_keeps_its_momentum_when_nothing_else_holds_the_base():
    """Braked, it would turn the vehicle in flight by its own momentum."""
    done = scripted({9.0: RequestKind.HOLD}, "loop.duration_s=12", bed="leap")
    wheel, heading = (done.run.bed.known.joint_u("wheel"), 2)
    u = done.entry("/state", "u")
    assert abs(u[-1, wheel]) > 5.0
    assert abs(u[-1, wheel] - u[1800, wheel]) < 0.3 * abs(u[1800, wheel])
    assert np.abs(u[1800:, heading]).max() < 1.5 * np.abs(u[:1800, heading]).max()


@pytest.mark.slow
def test_a_machine_is_armed_and_started_by_the_operator():
    requests = {0.0: RequestKind.ATTACH, 0.5: RequestKind.ARM, 1.0: RequestKind.START}
    done = scripted(requests, "loop.duration_s=2", bed="leap")
    assert [reply for _, reply, _ in done.script.answers] == [Reply.DONE] * 3
    assert done.outcome.fault is None
    assert done.column("/reference", "machine_state")[-1] != INTERRUPTED
