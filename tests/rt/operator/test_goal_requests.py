"""Messages about goals become requests with numbers, or are refused in one sentence that names the key."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from math import isnan, nan

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load, to_json
from granite.config.run_modes import Reply, RequestKind
from granite.rt.operator.client import Operator
from granite.rt.operator.goal_requests import GoalRequests
from granite.rt.operator.keys import loop_keys, new_operator
from granite.rt.operator.link import OperatorLink
from granite.rt.operator.messages import LONGEST_PATH, read_message
from granite.rt.replay import replay
from granite.rt.supervisor.goal_record import Standing
from tests.support.goals import ON_DEMAND
from tests.support.operator_clients import Answering, Hasty, Session, free_address
from tests.support.waiting import until

#: where the free-flyer starts, at rest
HERE = [1.0, 0.8, 0.0, 0.4, 0.9] + [0.0] * 10


@pytest.fixture(scope="module")
def goals():
    requests = GoalRequests(to_json(load("free-flyer", [ON_DEMAND])), ["grip left", "release left"])
    requests.note(HERE)
    return requests


def asked(goals, **message):
    read = read_message(json.dumps(message).encode(), ())
    return getattr(goals, read.do)(read.content)


def test_a_goal_without_a_duration_gets_one_that_grows_with_its_distance(goals):
    near, far = (asked(goals, do="go", target={"base_x_m": x}) for x in (1.1, 2.5))
    assert near.ask is far.ask is RequestKind.GO
    assert 1.0 < near.value < far.value < 60.0
    assert far.numbers[0] == 2.5
    assert all(isnan(x) for x in far.numbers[1:])
    assert asked(goals, do="go", target={"elbow_rad": 0.5}, duration_s=7).value == 7.0


def test_a_path_is_planned_from_rest_alone(goals):
    message = read_message(b'{"do": "go", "target": {"base_x_m": 2.5}, "plan": true}', ())
    request = goals.to_plan(message.content)
    assert (request.start, request.goal, request.duration_s) == (HERE[:5], [2.5, *HERE[1:5]], None)
    assert goals.to_plan({"target": {"elbow_rad": 0.5}, "duration_s": 12}).duration_s == 12.0
    goals.note([*HERE[:5], 0.01, *HERE[6:]])
    try:
        with pytest.raises(InputError, match="plan = true: the robot moves, expected a robot at rest"):
            goals.to_plan(message.content)
    finally:
        goals.note(HERE)


def test_a_path_is_handed_over_in_the_knots_that_it_needs(goals):
    t = np.linspace(0.0, 20.0, 201)
    columns = {"t_s": t.tolist(), "base_x_m": (1.0 + 0.1 * (1 - np.cos(np.pi * t / 10))).tolist()}
    *knots, follow = asked(goals, do="follow", columns=columns)
    assert [knot.argument for knot in knots] == list(range(len(knots)))
    assert follow.ask is RequestKind.FOLLOW
    assert 3 < follow.argument == len(knots) < 60
    assert knots[-1].value == 20.0
    assert knots[0].numbers[1:5] == tuple(HERE[1:5])  # what is not given stays
    assert knots[-1].numbers[5:] == (0.0,) * 10


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            {"do": "go", "target": {"base_z_m": 1.0}},
            'target = "base_z_m": no such coordinate, expected one of base_x_m',
        ),
        ({"do": "go", "target": {}}, 'expected numbers by name, such as {"base_x_m": 0.1}'),
        ({"do": "go", "target": [1.0]}, "expected numbers by name"),
        ({"do": "go", "target": {"base_x_m": nan}}, "target.base_x_m = nan: expected a finite number"),
        ({"do": "go", "target": {"base_x_m": "2"}}, "expected a finite number"),
        ({"do": "go", "target": {"base_x_m": True}}, "expected a finite number"),
        ({"do": "go", "target": {"base_x_m": 1e300}}, "expected a finite number"),
        ({"do": "go", "target": {"base_x_m": 2.0}, "duration_s": 0}, "duration_s = 0.0: expected more than 0"),
        ({"do": "go", "target": {"base_x_m": 2.0}, "in": 3}, "expected do, target, perhaps duration_s"),
        ({"do": "jog", "rates": {"base_x_m": 0.1}}, "no such coordinate"),
        ({"do": "jog", "rates": 0.1}, "expected numbers by name"),
        ({"do": "act", "action": "grip right"}, "no such action, expected one of grip left, release left"),
        ({"do": "follow", "columns": []}, "expected lists by key"),
        ({"do": "follow", "columns": {}}, "expected 't_s'"),
        ({"do": "follow", "columns": {"t_s": [0, 1]}}, "expected a column for each that moves"),
        ({"do": "follow", "columns": {"t_s": [0, 1], "base_x_m": [1]}}, "expected a list of 2 numbers"),
        ({"do": "follow", "columns": {"t_s": [0, 0], "base_x_m": [1, 1]}}, "expected times that rise"),
        ({"do": "follow", "columns": {"t_s": [0, 1], "base_x_m": [1, None]}}, "expected a finite number"),
        ({"do": "follow", "columns": {"t_s": [0, 1], "base": [1, 1]}}, "unknown column 'base'"),
    ],
)
def test_a_message_that_is_no_goal_is_refused(goals, message, sentence):
    with pytest.raises(InputError) as refused:
        asked(goals, **message)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_only_a_path_may_be_long():
    with pytest.raises(InputError, match="at most 1024"):
        read_message(b'{"do": "go", "target": {' + b" " * 2000 + b"}}", ())
    with pytest.raises(InputError, match=f"at most {LONGEST_PATH}"):
        read_message(b'{"do": "follow", "columns": {' + b" " * LONGEST_PATH + b"}}", ())


def test_a_behaviour_without_goals_takes_none():
    with pytest.raises(InputError, match=r"takes no goals, expected behaviour\.kind = 'on_demand'"):
        GoalRequests(None, ()).go({"target": {"base_x_m": 1.0}})


def test_a_refusal_names_the_worst_limit_and_the_holder_of_the_controls(tmp_path):
    loop_keys(tmp_path)
    new_operator(tmp_path, "second")
    address = free_address()
    link = OperatorLink.start(load("free-flyer", [ON_DEMAND, f'operator.address="{address}"']), tmp_path)
    link.standing = lambda: Standing(3, 12.5, 0, 1.5, np.array(HERE))  # console, operator, second
    with Answering(link) as loop, Operator(address, folder=tmp_path) as operator:
        loop.answer = Reply.NOT_FEASIBLE, *loop.answer[1:]
        text = operator.go({"base_x_m": 5.0}, duration_s=20.0)["text"]
        assert text == "refused: the range of base_x in safety.table_m would be left by 0.76 m"
        loop.answer = Reply.NOT_IN_CONTROL, *loop.answer[1:]
        answer = operator.jog(base_x=0.05)
        held = "refused: operator 'second' has the controls since 12.5 s, expected lease take first"
        assert (answer["text"], answer["lease"]) == (held, {"holder": "second", "since_s": 12.5})
        loop.answer = Reply.DONE, *loop.answer[1:]
        assert operator.lease("pass", to="second")["ok"]
        assert loop.asked[-1][:3] == (RequestKind.LEASE, 2, 3)
        assert "no such operator" in operator.lease("pass", to="nobody")["text"]
        assert operator.ask("goals")["coordinates"][0] == {
            "key": "base_x_m",
            "name": "base_x",
            "unit": "m",
            "value": 1.0,
        }
        columns = {"t_s": [0.0, 5.0, 10.0], "base_x_m": [1.0, 1.05, 1.1]}
        assert operator.follow(columns)["ok"]
        assert [request.ask for request in loop.asked[-4:]] == [RequestKind.KNOT] * 3 + [RequestKind.FOLLOW]
        with Hasty(address, "second", tmp_path) as flood:  # nobody is kept from the controls by a flood
            flood.send(*["jog"] * 2000)
            assert operator.jog(base_x=0.05)["ok"]
    link.close()


@pytest.mark.parametrize("plan", [{"do": "go", "plan": True}, {"do": "plan"}])
def test_a_hold_forgets_a_goal_that_is_being_planned(tmp_path, plan):
    loop_keys(tmp_path)
    new_operator(tmp_path, "second")
    address = free_address()
    link = OperatorLink.start(load("free-flyer", [ON_DEMAND, f'operator.address="{address}"']), tmp_path)
    link.standing = lambda: Standing(0, 0.0, 0, 0.0, np.array(HERE))
    plan = {**plan, "target": {"base_x_m": 2.0}}
    with Answering(link) as loop, Operator(address, folder=tmp_path) as operator:
        until(lambda: operator.ask("goals")["coordinates"][0]["value"] is not None, every_s=0.0)
        with Hasty(address, "second", tmp_path) as other:  # its messages arrive in their order
            other.send_messages([json.dumps(message).encode() for message in (plan, {"do": "hold"})])
            assert sorted(other.hear(2)) == ["done", "refused: the run is holding, its goal is forgotten"]
        assert [request.ask for request in loop.asked] == [RequestKind.HOLD]
    link.close()


PILLAR = 'safety.keep_out=[{name="pillar", disc={position_m=[1.9, 0.9], radius_m=0.1}}]'
BEHIND = {"base_x_m": 2.6, "base_y_m": 1.2, "elbow_rad": 0.6}


@pytest.mark.slow
def test_a_goal_behind_a_zone_is_reached_by_a_plan_while_others_get_their_answers(tmp_path):
    new_operator(tmp_path / "keys", "second")
    with Session(tmp_path, "--set", ON_DEMAND, "--set", PILLAR, "--duration", "180") as session:
        session.do("arm", "armed")
        text = session.operator.go(BEHIND, plan=True)["text"]
        assert text == "refused: plan = true: the run is armed, expected start first"
        session.do("start", "running")
        assert "pillar" in session.operator.go(BEHIND, duration_s=40.0)["text"]
        inside = session.operator.go({"base_x_m": 1.9, "base_y_m": 0.9}, plan=True)["text"]
        assert inside.startswith("refused: target: ")
        assert "to pillar" in inside
        with Operator(session.address, "second", tmp_path / "keys") as other, ThreadPoolExecutor() as waits:
            answer = waits.submit(session.operator.go, BEHIND, plan=True)
            until(lambda: "another path is being planned" in other.go(BEHIND, plan=True)["text"], every_s=0.0)
            assert other.ask("status")["ok"]
            assert not answer.done()
            assert answer.result()["impulse_n_s"] < 15.0
        until(
            lambda: abs(session.operator.ask("goals")["coordinates"][0]["value"] - BEHIND["base_x_m"]) <= 1e-6,
            120.0,
            0.5,
        )
        session.operator.ask("stop")
        log = session.finish()
    assert log.summary["ended"] == "operator_stop"
    assert replay(log).first is None


@pytest.mark.slow
def test_goals_reach_a_run_through_the_channel_while_ten_thousand_others_are_refused(tmp_path):
    new_operator(tmp_path / "keys", "second")
    with Session(tmp_path, "--set", ON_DEMAND) as session:
        session.do("arm", "armed")
        session.do("start", "running")
        operator = session.operator
        assert operator.go({"base_x_m": 1.1})["ok"]
        goal = json.dumps({"do": "go", "target": {"base_x_m": 2.0}, "duration_s": 20}).encode()
        with Hasty(session.address, "second", tmp_path / "keys") as flood:
            texts = []
            for _ in range(100):
                flood.send_messages([goal] * 100)  # more would not fit into the queue of answers
                texts += flood.hear(100)
            flood.send_messages([goal] * 100)
            assert operator.jog(base_y=0.02)["ok"]
        assert {text.partition(":")[0] for text in texts} == {"refused"}
        assert operator.follow({"t_s": [0, 10], "base_x_m": [1.0, 1.1]}, approach_s=20)["ok"]
        assert "would be left by" in operator.go({"base_x_m": 9.0})["text"]
        assert operator.ask("stop")["ok"]
        log = session.finish()
    assert log.summary["ended"] == "operator_stop"
    assert replay(log).first is None


@pytest.mark.slow
def test_fifty_random_goals_in_a_rehearsal_are_taken_or_refused_and_replayed(tmp_path):
    rng, answers = np.random.default_rng(5), []
    with Session(tmp_path, "--set", ON_DEMAND, command="rehearse") as session:
        session.do("arm", "armed")
        session.do("start", "running")
        for i in range(50):
            x, y = rng.uniform([0.2, 0.2], [2.0, 1.6]).tolist()
            duration = None if i % 3 else float(rng.uniform(1.0, 30.0))
            answers.append(session.operator.go({"base_x_m": x, "base_y_m": y, "elbow_rad": 0.5 + 0.1 * x}, duration))
            if i % 10 == 9:
                answers.append(session.operator.jog(shoulder=0.05))
            time.sleep(float(rng.exponential(0.6)))
        assert session.operator.ask("stop")["ok"]
        log = session.finish()
    assert all(answer["ok"] or answer["text"].startswith("refused: ") for answer in answers)
    assert sum(answer["ok"] for answer in answers) > 20
    assert log.summary["ended"] == "operator_stop"
    assert replay(log).first is None
