"""Whole runs in real time with an operator: through the command line, the channel and the loop."""

import os
import signal
import subprocess
import time

import pytest

from benchmarks.attack import attack
from granite.config.loader import load
from granite.config.operator_channel import OperatorTable
from granite.config.run_modes import Request, RequestKind, waiting_sentence
from granite.rt.operator.keys import loop_keys, new_operator
from granite.rt.operator.link import OperatorLink
from granite.rt.replay import replay
from granite.rt.run import Run
from tests.support.operator_clients import Hasty, Session, free_address
from tests.support.unhurried import UNHURRIED


@pytest.mark.parametrize(
    "progress",
    [pytest.param(False, id="redirected", marks=pytest.mark.slow), pytest.param(True, id="on a terminal")],
)
def test_a_run_that_waits_for_its_operator_says_once_how_to_arm_it(progress, tmp_path, monkeypatch, capfd):
    address = free_address()
    monkeypatch.setattr(
        OperatorLink, "take", lambda self, t, mode, cause: Request(RequestKind.STOP) if t > 0.3 else None
    )
    monkeypatch.setenv("GRANITE_KEYS", str(tmp_path / "keys"))
    bed = load("free-flyer", [f'operator.address="{address}"', *UNHURRIED])
    Run(bed).record(tmp_path / "run.mcap", realtime=True, operator=True, progress=progress)
    said = f"granite: the actuators rest until an operator arms, by granite operate arm --address {address}\n"
    err = capfd.readouterr().err
    assert said in err
    assert err.count("the actuators rest until an operator arms") == 1


def test_the_address_is_named_only_where_it_is_not_the_default():
    assert waiting_sentence(OperatorTable().address).endswith("by granite operate arm")


def channel_of(session):
    """The process of its operator channel."""
    words = ["pgrep", "-P", str(session.process.pid), "-f", "granite.rt.operator.process"]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0])


@pytest.mark.slow
def test_a_run_is_armed_started_held_tuned_and_stopped_by_its_operator_and_replays(tmp_path):
    with Session(tmp_path) as session:
        session.do("arm", "armed")
        session.do("start", "running")
        session.do("set_gain", "running", gain="elbow_stiffness", value=120.0)
        session.do("hold", "holding")
        session.do("start", "running")
        session.do("float", "floating")
        assert session.operator.ask("stop")["ok"]
        log = session.finish()
    assert log.summary["ended"] == "operator_stop"
    assert log.summary["text"] == "the operator stopped the run: operator 'operator'"
    said = [event["text"] for event in log.events if event["name"] == "operator_request"]
    assert "operator 'operator' asked for set gain elbow_stiffness to 120: done" in said
    replayed = replay(log)
    assert (replayed.first, replayed.ticks) == (None, log.summary["ticks"])


@pytest.mark.slow
def test_when_the_channel_is_killed_the_run_holds_and_ctrl_c_still_stops_it(tmp_path):
    with Session(tmp_path) as session:
        session.do("arm", "armed")
        session.do("start", "running")
        os.kill(channel_of(session), signal.SIGKILL)
        time.sleep(2.0)
        session.process.send_signal(2)
        log = session.finish()
    names = [event["name"] for event in log.events]
    assert "holding" in names
    assert log.summary["ended"] == "operator_stop"
    assert replay(log).first is None


@pytest.mark.slow
def test_when_the_channel_hangs_the_run_holds_each_time_and_can_be_reset(tmp_path):
    with Session(tmp_path) as session:
        session.do("arm", "armed")
        session.do("start", "running")
        for _ in range(2):
            channel = channel_of(session)
            os.kill(channel, signal.SIGSTOP)
            time.sleep(4.0)
            os.kill(channel, signal.SIGCONT)
            session.until("holding")
            session.do("reset", "armed")
            session.do("start", "running")
        assert session.operator.ask("stop")["ok"]
        log = session.finish()
    lost = [event for event in log.events if event["name"] == "holding" and "operator channel" in event["text"]]
    assert len(lost) == 2
    assert replay(log).first is None


@pytest.mark.slow
def test_ten_thousand_bad_messages_a_second_disturb_nothing(tmp_path):
    with Session(tmp_path) as session:
        session.do("arm", "armed")
        session.do("start", "running")
        heard = attack(session.address, tmp_path / "keys", 5.0, 10_000)
        assert session.operator.ask("stop")["ok"]
        log = session.finish()
    assert [heard.answers[name] for name in ("no key", "wrong key", "wrong server")] == [0, 0, 0]
    assert heard.answers["malformed"] > 1000
    assert log.summary["ended"] == "operator_stop"
    requests = [event["text"] for event in log.events if event["name"] == "operator_request"]
    assert len(requests) == len([text for text in requests if "arm" in text or "start" in text or "stop" in text])
    assert replay(log).first is None


@pytest.mark.slow
def test_a_flood_of_one_operator_does_not_keep_another_from_stopping_the_run_and_it_replays(tmp_path):
    loop_keys(tmp_path / "keys")
    new_operator(tmp_path / "keys", "second")
    with Session(tmp_path) as session, Hasty(session.address, "second", tmp_path / "keys") as flooding:
        session.do("arm", "armed")
        session.do("start", "running")
        flooding.send(*["hold", "float"] * 1000)
        assert session.operator.ask("emergency_stop")["ok"]
        assert "refused: too many requests wait" in flooding.hear(100)
        log = session.finish()
    assert log.summary["text"] == "the emergency stop was pressed: operator 'operator'"
    assert replay(log).first is None
