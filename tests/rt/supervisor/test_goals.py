"""Goals while the loop runs: reached or refused in one sentence, continuous, under one hand, replayed to the bit."""

from math import inf, nan

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Reference
from granite.config.run_modes import Reply, Request, RequestKind, RunMode
from granite.controllers.behaviours.on_demand import OnDemand
from granite.controllers.checked_parts import checked_behaviour
from granite.controllers.run_modes.decelerations import base_deceleration
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.replay import replay
from granite.rt.run import Run
from tests.support.goals import NAMES, ON_DEMAND, N, demanded, go, jog, jumps, knots, log_of
from tests.support.scripted_operator import Script, ScriptedRun, scripted

PERIOD = 0.005


def replies(done: ScriptedRun) -> list[Reply]:
    return [reply for _, reply, _ in done.script.answers]


@pytest.fixture(scope="module")
def moved():
    """A goal, another one in mid-motion, a jog in the motion, a hold, a start and a path."""
    poses = np.array([1.07, 0.81, 0.1, 0.35, 0.88]) + np.array([[0.0], [0.01], [0.012]])
    path = knots(np.array([0.0, 4.0, 6.0]), poses)
    requests = {
        1.0: go(8.0, base_x=1.1, shoulder=0.3),
        4.0: go(6.5, base_heading=0.1),
        11.0: jog(base_y=0.02),
        11.2: jog(base_y=0.02),
        13.0: go(8.0, base_x=1.0),
        15.0: RequestKind.HOLD,
        18.0: RequestKind.START,
        **{18.5 + PERIOD * i: request for i, request in enumerate(path)},
    }
    return demanded(requests, "loop.duration_s=30")


def test_goals_are_reached_and_coordinates_that_are_not_named_go_on_to_theirs(moved):
    assert moved.outcome.reason is Reason.PASSED
    assert set(replies(moved)) == {Reply.DONE}
    q, truth = moved.entry("/reference", "q"), moved.entry("/truth", "q")
    at = round(10.9 / PERIOD)
    np.testing.assert_allclose(q[at, [0, 2, 3]], [1.1, 0.1, 0.3], atol=1e-12)
    assert np.abs(truth - q)[at, :2].max() < 2e-3
    assert np.abs(truth - q)[at, 2:].max() < 4e-3
    np.testing.assert_allclose(q[-1], [1.082, 0.822, 0.112, 0.362, 0.892], atol=1e-12)  # the last knot of the path
    assert np.abs(truth - q)[-1, :2].max() < 3e-3


def test_every_goal_continues_the_reference_with_its_acceleration(moved):
    a = moved.entry("/reference", "a")
    running = moved.column("/operation", "mode") == RunMode.RUNNING
    assert jumps(moved)[0] < 1e-6
    assert jumps(moved)[1] < 2e-4
    begins = np.flatnonzero(np.isin(moved.column("/operation", "request"), (RequestKind.GO, RequestKind.FOLLOW)))
    assert np.abs(a[begins] - a[begins - 1])[:, :2].max() < 1e-3  # [m/s^2]
    assert np.abs(a[running])[:, :2].max() > 0.01


def test_a_goal_of_one_coordinate_leaves_the_paths_of_the_others_as_they_are():
    first, turn = go(6.0, base_x=1.05, shoulder=0.35), {2.0: go(3.0, base_heading=0.03), 3.0: go(2.5, elbow=0.85)}
    alone = demanded({1.0: first}, "loop.duration_s=7.5").entry("/reference", "q")
    done = demanded({1.0: first, **turn}, "loop.duration_s=7.5")
    q = done.entry("/reference", "q")
    assert replies(done) == [Reply.DONE] * 3
    np.testing.assert_allclose(q[:, [0, 1, 3]], alone[:, [0, 1, 3]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(q[-1, [2, 4]], [0.03, 0.85], atol=1e-12)
    assert jumps(done)[1] < 1e-5


def test_a_hold_forgets_the_goal(moved):
    q, request = moved.entry("/reference", "q"), moved.column("/operation", "request")
    started = int(np.argmax(request == RequestKind.START))
    np.testing.assert_array_equal(q[started : started + 90], np.broadcast_to(q[started - 1], (90, N)))
    assert abs(q[started, 0] - 1.0) > 0.05


@pytest.mark.slow
def test_a_run_with_goals_replays_to_the_bit(moved):
    repeated = replay(log_of(moved))
    assert (repeated.first, repeated.ticks) == (None, len(moved.rows))


def test_every_goal_is_an_event(moved):
    said = [event["text"] for event in log_of(moved).events if event["name"] == "operator_request"]
    assert "the loop's own terminal asked for go base_x_m=1.1 shoulder_rad=0.3 in 8 s: done" in said
    assert sum("jog base_y 0.02" in text for text in said) == 1  # a repetition is not another event
    assert sum("a path of 3 knots, the first after 4 s: done" in text for text in said) == 1
    assert not any("knot 1" in text for text in said)


def test_compiled_ticks_take_a_goal_without_python(monkeypatch):
    run = Run(load("free-flyer", [ON_DEMAND, "loop.duration_s=6"]))
    if run.compiled_steps is None:
        pytest.skip("no C compiler")
    in_python = []
    monkeypatch.setattr(OnDemand, "decide", lambda self, state: in_python.append(state.t))
    requests = {2.0: go(10.0, base_x=1.2), 3.0: jog(base_y=0.02), 4.0: go(10.0, elbow=0.5)}
    run.source = Script({round(t / PERIOD): request for t, request in requests.items()})
    memory = Memory(run.channels, run.ticks)
    run.execute(VirtualClock(), memory)
    assert in_python == []
    q = memory.rows[:, run.channels.columns("/reference", "q")]
    assert np.ptp(q[400:], axis=0)[[0, 1, 4]].min() > 1e-4


STILL = Request(RequestKind.KNOT, 1, 0, 0.0, numbers=(1.0, 0.8, 0.0, 0.4, 0.9) + (0.0,) * 10)
BAD = {
    "out of the table": (go(20.0, base_x=9.0), Reply.NOT_FEASIBLE),
    "beyond a joint's range": (go(20.0, elbow=3.0), Reply.NOT_FEASIBLE),
    "too fast": (go(1.0, base_x=1.5), Reply.NOT_FEASIBLE),
    "of nothing": (go(10.0), Reply.NO_SUCH_GOAL),
    "without end": (go(inf, base_x=1.5), Reply.NO_SUCH_GOAL),
    "back in time": (go(-3.0, base_x=1.5), Reply.NO_SUCH_GOAL),
    "in no time": (go(nan, base_x=1.5), Reply.NO_SUCH_GOAL),
    "infinite": (go(10.0, base_x=inf), Reply.NOT_FEASIBLE),
    "a jog at no speed": (jog(base_x=nan), Reply.NO_SUCH_GOAL),
    "a jog out of hand": (jog(shoulder=1e5), Reply.NOT_FEASIBLE),
    "an unknown action": (Request(RequestKind.ACT, 1, 3), Reply.NO_SUCH_GOAL),
    "a first knot": (STILL, Reply.DONE),
    "a knot too far": (STILL._replace(argument=1, value=1.0, numbers=(0.5, *STILL.numbers[1:])), Reply.NOT_FEASIBLE),
    "the path of it": (Request(RequestKind.FOLLOW, 1, 2, 30.0), Reply.NO_SUCH_GOAL),
    "a path without knots": (Request(RequestKind.FOLLOW, 1, 3, 2.0), Reply.NO_SUCH_GOAL),
    "a knot out of order": (Request(RequestKind.KNOT, 1, 5, 2.0, numbers=(0.0,) * 3 * N), Reply.NO_SUCH_GOAL),
    "a knot that is none": (Request(RequestKind.KNOT, 1, 0, 2.0, numbers=(nan,) * 3 * N), Reply.NO_SUCH_GOAL),
    "of nobody who has the controls": (go(10.0, sender=2, base_x=1.5), Reply.NOT_IN_CONTROL),
}


def test_a_bad_goal_is_refused_and_nothing_moves():
    requests = {1.5: Request(RequestKind.LEASE, 1, 1)}
    requests |= {2.0 + 0.05 * i: request for i, (request, _) in enumerate(BAD.values())}
    done = demanded(requests, "loop.duration_s=4")
    assert done.outcome.reason is Reason.PASSED
    assert dict(zip(BAD, replies(done)[1:], strict=True)) == {name: reply for name, (_, reply) in BAD.items()}
    q, ready = done.entry("/reference", "q"), done.column("/state", "ready") > 0
    assert np.ptp(q[ready], axis=0).max() == 0.0
    events = log_of(done).events
    refused = [event["text"].partition(": ")[2] for event in events if "refused" in event["text"]]
    assert len(refused) == len(BAD) - 1
    beyond = 9.0 - (done.run.bed.safety.table_m[2] - 0.01)  # [m] with the margin of goals
    assert f"refused: the range of base_x in safety.table_m would be left by {beyond:.3g} m" in refused
    assert any("times the usable thrust of thrusters" in text for text in refused)
    assert replay(log_of(done)).first is None


def test_goals_need_a_behaviour_that_runs_and_takes_them():
    disarmed = demanded(
        {
            0.0: RequestKind.ATTACH,
            1.0: go(10.0, base_x=1.2),
            1.5: RequestKind.ARM,
            2.0: jog(base_x=0.01),
            2.1: RequestKind.STOP,
        },
    )
    assert replies(disarmed)[1:4] == [Reply.NOT_IN_THIS_MODE, Reply.DONE, Reply.NOT_IN_THIS_MODE]
    said = [event["text"] for event in log_of(disarmed).events]
    assert any(text.endswith("refused: the run is disarmed, expected arm and start first") for text in said)
    assert any(text.endswith("refused: the run is armed, expected start first") for text in said)
    waypoints = scripted({1.0: go(10.0, base_x=1.2)}, "loop.duration_s=1.5")
    assert replies(waypoints) == [Reply.TAKES_NO_GOALS]


@pytest.mark.parametrize("speed", [0.004, 0.05])
def test_a_jog_without_repetition_comes_to_rest_by_itself(speed):
    requests = {2.0 + 0.1 * i: jog(base_x=speed) for i in range(12)}
    done = demanded(requests, "loop.duration_s=8")
    bed = done.run.bed
    a = 0.75 * base_deceleration(bed, bed.devices["thrusters"])
    u = np.abs(done.entry("/reference", "u")[:, 0])
    last = round(3.1 / PERIOD)
    rests = last + int(np.argmax(u[last:] == 0.0))
    assert replies(done)[-1] is Reply.DONE
    assert 0.0 < u.max() <= speed * (1 + 1e-9)
    assert (rests - last) * PERIOD <= bed.operator.jog_s + speed / a + 2 * PERIOD
    assert (u[rests:] == 0.0).all()
    assert jumps(done)[1] < 2e-4


def test_a_jog_that_is_repeated_stops_short_of_the_edge_and_goes_back_from_there():
    there = {2.0 + 0.1 * i: jog(base_x=-0.06) for i in range(300)}
    back = {40.0 + 0.1 * i: jog(base_x=0.05) for i in range(20)}
    done = demanded({**there, **back}, "loop.duration_s=44")
    edge = done.run.bed.safety.table_m[0]
    x = done.entry("/truth", "q")[:, 0]
    assert done.outcome.reason is Reason.PASSED
    assert Reply.NOT_FEASIBLE in replies(done)
    assert edge < x.min() < edge + 0.08
    assert x[-1] > x.min() + 0.02


def test_goals_keep_out_of_zones_and_a_jog_stops_short_of_one():
    post = "safety.keep_out=[{name='post', disc={position_m=[2.1, 0.8], radius_m=0.05}}]"
    requests = {1.0: go(40.0, base_x=2.1), 1.1: go(60.0, base_x=2.9), 1.2: go(60.0, base_y=1.0)}
    requests |= {2.0 + 0.1 * i: jog(base_x=0.05) for i in range(200)}
    done = demanded(requests, post, "loop.duration_s=24")
    assert done.outcome.reason is Reason.PASSED
    assert replies(done)[:3] == [Reply.NOT_FEASIBLE, Reply.NOT_FEASIBLE, Reply.DONE]
    assert Reply.NOT_FEASIBLE in replies(done)[3:]
    said = [event["text"] for event in log_of(done).events if "in 60 s: refused" in event["text"]]
    assert len(said) == 1
    assert "to post would be short by" in said[0]
    x = done.entry("/truth", "q")[:, 0]
    assert x.max() > 1.2  # it went
    assert RunMode.HOLDING not in done.modes  # and the guard had nothing to do


def test_one_operator_has_the_controls_and_everybody_may_stop():
    lease = RequestKind.LEASE
    requests = {
        2.0: go(10.0, sender=1, base_x=1.1),  # the first goal takes the lease
        2.1: jog(sender=2, base_x=0.01),
        2.2: Request(RequestKind.SET_GAIN, -1, 0, 1.0),
        2.3: Request(lease, 2, 3),  # not to pass on
        2.4: Request(lease, 1, 2),
        2.5: jog(sender=1, base_x=0.01),
        2.6: jog(sender=2, base_x=0.01),
        2.7: Request(lease, 3, 3),  # taken over
        2.8: jog(sender=2, base_x=0.01),
        2.9: Request(RequestKind.REPORT, 3, Reason.OPERATOR_LOST, 2.0),  # lost: nobody has it
        8.0: Request(RequestKind.RESET, 2),
        8.1: Request(RequestKind.START, 1),
        8.2: Request(lease, 2, 2),
        8.3: Request(lease, 2, 0),
        8.4: Request(lease, 2, 2),
        8.5: Request(RequestKind.HOLD, 1),
    }
    done = demanded(requests, "loop.duration_s=9")
    other, yes = Reply.NOT_IN_CONTROL, Reply.DONE
    assert replies(done) == [yes, other, other, other, yes, other, yes, yes, other, yes, yes, yes, yes, yes, yes, yes]
    assert done.modes == [RunMode.RUNNING, RunMode.HOLDING, RunMode.ARMED, RunMode.RUNNING, RunMode.HOLDING]
    assert replay(log_of(done)).first is None


@pytest.mark.slow
def test_a_machine_waits_for_what_an_operator_asks():
    done = scripted(
        {4.0: Request(RequestKind.ACT, 1, 0)},
        'behaviour.waits_for={crouch="leap"}',
        "loop.duration_s=5",
        bed="leap",
    )
    state = done.column("/reference", "machine_state")
    assert replies(done) == [Reply.DONE]
    assert int(np.argmax(state == 1)) == round(4.0 / PERIOD)


@pytest.mark.usefixtures("interpreted")
def test_grips_close_and_open_by_request_where_the_testbed_has_such_a_set():
    grip = "[{name='grip', kind='revolute', first={position_m=[2.0, 1.0]}, second={module='vehicle', point='tip'}}]"
    on_demand = "behaviour={kind='on_demand', contact_sets=[[], ['grip']]}"
    requests = {1.0 + 0.1 * i: Request(RequestKind.ACT, 1, action) for i, action in enumerate((2, 3, 0, 0, 1))}
    done = scripted(requests, f"contacts={grip}", on_demand, "loop.duration_s=2")
    assert done.run.bed.behaviour_actions == ("grip", "release", "grip grip", "release grip")
    assert replies(done) == [Reply.DONE] * 5
    asked = done.entry("/reference", "direct.grips").ravel()
    at = [round((1.05 + 0.1 * i) / PERIOD) for i in range(5)]
    assert asked[at].tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]


def test_a_users_own_behaviour_may_take_requests():
    class Own:
        def decide(self, state):
            return Reference(state.t, np.zeros(1), np.zeros(1), np.zeros(1), False)

        def ask(self, reference, request):
            return Reply.DONE, (0, 0.0)

    checked = checked_behaviour(Own(), "own.py:Own", 1, 1, [])
    assert checked.ask(None, None)[0] is Reply.DONE
    assert not hasattr(checked, "stay")


class RandomOperator:
    """Asks for goals of any kind at any time, in any mode, without sense; keeps what it asked and the answers."""

    def __init__(self, seed: int, count: int) -> None:
        self._rng, self._next, self._queue, self._left = np.random.default_rng(seed), 300, [], count
        self._tick, self.goals = -1, []

    def take(self, t, mode, cause):
        self._tick += 1
        if self._tick < self._next:
            return None
        if not self._queue:
            if not self._left:
                return None
            self._queue = self._asked(mode)
        request = self._queue.pop(0)
        seconds = 0.0 if self._queue else self._rng.exponential(3.0)
        if request.ask is RequestKind.GO and self._rng.random() < 0.4:  # this one may get there
            seconds = request.value + 3.0
        self._next = self._tick + round(seconds / PERIOD) + 1
        return request

    def answer(self, request, reply, mode, cause):
        self.goals.append((self._tick, request, reply, mode))

    def name(self, sender):
        return ""

    def _asked(self, mode):
        rng = self._rng
        if mode is not RunMode.RUNNING:  # sometimes a goal where none can be, mostly the way back
            if rng.random() > 0.2:
                return [Request(RequestKind.START, 1)]
        elif rng.random() < 0.04:
            return [Request(RequestKind.HOLD, 1)]
        elif rng.random() < 0.04:  # not for long: who floats goes on, over the edge
            return [Request(RequestKind.FLOAT, 1), Request(RequestKind.HOLD, 1)]
        self._left -= 1
        pose = rng.uniform([-0.2, -0.2, -3.0, -2.5, -2.5], [3.2, 2.2, 3.0, 2.5, 2.5])
        kind = rng.random()
        if kind < 0.7:
            named = rng.random(N) < rng.choice([0.3, 1.0])
            named[rng.integers(N)] = True
            target = tuple(np.where(named, pose, nan).tolist())
            return [Request(RequestKind.GO, 1, 0, float(rng.uniform(4.0, 30.0)), numbers=target)]
        if kind < 0.9:
            rates = rng.normal(0.0, [0.05, 0.05, 0.1, 0.2, 0.2]) * (rng.random(N) < 0.4)
            return [Request(RequestKind.JOG, 1, numbers=tuple(rates.tolist()))] * int(rng.integers(1, 30))
        start, end = pose, pose + rng.normal(0.0, 0.1, N)
        steps = np.linspace(0.0, 1.0, 6)[:, None]
        return knots(np.linspace(0.0, 25.0, 6), start + steps * (end - start), 30.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.study) for seed in range(5, 10))])
def test_a_hundred_random_goals_are_reached_or_refused_and_none_ends_the_run(seed):
    run = Run(load("free-flyer", [ON_DEMAND, "loop.duration_s=900", f"seed={seed + 1}"]))
    run.source = operator = RandomOperator(seed, 100)
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    done = ScriptedRun(run, outcome, memory.rows, operator)
    assert outcome.reason is Reason.PASSED
    goals = [goal for goal in operator.goals if goal[1].ask in (RequestKind.GO, RequestKind.FOLLOW, RequestKind.JOG)]
    taken = [goal for goal in operator.goals if goal[2] is Reply.DONE]
    assert len(goals) >= 100
    possible = {Reply.DONE, Reply.NOT_FEASIBLE, Reply.NOT_IN_THIS_MODE, Reply.NO_SUCH_GOAL, Reply.NOT_AT_REST}
    assert {goal[2] for goal in operator.goals} <= possible
    truth, reached = done.entry("/truth", "q"), 0
    for i, (tick, request, _, _) in enumerate(taken):
        end = tick + round(request.value / PERIOD) + 400
        next_tick = taken[i + 1][0] if i + 1 < len(taken) else len(done.rows)
        if request.ask is RequestKind.GO and end < next_tick:
            error = np.nan_to_num(np.abs(truth[end] - np.array(request.numbers[:N])))
            assert error[:2].max() < 0.01
            assert error[2:].max() < 0.02
            reached += 1
    assert reached >= 3
    assert jumps(done)[0] < 1e-4  # [m, rad]; the end of a jog of a joint changes its acceleration within a tick
    assert jumps(done)[1] < 1e-2
    if seed in (0, 5):  # a replay takes longer than its run
        assert replay(log_of(done)).first is None


def test_the_names_are_those_of_the_free_flyer():
    assert tuple(c.name for c in load("free-flyer").known.positions) == NAMES
