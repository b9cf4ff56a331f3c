"""A manoeuvre that begins again on the operator's request, so that two of them can be compared."""

from dataclasses import replace

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, RequestKind, RunMode
from granite.controllers.behaviours.resuming import SETTLING_S
from granite.controllers.behaviours.waypoints import WaypointBehaviour
from granite.controllers.model import ControlModel
from granite.controllers.stack import RobotBehaviour
from granite.kernels.function_part import TimeTable
from granite.logs.log import Log
from granite.rt.run import Run
from granite.tuning.manoeuvre import last_manoeuvre
from granite.tuning.measures import Band, Measures
from tests.support.scripted_operator import ScriptedRun, scripted

SHORT = "behaviour.waypoints=[{duration_s=4.0,target={base_x_m=1.04,elbow_rad=1.0}}]"


def manoeuvre(done: ScriptedRun, after_s: float) -> slice:
    """The four seconds in which the reference moves, after a rest of the reference."""
    moves = np.any(done.entry("/reference", "u") != 0.0, axis=1)
    first = round(after_s / 0.005)
    begin = first + int(np.argmax(moves[first:]))
    return slice(begin, begin + 790)


@pytest.fixture(scope="module")
def twice() -> ScriptedRun:
    return scripted(
        {2.0: RequestKind.RESTART, 6.0: RequestKind.HOLD, 8.0: RequestKind.RESTART}, "loop.duration_s=19.5", SHORT
    )


def test_the_behaviour_begins_again_with_the_same_motion(twice: ScriptedRun):
    assert twice.modes == [RunMode.RUNNING, RunMode.HOLDING, RunMode.RUNNING]
    assert [reply for _, reply, _ in twice.script.answers] == [Reply.NOT_IN_THIS_MODE, Reply.DONE, Reply.DONE]
    assert twice.outcome.reason is Reason.PASSED
    q = twice.entry("/reference", "q")
    rest = np.flatnonzero(~np.any(twice.entry("/reference", "u")[1610:] != 0.0, axis=1))[0] + 1610
    first, second = manoeuvre(twice, 0.0), manoeuvre(twice, rest * 0.005)
    assert second.start - rest == pytest.approx(SETTLING_S / 0.005, abs=2)
    np.testing.assert_allclose(q[second], q[first], atol=3e-4)  # it begins within a tick, not at one
    assert np.ptp(q[second][:, 0]) > 0.03
    done = twice.column("/reference", "done")
    assert done[1190] == done[-1] == 1.0
    assert not done[1610 : second.stop].any()


def test_the_way_back_has_no_jump_and_the_robot_follows_it(twice: ScriptedRun):
    q, u = twice.entry("/reference", "q"), twice.entry("/reference", "u")
    steps = np.abs(np.diff(q, axis=0) - 0.0025 * (u[1:] + u[:-1]))
    assert steps[1620:].max() < 1e-4
    error = np.abs(twice.entry("/truth", "q") - q)
    assert error[1620:].max() < 0.03


def test_the_repeated_manoeuvre_is_measured_alone(twice: ScriptedRun):
    whole = Log(twice.run.bed, {}, twice.channels, twice.rows, (), None, False)
    metrics = last_manoeuvre(whole, None)
    assert metrics is not None
    assert metrics.ticks == pytest.approx(4.0 / 0.005, abs=2)
    assert metrics.t[0] > 8.0 + 1.0 + SETTLING_S
    opening = metrics.rows[:, twice.channels.columns("/applied", "thrusters.values")]
    thrust = twice.run.bed.devices["thrusters"].units[0].thrust_n
    (error, propellant) = Measures(whole.bed, (("a", "rms_error_m"), ("b", "propellant_n_s")), Band()).values(metrics)
    assert propellant == pytest.approx(opening.sum() * 0.005 * thrust, rel=0.05)
    assert 0.0 < error < 0.01
    first = last_manoeuvre(whole, 1.0)
    assert first is not None
    assert first.ticks == pytest.approx(1.0 / 0.005, abs=1)
    # Ticks that were skipped on a busy machine change nothing.
    kept = np.random.default_rng(1).random(len(twice.rows)) < 0.9
    kept[1600] = True
    thinned = last_manoeuvre(replace(whole, rows=twice.rows[kept]), None)
    assert thinned is not None
    assert thinned.t[0] == pytest.approx(metrics.t[0], abs=0.03)
    # One that has not ended, or was never begun, is none.
    for rows in (twice.rows[:1500], twice.rows[:1700], twice.rows[: metrics.ticks + 2000]):
        assert last_manoeuvre(replace(whole, rows=rows), None) is None


class Single:
    """A behaviour that does not know how to begin again."""

    def __init__(self, behaviour: RobotBehaviour) -> None:
        self.decide = behaviour.decide


def test_a_behaviour_that_can_not_begin_again_says_so():
    def prepare(run: Run) -> None:
        run.stack = replace(run.stack, behaviour=Single(run.stack.behaviour))

    done = scripted({0.5: RequestKind.HOLD, 2.5: RequestKind.RESTART}, "loop.duration_s=3", SHORT, prepare=prepare)
    assert [reply for _, reply, _ in done.script.answers] == [Reply.DONE, Reply.NOT_REPEATABLE]


def test_where_contacts_change_the_motion_can_not_begin_again():
    bed = load("free-flyer")
    behaviour = WaypointBehaviour(bed.behaviour, ControlModel(bed))
    assert behaviour.begin_again(3.0) == 3.0
    behaviour.tables["holds"] = TimeTable(np.array([0.0, 5.0]), np.zeros((2, 0)))
    assert behaviour.begin_again(3.0) is None
